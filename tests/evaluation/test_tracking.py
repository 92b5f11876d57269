"""How long ago an object was seen, and what is known of it by then, against a plain loop."""

import jax.numpy as jnp
import numpy as np

from ndigo.evaluation.tracking import NUM_AGES, ages, track


def test_ages_and_sums_are_those_of_a_plain_loop():
    rng = np.random.default_rng(0)
    is_visible = rng.random((200, 3)) < [0.3, 0.02, 0.0]
    loss = rng.random((200, 3)).astype(np.float32)
    expected = np.full((200, 3), -1)
    sums, steps = np.zeros((3, NUM_AGES)), np.zeros((3, NUM_AGES))
    for n in range(3):
        since = None
        for t in range(200):
            since = 0 if is_visible[t, n] else None if since is None else since + 1
            if since is not None:
                expected[t, n] = since
                if since < NUM_AGES:
                    sums[n, since] += loss[t, n]
                    steps[n, since] += 1
    np.testing.assert_array_equal(ages(jnp.asarray(is_visible)), expected)
    tracked = track(jnp.asarray(is_visible), jnp.asarray(loss))
    np.testing.assert_allclose(tracked.loss, sums, rtol=1e-5)
    np.testing.assert_array_equal(tracked.steps, steps)
    assert steps[1].sum() > NUM_AGES
    assert not steps[2].any()
