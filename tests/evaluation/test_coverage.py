"""Places: which states are one, by a set of Python's."""

from __future__ import annotations

import jax
import numpy as np

from ndigo.evaluation.coverage import distinct, hash_of


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
