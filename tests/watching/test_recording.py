"""A recording is what happened: held by training's own episodes and by a slow loop over an `Agent`."""

from __future__ import annotations

import dataclasses
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ndigo.agents.agent import Params
from ndigo.fast.twins import FAST
from ndigo.oracle import knowledge, make_filter
from ndigo.rewards import make_reward
from ndigo.watching.appearance import appearance_of
from ndigo.watching.recording import episode_arrays, episode_key, meta, record

H = 4


@pytest.fixture(scope="module")
def agent(shipped):
    return shipped


@pytest.fixture(scope="module")
def looped(agent, recorded):
    """Episode 0 again, frame by frame: beliefs [T, N, R, W], predictions [T, K, V, V, C] given the actions taken."""
    K, S = recorded.meta["num_ahead"], recorded.meta["num_steps"]
    state, actions, beliefs, expected = agent.start(), [], [], []
    padded = np.concatenate([recorded.a[0, :S], np.zeros(K, np.int8)])
    for t, o_t in enumerate(recorded.o[0]):
        a_t, state = agent.step(o_t, state)
        actions.append(a_t)
        beliefs.append(agent.believe(state))
        expected.append(agent.predict(state, padded[t : t + K]))
    return actions, np.array(beliefs), np.array(expected)


def test_an_episode_is_the_one_that_training_would_play_with_the_same_key(agent, recorded):
    @jax.jit
    def play(key):
        episode = FAST.play(agent.world, agent.joined(agent.networks.agent), key, jnp.float32(0))
        return episode, agent.world.frame.unpack(episode.o_t)

    for i in range(2):
        episode, o_t = play(episode_key(0, i))
        np.testing.assert_array_equal(recorded.o[i], o_t)
        np.testing.assert_array_equal(recorded.a[i], [*episode.a_t.tolist(), -1])
        rows, cols = np.divmod(np.asarray(episode.cells), agent.world.map_shape[1])
        np.testing.assert_array_equal(recorded.objects[i], np.stack([rows, cols], axis=-1))
    assert recorded.keys.tolist() == [jax.random.key_data(episode_key(0, i)).tolist() for i in range(2)]


def test_the_truth_is_what_the_view_shows(recorded):
    """An object stands where its channel has a one, seen from the agent; walls likewise."""
    walls = np.pad(recorded.walls, 2, constant_values=True)
    for t in range(0, 401, 10):
        row, col = recorded.agent[0, t].astype(int)
        np.testing.assert_array_equal(recorded.o[0, t, :, :, 0], walls[row : row + 5, col : col + 5])
    _, ts, rows, cols, objects = np.nonzero(recorded.o[:1, ..., 1:])
    assert len(ts)
    there = recorded.agent[0, ts].astype(int) + np.stack([rows, cols], axis=-1) - 2
    np.testing.assert_array_equal(recorded.objects[0, ts, objects], there)


def test_belief_and_discovery_loss_are_the_probes_after_every_frame(looped, recorded):
    actions, beliefs, _ = looped
    assert actions[:-1] == recorded.a[0, :-1].tolist()
    np.testing.assert_allclose(recorded.belief[0], beliefs, atol=5e-4)
    np.testing.assert_allclose(recorded.belief[0].astype(float).sum(axis=(-2, -1)), 1, atol=2e-3)
    t, n = np.ogrid[:401, :2]
    p = beliefs[t, n, recorded.objects[0, ..., 0], recorded.objects[0, ..., 1]]
    np.testing.assert_allclose(recorded.discovery_loss[0], -np.log(p), atol=1e-3)


