"""Streams of the host as windows of the replay."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from ndigo.agents.agent import Params
from ndigo.config import Config
from ndigo.networks import lower
from ndigo.rewards import IntrinsicReward
from ndigo.training.streams.actor import new_actors
from ndigo.training.streams.collector import Collector
from ndigo.training.streams.crowd import Crowd, windows_of_actor
from ndigo.training.streams.host_slots import nothing_seen
from ndigo.training.streams.slots import Slots, believe, cut_slots
from ndigo.types import Window
from ndigo.worlds import World
from ndigo.worlds.host import on_the_host


def make_stand_in(config: Config, world: World, reward: IntrinsicReward) -> Collector:
    """A collector of empty windows, for their shapes and types alone; `hosted.py` plays in its stead."""
    num_windows = windows_of_actor(config, world, reward)
    E, num_slots = config.actors, num_windows * config.window

    def start(key: Array, params: Params) -> Crowd:
        return Crowd(actors=new_actors((E,), params.agent.size), b_tm1=jnp.zeros((E, params.model.core.size)))

    def explore(key: Array, params: Params, crowd: Crowd) -> tuple[Window, Crowd]:
        slots = nothing_seen(world, params.agent.size, (E,), num_slots, num_windows)
        return rows_of(config, world, params, slots, crowd)

    return Collector(start, explore, on_the_host(world.name), E * num_windows, num_slots)


def rows_of(config: Config, world: World, params: Params, slots: Slots, crowd: Crowd) -> tuple[Window, Crowd]:
    """The slots of one seed as windows of the replay, and its actors with the beliefs after them."""
    rows = jax.vmap(lambda slots: cut_slots(slots, config.window, world.num_actions))(slots)
    rows, b_tm1 = believe(world, lower(params, config.precision).model.core, rows, crowd.b_tm1)
    return jax.tree.map(lambda x: lax.collapse(x, 0, 2), rows), replace(crowd, b_tm1=b_tm1)
