"""What is counted of a random walk is its episode, to the episode's own end."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from ndigo import frames
from ndigo.evaluation.random_walk import random_walk, visits_of_walks
from ndigo.frames import Channel
from ndigo.worlds import World

LAST, LONGEST = 5, 12  # the step that ends an episode, and how many a walk has room for


def clock(**changes) -> World:
    """Its state is the step's number, and the object is in view from step 2 on."""
    return World(
        name="clock",
        frame=frames.bits([Channel("object", "one_hot")], 1),
        actions=("wait", "wait as well"),
        num_steps=LONGEST,
        reset=lambda key: jnp.int32(0),
        step=lambda key, t, a_t: t + 1,
        observe=lambda t: (t >= 2).astype(jnp.uint8).reshape(1, 1, 1),
        **changes,
    )


def test_a_walk_is_over_with_the_episode_and_its_last_frame_counts_once():
    world = clock(ends=lambda t: (t >= LAST, t >= LAST))
    walk = jax.jit(lambda key: random_walk(world, key))(jax.random.key(0))
    assert walk.num_frames == LAST + 1
    np.testing.assert_array_equal(walk.is_visible[:, 0], [2 <= t <= LAST for t in range(LONGEST)])
    found = visits_of_walks(world, jax.random.key(0), 3)
    np.testing.assert_array_equal(found.count, [[4]] * 3)  # steps 2, 3, 4 and 5
    np.testing.assert_array_equal(found.first, [[2]] * 3)


def test_a_walk_of_an_episode_that_does_not_end_has_all_frames():
    never = clock(ends=lambda t: (t < 0, t < 0))
    for world in (clock(), never):
        walk = jax.jit(lambda key, world=world: random_walk(world, key))(jax.random.key(0))
        assert walk.num_frames == LONGEST
        assert visits_of_walks(world, jax.random.key(0), 1).count.tolist() == [[LONGEST - 2]]
