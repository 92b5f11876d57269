"""Visit statistics on frames made by hand."""

import jax.numpy as jnp
import numpy as np

from ndigo.evaluation.visits import in_view, visits
from ndigo.worlds import make_world


def test_object_is_in_view_when_its_channel_is_not_empty_and_walls_do_not_count():
    world = make_world("fixed_and_noise")
    o_t = np.zeros((4, *world.shape), np.uint8)
    o_t[..., 0] = 1  # walls everywhere
    o_t[1, 0, 0, 1] = 1  # the fixed object in a corner
    o_t[2, 2, 3, 2] = 1  # the noise
    o_t[3, 4, 4, 1] = o_t[3, 4, 3, 2] = 1
    expected = [[False, False], [True, False], [False, True], [True, True]]
    np.testing.assert_array_equal(in_view(world.frame, jnp.asarray(o_t)), expected)


def test_count_and_first_visit_are_those_of_the_frames():
    is_visible = np.zeros((400, 4), bool)
    is_visible[[7, 8, 399], 1] = True
    is_visible[0, 2] = True
    is_visible[399, 3] = True
    statistics = visits(jnp.asarray(is_visible))
    np.testing.assert_array_equal(statistics.count, [0, 3, 1, 1])
    np.testing.assert_array_equal(statistics.first, [400, 7, 0, 399])
    np.testing.assert_array_equal(statistics.is_seen, [False, True, True, True])


def test_object_never_seen_has_the_episodes_length_as_first_visit():
    assert visits(jnp.zeros((25, 1), bool)).first.tolist() == [25.0]
