"""Places: which states are one, by a set of Python's."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ndigo import frames
from ndigo.evaluation.coverage import distinct, hash_of, place_of
from ndigo.frames import Frame
from ndigo.worlds import World


def test_states_are_one_place_where_their_numbers_are_equal():
    rng = np.random.default_rng(0)
    cells, angles = rng.integers(-3, 4, (500, 2)), np.round(rng.uniform(-1.4, 1.4, (500, 1))).astype(np.float32)
    assert np.signbit(angles[angles == 0]).any(), "0.0 and -0.0 are equal"
    counts = rng.random(500) < 0.7
    found = jax.jit(lambda where, counts: distinct(jax.vmap(hash_of)(where), counts))((cells, angles), counts)
    places = {
        (*map(int, cell), float(angle))
        for cell, (angle,), counted in zip(cells, angles, counts, strict=True)
        if counted
    }
    assert int(found) == len(places)


def num_places(frame: Frame, o_t: Any) -> int:
    """Of these frames [T, ...], in a world whose state is its frame and that says no more of places."""
    world = World(
        name="still",
        frame=frame,
        actions=("stay",),
        num_steps=1,
        reset=lambda key: jax.tree.map(lambda x: x[0], o_t),
        step=lambda key, state, a: state,
        observe=lambda state: state,
    )
    places = jax.vmap(lambda o: place_of(world, o))(o_t)
    return int(distinct(places, jnp.ones(len(places), bool)))


def test_numbers_are_one_place_where_their_bins_are():
    """Two numbers from 0 to 4 in four bins: whole parts, and what lies outside in the outer bins."""
    x_t = np.array([[0.1, 1.2], [0.9, 1.7], [0.1, 2.0], [3.5, 0], [40, 0.3], [-7, 1.5]], np.float32)
    assert num_places(frames.vector(2, low=0, high=4, bins=4), jnp.asarray(x_t)) == len({(0, 1), (0, 2), (3, 0)})
    assert num_places(frames.vector(2, low=0, high=4, bins=None), jnp.asarray(x_t)) == len(x_t)


def test_bits_and_tiles_are_one_place_where_they_are_equal():
    rng = np.random.default_rng(1)
    bits = rng.integers(2, size=(300, 2, 2, 2)).astype(np.uint8)
    tiles = rng.integers((3, 2), size=(300, 1, 2, 2)).astype(np.uint8)
    for frame, o_t in ((frames.bits(["a", "b"], 2), bits), (frames.tiles((3, 2), 1, 2), tiles)):
        num = len({x.tobytes() for x in o_t})
        assert 30 < num < 300
        assert num_places(frame, jnp.asarray(o_t)) == num


def test_parts_of_a_join_are_coded_each_in_its_own_way():
    numbers = jnp.array([[0.2], [0.3], [0.2], [1.2]], jnp.float32)
    tiles = jnp.array([0, 0, 1, 1], jnp.uint8).reshape(4, 1, 1, 1)
    frame = frames.join(bag=frames.vector(1, low=0, high=2, bins=2), map=frames.tiles((2,), 1))
    assert num_places(frame, {"bag": numbers, "map": tiles}) == 3