def test_reward_and_its_split_are_ndigos_computed_by_hand_from_predictions(looped, recorded):
    """r[t+H-1] = L[t+H | t-1] - L[t+H | t], L in float64: 25 Bernoullis for walls, one cell or absent for an object."""
    expected, o = looped[2].astype(float), recorded.o[0].astype(float)

    def nats(p, o):
        walls = -np.log(np.where(o[..., 0] > 0, p[..., 0], 1 - p[..., 0])).sum()
        objects = [-np.log((p[..., c] * o[..., c]).sum() if o[..., c].any() else 1 - p[..., c].sum()) for c in (1, 2)]
        return np.array([walls, *objects])

    for t in range(1, 100):
        r_c = nats(expected[t - 1, H], o[t + H]) - nats(expected[t, H - 1], o[t + H])
        np.testing.assert_allclose(recorded.reward_c[0, t + H - 1], r_c, atol=2e-3)
    np.testing.assert_allclose(recorded.reward_c.sum(axis=-1), recorded.reward, atol=1e-4)
    assert not recorded.reward[:, :H].any()  # no pair of predictions exists yet
    assert not recorded.reward[:, -1].any()  # and no step follows the last frame


def test_predictions_are_the_models_given_the_actions_taken_and_end_with_the_episode(looped, recorded):
    S, K = recorded.meta["num_steps"], recorded.meta["num_ahead"]
    difference = abs(recorded.ahead[0, : S - K] - 255 * looped[2][: S - K])
    assert difference.max() < 0.51
    for k in range(1, K + 1):
        last = S - k  # of the steps whose frame t+k there is
        assert abs(recorded.ahead[0, last, k - 1] - 255 * looped[2][last, k - 1]).max() < 0.51
        assert not recorded.ahead[0, last + 1 :, k - 1].any()


def test_same_key_same_recording_for_another_agent_on_the_same_world(shipped, recorded):
    again = record(shipped, [episode_key(0, 1)])
    np.testing.assert_array_equal(again.belief[0], recorded.belief[1])
    assert (again.objects[0, 0] == recorded.objects[1, 0]).all()


@pytest.mark.parametrize("name", ["icm", "pg", "ig"])
def test_every_kind_of_reward_fills_the_same_record(name, shipped, recorded):
    """Without predictions and with networks of its own, with a memory, of whole episodes. Traced, not compiled."""
    params, reward = shipped.params, make_reward(name)
    model = eqx.tree_at(lambda m: m.predictor, params.model, None) if reward.trains_belief else params.model
    own = jax.eval_shape(reward.init, jax.random.key(0), model)
    other = dataclasses.replace(shipped, params=Params(model, own, params.agent, params.probe), reward=reward)
    assert meta(other)["num_ahead"] == (0 if name == "icm" else 10)
    run = partial(episode_arrays, other.world, reward, other.joined, appearance_of(other))
    for field, array in jax.eval_shape(run, other.params, episode_key(0, 0)).items():
        expected = getattr(recorded, field)[0]
        assert array.dtype == expected.dtype
        assert array.shape == ((401, 0, 5, 5, 3) if (name, field) == ("icm", "ahead") else expected.shape)


def test_an_agent_that_learned_no_policy_walks_as_it_did_in_training(shipped):
    walker = dataclasses.replace(shipped, reward=make_reward("random"))
    run = jax.jit(lambda key: FAST.play(walker.world, walker.joined(walker.networks.agent), key, jnp.float32(1)))
    np.testing.assert_array_equal(record(walker, [episode_key(0, 0)]).a[0, :-1], run(episode_key(0, 0)).a_t)


def test_the_exact_belief_is_the_filters_along_the_episode(shipped, recorded):
    """-ln of it at the true cell is the oracle's own discovery loss, and it never rules the truth out."""
    episode = recorded.o[0], recorded.a[0, :-1].astype(int), recorded.objects[0].astype(int)
    filter_ = make_filter(shipped.world)
    floor = jax.jit(lambda o_t, a_t, objects: knowledge(filter_, a_t, o_t, objects).discovery_loss)(*episode)
    t, n = np.ogrid[:401, :2]
    p = recorded.exact[0][t, n, recorded.objects[0, ..., 0], recorded.objects[0, ..., 1]].astype(float)
    np.testing.assert_allclose(-np.log(p), floor, atol=2e-3)
    np.testing.assert_allclose(recorded.exact[0].astype(float).sum(axis=(-2, -1)), 1, atol=2e-3)
