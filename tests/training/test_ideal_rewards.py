"""The loop on rewards of the exact filter: what is stored is what the filter says, and the agent learns from it."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from oracle.tiny import TWO_ROOMS
from training.test_probe_worlds import config_of

from ndigo.rewards import make_reward
from ndigo.training.trainer import make_trainer
from ndigo.worlds import Object, grid_world, read_layout

S, T = 8, 5  # windows start at 0 and 3
NUM_ROUNDS = 40
FIXED, NOISE = 1, 2  # channels
WORLD = grid_world(
    "object and noise",
    read_layout(TWO_ROOMS, {"A": "A", "B": "B"}),
    [Object("fixed", "fixed", ("A",)), Object("noise", "white_noise", ("B",))],
    view=3,
    num_steps=S,
)


@pytest.fixture(scope="module")
def rows():
    """The windows of two agents, [seed, round, actor, window, ...]: the second half of 640 updates on ideal NDIGO-1."""
    # The filter pays: what the model predicts has no part in it, so little is predicted.
    config = config_of(WORLD, window=T, seeds=2, replay_steps=8 * 2 * T * NUM_ROUNDS, predictor_hidden=8)
    trainer = make_trainer(config, WORLD, make_reward("ideal-ndigo-1"))
    state = trainer.init(jax.random.key(0))
    for _ in range(2):
        state, _ = trainer.run_rounds(state, NUM_ROUNDS)  # fills the whole ring
    return jax.tree.map(lambda x: np.asarray(x).reshape(2, NUM_ROUNDS, 8, 2, *x.shape[2:]), state.rows.windows)


def frames(rows) -> np.ndarray:
    return np.unpackbits(rows.o_t, axis=-1, count=3 * 3 * 3).reshape(*rows.o_t.shape[:-1], 3, 3, 3)


@pytest.mark.slow
def test_replay_holds_what_the_filter_says_of_each_episode(rows):
    """Both windows of an episode, put together again, and judged as one."""
    on_episode = make_reward("ideal-ndigo-1").on_episode
    assert on_episode is not None
    o_t, seed, rounds = frames(rows), 1, slice(0, NUM_ROUNDS, 10)
    np.testing.assert_array_equal(rows.start, np.broadcast_to([0, S - T], rows.start.shape))
    a_t = np.concatenate([rows.a_t[..., 0, :], rows.a_t[..., 1, 2 * T - S :]], axis=-1)[seed, rounds]
    whole = np.concatenate([o_t[..., 0, :, :, :, :], o_t[..., 1, 2 * T + 1 - S :, :, :, :]], axis=-4)[seed, rounds]
    judge = jax.jit(jax.vmap(jax.vmap(partial(on_episode(WORLD), None))))
    r_tc = np.asarray(judge(jnp.asarray(a_t, jnp.int32), jnp.asarray(whole)))
    stored = rows.r_tc[seed, rounds]
    np.testing.assert_allclose(stored[..., 0, :, :], r_tc[..., :T, :], atol=1e-5)
    np.testing.assert_allclose(stored[..., 1, :, :], r_tc[..., S - T :, :], atol=1e-5)
    assert abs(r_tc).max() > 1


@pytest.mark.slow
def test_agents_paid_by_the_exact_filter_go_to_the_object_before_the_noise(rows):
    """The last ten rounds of the actors that explore least. Of six agents, five: the object in all of 40 episodes.

    The sixth, of another seed than this test's, saw it in 36.

    Once it is located nothing pays, so what they do after that is free.
    """
    shown = frames(rows)[:, -10:, 4:, 0].max(axis=(-3, -2))  # [seed, round, actor, frame, channel]
    is_seen = shown.max(axis=-2) > 0
    first = np.where(is_seen, shown.argmax(axis=-2), T + 1)
    assert is_seen[..., FIXED].mean() > 0.9
    assert (first[..., FIXED] < first[..., NOISE]).mean() > 0.9
