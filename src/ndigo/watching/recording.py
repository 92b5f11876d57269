"""Greedy episodes recorded whole: what the agent saw and did, what it believed, expected and was paid, and the truth.

The belief never steers the policy, so everything is read off the finished episode, as one window of all its steps, by
the functions the learner itself uses. `appearance` says how a world is drawn; any world with a frame can be.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ndigo import __version__
from ndigo.agents.agent import Agent, Joined, Params
from ndigo.errors import NdigoError
from ndigo.evaluation.streams import seen_names
from ndigo.evaluation.visits import in_view
from ndigo.model import discovery_loss, inside
from ndigo.model.world_model import shifted
from ndigo.rewards import IntrinsicReward
from ndigo.storage.episodes import FORMAT, VERSION, Recording
from ndigo.types import Window, action_type
from ndigo.watching.appearance import Appearance, appearance_of, objects_of
from ndigo.watching.drawing import drawn_frames
from ndigo.watching.on_host import host_rollout
from ndigo.worlds import World
from ndigo.worlds.rollout import Rollout, rollout

AT_ONCE = 64  # steps whose expectations are drawn together: the chances behind them are large


def meta(agent: Agent) -> dict[str, Any]:
    """What a recording says of its agent and its world."""
    world, look = agent.world, appearance_of(agent)
    return {
        "format": FORMAT,
        "version": VERSION,
        **agent.about,
        "channels": [{"name": c.name, "kind": c.kind} for c in world.channels],
        "objects": objects_of(world, look) if look.has_belief else [],
        "events": seen_names(world) if look.painter is not None else list(world.events),
        "actions": list(world.actions),
        "num_steps": world.num_steps,
        "num_ahead": look.num_ahead,
        "view": look.view,
        "legend": [{"name": name, "colour": list(colour)} for name, colour in look.legend],
        "versions": {
            "python": sys.version.split()[0],
            "ndigo": __version__,
            "jax": jax.__version__,
            "numpy": np.__version__,
        },
    }


def episode_key(seed: int, episode: int) -> Array:
    """The key of one episode: the same for every agent, so that two can be compared on one world."""
    return jax.random.fold_in(jax.random.key(seed), episode)


def record(
    agent: Agent, keys: Sequence[Array] | Array, on_episode: Callable[[int], None] = lambda done: None
) -> Recording:
    """One episode for each key; `on_episode` hears how many are done."""
    look, done = appearance_of(agent), []
    play = _played_here if agent.world.host is None else _played_on_host
    for key in keys:
        done.append(play(agent, look, key) | {"keys": np.asarray(jax.random.key_data(key))})
        on_episode(len(done))
    if not done:
        raise NdigoError("a recording has at least one episode")
    if agent.world.ends is None:
        return _stacked(meta(agent), look, done)
    # The longest sets the size; what lies after the end of a shorter one means nothing.
    longest = max(int(arrays["lengths"]) for arrays in done)
    cut = [{name: _fitted(name, x, longest + 1) for name, x in arrays.items()} for arrays in done]
    return _stacked(meta(agent) | {"num_steps": longest}, look, cut)


def _played_here(agent: Agent, look: Appearance, key: Array) -> dict[str, Any]:
    arrays = jax.device_get(_compiled(agent.world, agent.reward, agent.joined, look)(agent.networks, key))
    if agent.world.draw is not None:
        steps = int(arrays.get("lengths", agent.world.num_steps))
        arrays["drawn"] = drawn_frames(agent.world, key, arrays["a"][:steps])
    return arrays


def _played_on_host(agent: Agent, look: Appearance, key: Array) -> dict[str, Any]:
    episode, pictures = host_rollout(agent, key)
    arrays = jax.device_get(_compiled_reading(agent.world, agent.reward, look)(agent.networks, episode))
    return arrays if pictures is None else arrays | {"drawn": pictures}


def _stacked(about: dict[str, Any], look: Appearance, done: list[dict[str, Any]]) -> Recording:
    arrays = {name: np.stack([arrays[name] for arrays in done]) for name in done[0]}
    return Recording(meta=about, walls=look.walls, **arrays)


def _fitted(name: str, x: np.ndarray, frames: int) -> np.ndarray:
    """So many frames of a field, the last repeated where there are fewer."""
    if name in ("keys", "lengths"):
        return x
    missing = max(0, frames - len(x))
    return np.concatenate([x[:frames], np.repeat(x[-1:], missing, axis=0)])


def record_numbered(
    agent: Agent, seed: int, first: int, count: int, on_episode: Callable[[int], None] = lambda done: None
) -> Recording:
    """Episodes `first`, `first` + 1, ... of a seed; the meta says which they are."""
    episodes = record(agent, [episode_key(seed, first + i) for i in range(count)], on_episode)
    return replace(episodes, meta=episodes.meta | {"episode_seed": seed, "first_episode": first})


@lru_cache(maxsize=8)
def _compiled(
    world: World, reward: IntrinsicReward, joined: Joined, look: Appearance
) -> Callable[[Params, Array], dict[str, Array]]:
    """Once for all agents of a world and a reward."""
    return jax.jit(partial(episode_arrays, world, reward, joined, look))


@lru_cache(maxsize=8)
def _compiled_reading(
    world: World, reward: IntrinsicReward, look: Appearance
) -> Callable[[Params, Rollout], dict[str, Array]]:
    return jax.jit(partial(read_off, world, reward, look))


def as_bytes(p: Array) -> Array:
    """Probabilities in 256 steps."""
    return jnp.rint(255 * p).astype(jnp.uint8)


def episode_arrays(
    world: World, reward: IntrinsicReward, joined: Joined, look: Appearance, params: Params, key: Array
) -> dict[str, Array]:
    """Everything `Recording` keeps of one episode, without its leading axis."""
    return read_off(
        world, reward, look, params, rollout(world, params.policy(world, reward, joined), key, partial(notes, world))
    )


def read_off(
    world: World, reward: IntrinsicReward, look: Appearance, params: Params, episode: Rollout
) -> dict[str, Array]:
    """What the networks make of an episode, and what there is to see of it."""
    o_t, a_t, truth_t, notes_t = episode.o_t, episode.a_t, episode.truth_t, episode.notes_t
    S, C = world.num_steps, len(world.channels)
    cells = truth_t.objects @ jnp.array([world.map_shape[1], 1]) if look.has_belief else None  # type: ignore[index]
    r_tc = None if reward.on_episode is None else reward.on_episode(world)(params.model, a_t, o_t)
    window = Window.whole(o_t, a_t, params.model.core.size, cells, r_tc)
    window = replace(window, task_t=None if world.task_reward is None else notes_t["task"][1:])
    seen, paid = params.pay(reward, window)
    r_tc = jnp.zeros((S, C)) if paid.r_tc is None else paid.r_tc

    def then(x_t: Array, end: int = 0) -> Array:
        """A value for every step, and one for the frame after them."""
        return jnp.concatenate([x_t, jnp.full_like(x_t[:1], end)])

    arrays = {
        "a": then(a_t.astype(action_type(world.num_actions)), -1),
        "reward": then(jnp.where(paid.is_known, paid.r_t, 0.0)),
        "reward_c": then(jnp.where(paid.is_known[:, None], r_tc, 0.0)),
        **_truth(world, look, params, truth_t, seen.b_t, cells),
        **_views(look, params, o_t, a_t, seen.b_t, C),
    }
    if look.painter is not None and seen.loss_tk is not None:
        arrays["loss_c"] = jnp.concatenate([jnp.zeros((1, C)), seen.loss_tk[:, 0]])
    if look.exact is not None:
        arrays["exact"] = jax.vmap(look.exact.locate)(look.exact.run(a_t, o_t))
        arrays["exact"] = arrays["exact"].reshape(arrays["belief"].shape).astype(jnp.float16)
    if world.task_reward is not None:
        arrays["task"] = then(notes_t["task"][1:])
    if (events := happening(look, world, o_t, notes_t)) is not None:
        arrays["events"] = events
    if world.ends is not None:
        # An episode that has not ended by itself is cut at its last frame.
        is_last = notes_t["is_last"].at[-1].set(True)
        arrays["lengths"] = is_last.argmax().astype(jnp.int32)
    return arrays


def notes(world: World, state: Any) -> dict[str, Array]:
    """What a state tells beside its frame."""
    found: dict[str, Array] = {}
    if world.task_reward is not None:
        found["task"] = jnp.float32(world.task_reward(state))
    if world.happens is not None:
        found["events"] = jnp.asarray(world.happens(state), bool)
    if world.ends is not None:
        found["is_last"] = jnp.bool_(world.ends(state)[0])
    return found


def happening(look: Appearance, world: World, o_t: Any, notes_t: dict[str, Array]) -> Array | None:
    """Which events hold in frames [T, ...]; without a map, also what is in view. None where nothing can happen."""
    seen = [] if look.painter is None else [in_view(world.frame, o_t)]
    both = [*seen, *([notes_t["events"]] if world.happens is not None else [])]
    joined = jnp.concatenate(both, axis=-1) if both else None
    return None if joined is None or joined.shape[-1] == 0 else joined


def _truth(world: World, look: Appearance, params: Params, truth_t: Any, b_t: Array, cells: Any) -> dict[str, Array]:
    T = len(b_t)
    if not look.has_belief:
        shapes = {"agent": (2,), "objects": (0, 2), "belief": (0, 0, 0), "discovery_loss": (0,)}
        types = {"agent": jnp.uint8, "objects": jnp.uint8, "belief": jnp.float16, "discovery_loss": jnp.float32}
        return {name: jnp.zeros((T, *shape), types[name]) for name, shape in shapes.items()}
    assert params.probe is not None
    assert world.map_shape is not None
    return {
        "agent": truth_t.agent.astype(jnp.uint8),
        "objects": truth_t.objects.astype(jnp.uint8),
        "belief": params.probe.locate(b_t).reshape(T, -1, *world.map_shape).astype(jnp.float16),
        "discovery_loss": discovery_loss(params.probe, b_t, cells),
    }


def _views(look: Appearance, params: Params, o_t: Any, a_t: Array, b_t: Array, C: int) -> dict[str, Array]:
    """What is seen and expected: bits as they are where a map has their colours, else pictures."""
    S, K = len(a_t), look.num_ahead
    is_inside = inside((S, K)) if K else None
    if look.painter is None:
        ahead = jnp.zeros((S + 1, 0, *o_t.shape[1:]), jnp.uint8)
        if K:
            p_tk = jnp.swapaxes(params.model.expect(b_t[:-1], shifted(a_t, params.model.num_ahead)), 0, 1)
            ahead = as_bytes(jnp.where(is_inside[:, :, None, None, None], p_tk, 0.0))  # type: ignore[index]
            ahead = jnp.concatenate([ahead, jnp.zeros_like(ahead[:1])])
        return {"o": o_t, "ahead": ahead}
    Y, X = look.painter.shape
    expected = jnp.zeros((S + 1, 0, Y, X, 3), jnp.uint8)
    if K:

        def imagined(b_and_a: tuple[Array, Array]) -> Array:
            return look.expected(params.model, *b_and_a)[:K]

        a_tk = shifted(a_t, params.model.num_ahead).T
        pictures = jax.lax.map(imagined, (b_t[:-1], a_tk), batch_size=AT_ONCE)
        pictures = jnp.where(is_inside[:, :, None, None, None], pictures, 0)  # type: ignore[index]
        expected = jnp.concatenate([pictures, jnp.zeros_like(pictures[:1])])
    empty = {"o": jnp.zeros((S + 1, 0, 0, C), jnp.uint8), "ahead": jnp.zeros((S + 1, K, 0, 0, C), jnp.uint8)}
    return empty | {"seen": look.painter.seen(o_t), "expected": expected}
