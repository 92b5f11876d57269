"""Greedy episodes in a world that the host steps, and what is measured of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, UInt32

from ndigo.agents.agent import Params
from ndigo.config import Config
from ndigo.evaluation.coverage import hash_of
from ndigo.evaluation.measure import Measured
from ndigo.evaluation.streams import Note, measure_streams
from ndigo.frames import code_of
from ndigo.rewards import IntrinsicReward
from ndigo.training.streams.actor import new_actors
from ndigo.training.streams.host_slots import Play, SeedEnvironments, drawing
from ndigo.training.streams.slots import Slots, whole_stream
from ndigo.types import Twins
from ndigo.worlds import World
from ndigo.worlds.host import Told, seed_of

Measure = Callable[[Params, Array], Measured]


def words_of(place: Float[np.ndarray, "... M"]) -> UInt32[np.ndarray, "... 2*M"]:
    """All bits of float64 numbers as 32-bit words, since the device has no float64; -0.0 counts as 0.0."""
    return (np.asarray(place, np.float64) + 0.0).view(np.uint32)


def make_measure(
    config: Config,
    world: World,
    reward: IntrinsicReward,
    by: Twins,
    environments: SeedEnvironments,
    play: Play,
    joined: Callable[[Params], Any],
    epsilons: Float[Array, " E"],
) -> Measure:
    """measure(params [S, ...], key) of all seeds, E episodes at a time; the same key gives the same episodes."""
    S, E, num_steps = config.seeds, len(epsilons), world.num_steps
    draw = drawing(num_steps, world.num_actions, 1, epsilons)

    def measure_seed(params: Params, slots: Slots, place: Array, happens: Array) -> Measured:
        params = params.lowered(config.precision, reward)
        streams = jax.vmap(lambda slots: whole_stream(world, slots, params.model.core.size))(slots)
        where = place if place.shape[-1] else code_of(world.frame, world.frame.unpack(slots.o_t))
        notes = Note(place=jax.vmap(jax.vmap(hash_of))(where), happens=happens)
        return measure_streams(world, reward, params, streams, notes)

    measure_all = by.compiled(jax.vmap(measure_seed), "measure", None)

    def play_block(network: Any, key: Array) -> tuple[Slots, np.ndarray, np.ndarray]:
        """The slots of E episodes of each seed, and for each frame its place and its events."""
        keys = jax.vmap(partial(jax.random.fold_in, key))(jnp.arange(S))
        told, notes = environments.begin(seed_of(key)), []

        def note(t: int, told: Told) -> None:
            notes.append((told.place, told.happens))

        actors = new_actors((S, E), config.belief_size)
        _, told, slots = play(environments, lambda: network, epsilons, actors, draw(keys), told, num_steps, note)
        note(num_steps, told)
        place, happens = (np.stack(x_t, axis=2) for x_t in zip(*notes, strict=True))
        return slots, words_of(place), happens

    def measure(params: Params, key: Array) -> Measured:
        network, num = joined(params), config.evaluation_episodes
        blocks = [play_block(network, jax.random.fold_in(key, i)) for i in range(-(-num // E))]
        whole = jax.tree.map(lambda *parts: jnp.concatenate(parts, axis=1)[:, :num], *blocks)
        return measure_all(params, *whole)

    return measure
