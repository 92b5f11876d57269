"""Episodes: the Q-network acts in a world, and the windows of what it saw go into the replay.

The belief never steers the agent. So only the Q-network runs step by step, and the beliefs are computed after the
episode, over all its frames at once.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from ndigo.agent import chance, draw_episode, time_first, window_starts
from ndigo.agents.agent import Params
from ndigo.config import Config
from ndigo.devices.parts import ALONE, Parts
from ndigo.evaluation.measure import Measured, measure
from ndigo.evaluation.true_cells import object_cells
from ndigo.frames import Frame
from ndigo.networks import Core, lower
from ndigo.rewards import IntrinsicReward
from ndigo.training.streams.collector import Collector, exploring
from ndigo.training.streams.crowd import make_stand_in, make_streams
from ndigo.types import Episode, Twins, Window, action_type
from ndigo.worlds import World


def play(
    world: World,
    network: Any,
    key: Array,
    epsilon: Float[Array, ""],
    every: int = 1,
    longest_stretch: int = 1,
) -> Episode:
    """Plays one episode epsilon-z-greedily (`agent/exploration.py`) with a Q-network.

    The network's state is kept before every `every`-th frame; `every` divides the episode's length.
    """
    S, A = world.num_steps, world.num_actions
    key_reset, keys, stretches = draw_episode(key, epsilon, S, A, longest_stretch)

    def body(carry, step):
        state, a_tm1, h_tm1 = carry
        key_step, is_random, random_a = step
        o_t = world.observe(state)
        h_t, q_t = network.step(o_t, a_tm1, h_tm1)
        greedy = q_t.argmax(axis=-1).astype(jnp.int32)
        a_t = jnp.where(is_random, random_a, greedy)
        seen = (world.frame.pack(o_t), object_cells(world, state), a_tm1, h_tm1)
        return (world.step(key_step, state, a_t), a_t, h_t), (seen, a_t == greedy)

    # b_0 = GRU(z_0, stay, 0): action 0 stands before the first frame.
    first = (world.reset(key_reset), jnp.int32(0), jnp.zeros(network.size))
    (last, a_last, _), (seen, is_greedy) = lax.scan(body, first, (keys, stretches.is_random, stretches.a_t))
    *frames, h_tm1 = seen
    end = (world.frame.pack(world.observe(last)), object_cells(world, last), a_last)
    o_t, cells, a_tm1 = (jnp.concatenate([x_t, x[None]]) for x_t, x in zip(frames, end, strict=True))
    a_tm1 = a_tm1.astype(action_type(A))
    return Episode(
        o_t=o_t,
        a_tm1=a_tm1,
        cells=cells,
        a_t=a_tm1[1:],
        mu_t=chance(stretches.is_repeat, is_greedy, epsilon, A),
        agent_state=h_tm1[::every],
    )


def beliefs(core: Core, episodes: Episode, frame: Frame) -> Float[Array, "E S+1 D"]:
    """The belief after every frame of E episodes."""
    z_t = core.encoder(time_first(frame.unpack(episodes.o_t)))
    b_t = core.unroll(z_t, episodes.a_tm1.T.astype(jnp.int32), jnp.zeros((len(episodes.a_t), core.size)))
    return jnp.swapaxes(b_t, 0, 1)


def cut_windows(
    episode: Episode, b_t: Float[Array, "S+1 D"], T: int, r_tc: Float[Array, "S C"] | None = None
) -> Window:
    """An episode cut into the replay's W windows, [W, T, ...]; frames stay packed."""
    starts = window_starts(len(episode.a_t), T)
    every = len(episode.a_t) // len(episode.agent_state)

    def rows(x_t: Array, length: int) -> Array:
        return jnp.stack([x_t[s : s + length] for s in starts])

    return Window(
        o_t=rows(episode.o_t, T + 1),
        a_tm1=rows(episode.a_tm1, T + 1),
        a_t=rows(episode.a_t, T),
        mu_t=rows(episode.mu_t, T),
        belief=jnp.stack([b_t[s - 1] if s else jnp.zeros_like(b_t[0]) for s in starts]),
        agent_state=jnp.stack([episode.agent_state[s // every] for s in starts]),
        start=jnp.array(starts, jnp.int32),
        cells=rows(episode.cells, T + 1),
        r_tc=None if r_tc is None else rows(r_tc, T),
    )


def make_episodes(config: Config, world: World, reward: IntrinsicReward, by: Twins, parts: Parts) -> Collector:
    """The collector of a world whose episodes all have one length: an episode per actor and round."""
    starts = window_starts(world.num_steps, config.window)
    every = math.gcd(world.num_steps, *starts)  # the Q-network's state is kept where a window can start
    pay_episode = None if reward.on_episode is None else reward.on_episode(world)
    epsilons, longest, evaluation_epsilon = exploring(config, reward)

    def run(params: Params, keys: Array, epsilons: Float[Array, " E"]) -> tuple[Episode, Array]:
        network = by.joined(params.agent)
        episodes = jax.vmap(lambda key, epsilon: by.play(world, network, key, epsilon, every, longest))(keys, epsilons)
        return episodes, beliefs(params.model.core, episodes, world.frame)

    def explore(key: Array, params: Params, _: None) -> tuple[Window, None]:
        payer = params.lowered(config.precision, reward).model
        params, keys = lower(params, config.precision), jax.random.split(key, config.actors)
        episodes, b_t = run(params, parts.own(keys), parts.own(epsilons))
        r_tc = None
        if pay_episode is not None:  # a reward that needs the whole episode is computed here and stored
            frames = world.frame.unpack(episodes.o_t)
            r_tc = jax.vmap(partial(pay_episode, payer))(episodes.a_t.astype(jnp.int32), frames)
        cut = jax.vmap(lambda episode, b_t, r_tc: cut_windows(episode, b_t, config.window, r_tc))
        return jax.tree.map(lambda x: lax.collapse(x, 0, 2), cut(episodes, b_t, r_tc)), None

    def measure_greedy(params: Params, key: Array) -> Measured:
        params, keys = lower(params, config.precision), jax.random.split(key, config.evaluation_episodes)
        return measure(world, params.probe, *run(params, keys, jnp.full(len(keys), evaluation_epsilon)))

    return Collector(
        start=lambda key, params: None,
        explore=explore,
        measure=measure_greedy,
        windows_per_round=config.actors // parts.num * len(starts),
        steps=world.num_steps,
    )


def make_collector(config: Config, world: World, reward: IntrinsicReward, by: Twins, parts: Parts = ALONE) -> Collector:
    """Whole episodes where all have one length; else streams, in which actors go on from round to round."""
    if world.host is not None:
        return make_stand_in(config, world, reward)
    make = make_episodes if world.ends is None else make_streams
    return make(config, world, reward, by, parts)
