"""Episodes of different lengths put end to end, in each dialect of resets; and what a window pays for them."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ndigo.types import Window
from ndigo.worlds import World


class Played(NamedTuple):
    o_t: Any  # [S+1, ...]
    a_t: Any  # [S]


class Rolled(NamedTuple):
    """T steps of N streams, as `pay_rollout` and `learn` take them, and for each frame its episode and step."""

    a_t: np.ndarray
    o_tp1: np.ndarray
    is_first: np.ndarray
    o_last: np.ndarray | None
    episode: np.ndarray  # [T, N]: of the action before the frame
    step: np.ndarray  # [T, N]: that action's in its episode; -1 where there is none


def play(world: World, num_episodes: int, num_steps: int, seed: int = 0) -> Played:
    """Random walks, [E, ...] each."""

    def episode(key: jax.Array) -> Any:
        key_reset, key_actions, key_steps = jax.random.split(key, 3)
        a_t = jax.random.randint(key_actions, (num_steps,), 0, world.num_actions)

        def body(state: Any, x: Any) -> Any:
            state = world.step(x[0], state, x[1])
            return state, world.observe(state)

        first = world.reset(key_reset)
        _, o_t = jax.lax.scan(body, first, (jax.random.split(key_steps, num_steps), a_t))
        return Played(jnp.concatenate([world.observe(first)[None], o_t]), a_t)

    keys = jax.random.split(jax.random.key(seed), num_episodes)
    return jax.device_get(jax.jit(jax.vmap(episode))(keys))


def end_to_end(played: Played, lengths: list[list[int]], T: int, within_step: bool) -> Rolled:
    """Streams of episodes that were cut at these lengths; the first T steps of each.

    `within_step`: a last frame comes beside the next first one, else in a step before it.
    """
    rows, numbers = [], iter(range(len(played.a_t)))
    for stream in lengths:
        steps: list[tuple[Any, ...]] = []
        for length in stream:
            e = next(numbers)
            o_t, a_t = played.o_t[e], played.a_t[e, :length]
            nothing = 1 - o_t[0]  # where no episode has ended, the last frame means nothing
            first = (1, o_t[0], True, nothing, e, -1)
            if within_step and steps:
                # The last action of the episode before is this step's, and its last frame stands beside our first.
                action, last, _, _, *whose = steps.pop()
                first = (action, o_t[0], True, last, *whose)
            steps.append(first)
            steps += [(a_t[s], o_t[s + 1], False, nothing, e, s) for s in range(len(a_t))]
        rows.append(steps[:T])
    a_t, o_tp1, is_first, o_last, episode, step = (
        np.stack([[row[t][i] for row in rows] for t in range(T)]) for i in range(6)
    )
    return Rolled(a_t, o_tp1, is_first, o_last if within_step else None, episode, step)


def paid_by_windows(params: Any, reward: Any, played: Played) -> np.ndarray:
    """What the reward pays for each step of each episode, as one whole window: [E, S]."""

    def pay(params: Any, o_t: jax.Array, a_t: jax.Array) -> jax.Array:
        window = Window.whole(o_t, a_t, params.model.core.size)
        seen = params.model.look(window, reward.num_ahead)
        return reward.pay(params.reward, params.memory, params.model, seen).r_t

    return np.asarray(jax.jit(jax.vmap(pay, in_axes=(None, 0, 0)))(params, *played))
