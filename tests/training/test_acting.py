"""Episodes and their windows, in a world whose every frame tells its step, its episode and the last action."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from probe_worlds import clock, read_clock
from random_weights import random_weights

from ndigo.config import preset
from ndigo.rewards import IntrinsicReward, make_reward
from ndigo.training.acting import beliefs, cut_windows, play
from ndigo.training.learner import make_learner
from ndigo.training.trainer import make_trainer

S, T = 10, 4  # windows start at 0, 4 and 6
WORLD = clock(S)
CONFIG = preset(
    "cpu",
    num_ahead=2,
    belief_size=8,
    num_features=8,
    predictor_hidden=8,
    head_hidden=8,
    batch=64,
    window=T,
    actors=3,
    updates_per_round=1,
    rounds_per_chunk=2,
    replay_steps=200,
    evaluation_episodes=4,
)


unpack = jax.jit(WORLD.frame.unpack)
cut = jax.jit(cut_windows, static_argnums=2)


@pytest.fixture(scope="module")
def params():
    return random_weights(lambda key: make_learner(CONFIG, WORLD, make_reward("ndigo-1")).init(key).params)


@pytest.fixture(scope="module")
def episode(params):
    """One episode of an agent that explores half of the time, and its beliefs."""

    def run(key):
        episode = play(WORLD, params.agent, key, jnp.float32(0.5))
        return episode, beliefs(params.model.core, jax.tree.map(lambda x: x[None], episode), WORLD.frame)[0]

    return jax.device_get(jax.jit(run)(jax.random.key(1)))


def test_episode_has_a_frame_for_every_step_and_one_after_the_last(episode):
    e = episode[0]
    step, number, action = read_clock(unpack(e.o_t))
    np.testing.assert_array_equal(step, np.arange(S + 1))
    assert len(set(np.asarray(number).tolist())) == 1
    np.testing.assert_array_equal(action[1:], e.a_t)
    np.testing.assert_array_equal(e.a_tm1, [0, *e.a_t.tolist()])


def test_windows_hold_consecutive_frames_and_the_one_after_their_last_action(episode):
    windows = jax.device_get(cut(*episode, T))
    assert windows.start.tolist() == [0, 4, 6]
    for i, start in enumerate([0, 4, 6]):
        step, _, action = read_clock(unpack(windows.o_t[i]))
        np.testing.assert_array_equal(step, start + np.arange(T + 1))
        np.testing.assert_array_equal(action, windows.a_tm1[i])
        np.testing.assert_array_equal(windows.a_tm1[i][1:], windows.a_t[i])
    assert int(read_clock(unpack(windows.o_t[-1, -1]))[0]) == S, "the last frame is kept"


def test_what_belongs_to_a_step_goes_with_its_windows_and_rewards_cost_nothing_where_there_are_none(episode):
    e, b_t = episode
    r_tc = 100.0 * np.arange(S)[:, None] + np.arange(2)  # step and channel
    cells, mu_t = np.arange(S + 1)[:, None], np.arange(S, dtype=np.float32)
    told = dataclasses.replace(e, cells=cells, mu_t=mu_t)
    windows = jax.device_get(cut(told, b_t, T, r_tc.astype(np.float32)))
    step = windows.start[:, None] + np.arange(T)
    np.testing.assert_array_equal(windows.r_tc, 100.0 * step[..., None] + np.arange(2))
    np.testing.assert_array_equal(windows.mu_t, step)
    np.testing.assert_array_equal(windows.cells[..., 0], windows.start[:, None] + np.arange(T + 1))
    assert cut(*episode, T).r_tc is None


def test_stored_states_are_those_of_a_walk_from_the_start_of_the_episode(params, episode):
    """Frame by frame, from zero and with action 0 before o_0."""
    e = episode[0]
    windows = jax.device_get(cut(*episode, T))
    o_t = np.asarray(unpack(e.o_t))
    for core, stored in ((params.model.core, windows.belief), (params.agent.core, windows.agent_state)):
        step = jax.jit(lambda *frame, core=core: core.step(*frame))
        before = [np.zeros(core.size, np.float32)]  # the state before each frame
        for t in range(S):
            before.append(step(o_t[t], e.a_tm1[t], before[-1]))
        np.testing.assert_allclose(stored, [before[0], before[4], before[6]], atol=1e-5)


def test_belief_of_a_window_goes_on_where_the_one_before_ended(params, episode):
    """Looked at from its stored state, a later window gives the beliefs of the whole episode."""
    windows = jax.device_get(cut(*episode, T))

    @jax.jit
    def look(core, window):
        return core.unroll(core.encoder(WORLD.frame.unpack(window.o_t)), window.a_tm1, window.belief)

    alone = [jax.tree.map(lambda x, i=i: x[i], windows) for i in range(3)]
    looked = [np.asarray(look(params.model.core, window)) for window in alone]
    np.testing.assert_allclose(looked[0][-1], looked[1][0], atol=1e-5)  # both are b_4
    np.testing.assert_allclose(looked[1][2:], looked[2][:3], atol=1e-5)  # b_6 .. b_8


def test_probability_of_an_action_is_that_of_epsilon_greedy(params):
    """Over many episodes: mu of the greedy action is 1 - e + e/A, of another e/A, and they occur as often."""
    epsilon = 0.6
    run = jax.jit(jax.vmap(lambda key: play(WORLD, params.agent, key, jnp.float32(epsilon))))
    mu_t = np.asarray(run(jax.random.split(jax.random.key(2), 200)).mu_t).ravel()
    greedy, other = 1 - epsilon + epsilon / 3, epsilon / 3
    assert set(np.round(mu_t, 4)) == {np.float32(round(greedy, 4)), np.float32(round(other, 4))}
    # 2000 draws: a standard error of 0.011.
    assert (mu_t > 0.5).mean() == pytest.approx(greedy, abs=0.045)


def test_epsilon_of_one_acts_uniformly_and_of_zero_always_greedily(params):
    run = jax.jit(jax.vmap(lambda key, epsilon: play(WORLD, params.agent, key, epsilon), in_axes=(0, None)))
    keys = jax.random.split(jax.random.key(3), 200)
    uniform, greedy = run(keys, jnp.float32(1.0)), run(keys, jnp.float32(0.0))
    np.testing.assert_allclose(uniform.mu_t, 1 / 3, rtol=1e-5)
    np.testing.assert_allclose(np.bincount(np.asarray(uniform.a_t).ravel()) / 2000, 1 / 3, atol=0.045)
    np.testing.assert_array_equal(greedy.mu_t, 1)


def test_a_repeated_action_has_probability_one_and_is_the_one_before_it(params):
    epsilon = 0.6
    run = jax.jit(jax.vmap(lambda key: play(WORLD, params.agent, key, jnp.float32(epsilon), longest_stretch=4)))
    episodes = run(jax.random.split(jax.random.key(2), 200))
    mu_t, a_t = np.asarray(episodes.mu_t), np.asarray(episodes.a_t)
    greedy, other = 1 - epsilon + epsilon / 3, epsilon / 3
    assert set(np.round(mu_t, 4).ravel()) == {np.float32(round(x, 4)) for x in (greedy, other, 1.0)}
    is_repeat = mu_t == 1
    assert not is_repeat[:, 0].any()
    assert (a_t[:, 1:] == a_t[:, :-1])[is_repeat[:, 1:]].all()
    # Where there was a choice it is epsilon-greedy's.
    assert (mu_t[~is_repeat] > 0.5).mean() == pytest.approx(greedy, abs=0.05)


@pytest.mark.parametrize("reward", ["random", "ndigo-1"])
def test_actors_explore_by_the_settings_and_random_is_the_uniform_walker(params, reward):
    """From the probability of every action that a round stores: 3 actors x 3 windows."""
    config = dataclasses.replace(CONFIG, first_epsilon=1.0, last_epsilon=0.01, longest_stretch=4)
    explore = jax.jit(make_trainer(config, WORLD, make_reward(reward)).collector.explore)
    rounds = [explore(jax.random.key(i), params, None)[0] for i in range(8)]
    mu_t = np.concatenate([np.asarray(windows.mu_t).reshape(3, -1) for windows in rounds], axis=1)
    if reward == "random":
        np.testing.assert_allclose(mu_t, 1 / 3, rtol=1e-5)
        walks = np.concatenate([np.asarray(windows.a_t).reshape(3, -1) for windows in rounds])
        assert len(np.unique(walks, axis=0)) == len(walks), "each actor draws for itself"
        return
    for actor, epsilon in zip(mu_t, (1.0, 0.1, 0.01), strict=True):
        chances = np.array([1 - epsilon + epsilon / 3, epsilon / 3, 1.0])
        assert np.abs(actor[:, None] - chances).min(axis=1).max() < 1e-5
    assert (mu_t[0] == 1).any(), "stretches longer than a step"


@pytest.mark.parametrize("needs_float32", [False, True])
def test_pay_for_a_whole_episode_is_by_a_float32_model_where_the_reward_needs_it(needs_float32, params):
    seen_by = []

    def on_episode(world):
        def pay(model, a_t, o_t):
            seen_by.append(str(model.core.gru.weight.dtype))
            return jnp.zeros((S, 1))

        return pay

    reward = IntrinsicReward("own", on_episode=on_episode, needs_float32=needs_float32)
    trainer = make_trainer(dataclasses.replace(CONFIG, precision="bfloat16"), WORLD, reward)
    jax.eval_shape(trainer.collector.explore, jax.random.key(0), params, None)
    assert seen_by == ["float32" if needs_float32 else "bfloat16"]


def test_nothing_drawn_from_the_replay_crosses_an_episode():
    """After the ring has wrapped: one episode a window, consecutive steps, actions that the frames confirm."""
    trainer = make_trainer(CONFIG, WORLD, make_reward("ndigo-1"))
    state = trainer.init(jax.random.key(0))
    for _ in range(5):  # 5 chunks x 2 rounds x 3 actors x 3 windows: 90 rows into a ring of 45
        state, _ = trainer.run_rounds(state, CONFIG.rounds_per_chunk)
    rows = jax.tree.map(lambda x: np.asarray(x)[0], state.rows)
    assert int(rows.num_added) == 90 > len(rows.windows.start)
    window = jax.device_get(jax.jit(trainer.replay.sample, static_argnums=2)(jax.random.key(5), rows, CONFIG.batch))
    step, number, action = read_clock(window.o_t)
    np.testing.assert_array_equal(step, window.start + np.arange(T + 1)[:, None])
    assert (number == number[:1]).all()
    np.testing.assert_array_equal(action[1:], window.a_t)
    assert set(window.start.tolist()) == {0, 4, 6}
    np.testing.assert_array_equal(window.belief[window.start == 0], 0)


def test_a_round_learns_from_its_samples_one_after_the_other():
    config = dataclasses.replace(CONFIG, updates_per_round=3)
    trainer = make_trainer(config, WORLD, make_reward("ndigo-1"))
    before = trainer.init(jax.random.key(0))
    learner_state, key = jax.tree.map(lambda x: np.asarray(x)[0], before.learner), before.key[0]
    after, _ = trainer.run_rounds(before, 1)
    rows = jax.tree.map(lambda x: np.asarray(x)[0], after.rows)
    sample, update = jax.jit(trainer.replay.sample, static_argnums=2), jax.jit(trainer.learner.update)
    for key_both in jax.random.split(jax.random.split(key, 3)[2], 3):
        key_sample, key_update = jax.random.split(key_both)
        learner_state, _ = update(key_update, learner_state, sample(key_sample, rows, CONFIG.batch))
    for ours, theirs in zip(*map(jax.tree.leaves, (after.learner.params, learner_state.params)), strict=True):
        np.testing.assert_allclose(np.asarray(ours)[0], theirs, atol=1e-6)
