"""All actors of one seed: how they explore, round by round, and how they are evaluated."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from ndigo.agents.agent import Params
from ndigo.config import Config
from ndigo.devices.parts import Parts
from ndigo.errors import NdigoError
from ndigo.evaluation.measure import Measured
from ndigo.evaluation.streams import Note, measure_streams, note
from ndigo.networks import Core, lower
from ndigo.rewards import IntrinsicReward
from ndigo.training.streams.actor import Actor, new_actor, new_actors
from ndigo.training.streams.collector import Collector, exploring
from ndigo.training.streams.host_slots import nothing_seen
from ndigo.training.streams.slots import Slots, believe, cut_slots, play_slots, whole_stream
from ndigo.types import Twins, Window
from ndigo.worlds import World
from ndigo.worlds.host import on_the_host


class Crowd(eqx.Module):
    """The actors of one seed between two rounds."""

    actors: Actor  # [E, ...]
    b_tm1: Float[Array, "E D"]  # the beliefs before the frames they look at


def windows_of_actor(config: Config, world: World, reward: IntrinsicReward) -> int:
    """How many windows each actor fills per round; an error for a reward that needs whole episodes."""
    if reward.on_episode is not None:
        raise NdigoError(
            f"reward {reward.name} is computed on whole episodes of one length; those of {world.name} end by themselves"
        )
    return max(config.round_steps // config.window, 1)


def rows_of(config: Config, world: World, core: Core, slots: Slots, crowd: Crowd) -> tuple[Window, Crowd]:
    """The slots [E, ...] of the actors as windows of the replay, and the actors with the beliefs after them."""
    rows = jax.vmap(lambda slots: cut_slots(slots, config.window, world.num_actions))(slots)
    rows, b_tm1 = believe(world, core, rows, crowd.b_tm1)
    return jax.tree.map(lambda x: lax.collapse(x, 0, 2), rows), replace(crowd, b_tm1=b_tm1)


def make_streams(config: Config, world: World, reward: IntrinsicReward, by: Twins, parts: Parts) -> Collector:
    epsilons, longest, evaluation_epsilon = exploring(config, reward)
    num_windows = windows_of_actor(config, world, reward)
    num_slots = num_windows * config.window
    play = partial(play_slots, begin=by.begin_where)

    def start(key: Array, params: Params) -> Crowd:
        keys = parts.own(jax.random.split(key, config.actors))
        actors = jax.vmap(lambda key: new_actor(world.reset(key), params.agent.size))(keys)
        return Crowd(actors=actors, b_tm1=jnp.zeros((len(keys), params.model.core.size)))

    def explore(key: Array, params: Params, crowd: Crowd) -> tuple[Window, Crowd]:
        params = lower(params, config.precision)
        network = by.joined(params.agent)

        def one(key: Array, actor: Actor, epsilon: Array) -> tuple[Actor, Slots]:
            return play(world, network, key, actor, epsilon, num_slots, longest)[:2]

        keys = jax.random.split(key, config.actors)
        actors, slots = jax.vmap(one)(parts.own(keys), crowd.actors, parts.own(epsilons))
        return rows_of(config, world, params.model.core, slots, replace(crowd, actors=actors))

    def measure(params: Params, key: Array) -> Measured:
        """Greedy streams of `num_steps` slots, each from the start of an episode."""
        params = params.lowered(config.precision, reward)
        network, size = by.joined(params.agent), params.model.core.size

        def one(key: Array) -> tuple[Window, Note]:
            key_reset, key_play = jax.random.split(key)
            actor, noting = new_actor(world.reset(key_reset), network.size), partial(note, world)
            _, slots, notes = play(world, network, key_play, actor, evaluation_epsilon, world.num_steps, 1, noting)
            return whole_stream(world, slots, size), notes

        streams = jax.vmap(one)(jax.random.split(key, config.evaluation_episodes))
        return measure_streams(world, reward, params, *streams)

    return Collector(
        start=start,
        explore=explore,
        measure=measure,
        windows_per_round=config.actors // parts.num * num_windows,
        steps=num_slots,
    )


def make_stand_in(config: Config, world: World, reward: IntrinsicReward) -> Collector:
    """For a world of the host: empty windows, for their shapes and types alone; `hosted.py` plays in its stead."""
    num_windows = windows_of_actor(config, world, reward)
    E, num_slots = config.actors, num_windows * config.window

    def start(key: Array, params: Params) -> Crowd:
        return Crowd(actors=new_actors((E,), params.agent.size), b_tm1=jnp.zeros((E, params.model.core.size)))

    def explore(key: Array, params: Params, crowd: Crowd) -> tuple[Window, Crowd]:
        slots = nothing_seen(world, params.agent.size, (E,), num_slots, num_windows)
        return rows_of(config, world, params.model.core, slots, crowd)

    return Collector(start, explore, on_the_host(world.name), E * num_windows, num_slots)
