"""One joint update: which loss may move which parameters, and by how much."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from random_weights import random_weights
from random_windows import random_window

from ndigo import frames
from ndigo.agent import q_loss
from ndigo.config import Config, preset
from ndigo.frames import join
from ndigo.model import prediction_loss
from ndigo.model.probe import discovery_loss
from ndigo.rewards import REWARDS, make_reward, table
from ndigo.training.learner import Learner, LearnerState, make_learner, num_offsets, strided
from ndigo.types import Truth, ahead
from ndigo.worlds import Channel, World

T, CELLS = 6, (2, 3)
CONFIG = preset(
    "cpu",
    num_ahead=2,
    belief_size=4,
    num_features=8,
    predictor_hidden=8,
    head_hidden=8,
    probe_hidden=8,
    batch=4,
    window=T,
    probe_stride=2,
    target_period=3,
    model_rate=1e-3,
    agent_rate=2e-4,
    probe_rate=5e-3,
)
AVERAGED = dataclasses.replace(CONFIG, policy_mean=5)


def tiny_world(has_truth: bool = True) -> World:
    """Its shapes are those of `random_window`; it is never stepped."""
    place = Truth(
        agent=jnp.zeros(2, jnp.int32),
        objects=jnp.zeros((1, 2), jnp.int32),
    )
    return World(
        name="tiny",
        frame=frames.bits(["walls", Channel("thing", "one_hot")], 3),
        actions=("a", "b", "c"),
        num_steps=T,
        reset=lambda key: jnp.int32(0),
        step=lambda key, state, a_t: state,
        observe=lambda state: jnp.zeros((3, 3, 2), jnp.uint8),
        truth=(lambda state: place) if has_truth else None,
        objects=("thing",) if has_truth else (),
        map_shape=CELLS if has_truth else None,
    )


def batch(seed: int = 0, start: int = 0):
    return random_window(seed, T=T, streams=(4,), start=start)


@cache
def learner_of(reward: str, config: Config = CONFIG) -> Learner:
    """Compiled once for all tests."""
    learner = make_learner(config, tiny_world(), make_reward(reward))
    return Learner(init=jax.jit(learner.init), loss=learner.loss, update=jax.jit(learner.update))


def run(reward: str, windows, config: Config = CONFIG):
    """The states after each window, the first included."""
    learner = learner_of(reward, config)
    states = [learner.init(jax.random.key(0))]
    for i, window in enumerate(windows):
        states.append(learner.update(jax.random.fold_in(jax.random.key(1), i), states[-1], window)[0])
    return states


@cache
def gradient_of(reward: str) -> Any:
    """grad(params, target, memory, window, offset) of all losses together, compiled once for all tests."""
    loss = learner_of(reward).loss
    return jax.jit(jax.grad(lambda params, *arguments: loss(params, *arguments)[0]))


def is_equal(a, b) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))


@pytest.mark.parametrize("name", ["pe", "icm", "pg"])
def test_scrambled_truth_leaves_training_bit_identical(name):
    """Only the probe differs after several updates on windows whose true cells are others."""
    windows = [batch(i, start=6 * (i % 2)) for i in range(4)]
    scrambled = [eqx.tree_at(lambda w: w.cells, w, 5 - w.cells) for w in windows]
    one, other = run(name, windows)[-1], run(name, scrambled)[-1]
    for part in ("model", "reward", "agent"):
        assert is_equal(getattr(one.params, part), getattr(other.params, part)), part
    assert is_equal((one.target, one.memory), (other.target, other.memory))
    assert not is_equal(one.params.probe, other.params.probe)


def test_model_learns_the_same_whichever_reward_reads_it():
    windows = [batch(i) for i in range(3)]
    models = [run(name, windows)[-1].params.model for name in ("random", "pe", "ndigo-1")]
    for model in models[1:]:
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), models[0], model)


def test_gradient_of_each_part_is_that_of_its_own_loss():
    """One gradient of the sum of all losses, against one gradient for each."""
    reward, learner = make_reward("pe"), learner_of("pe")
    state, window = learner.init(jax.random.key(0)), batch()
    model, q, probe = state.params.model, state.params.agent, state.params.probe
    assert probe is not None

    @jax.jit
    def separate():
        seen = model.look(window)
        paid = reward.pay(None, None, model, seen)
        picked = jnp.arange(0, T, CONFIG.probe_stride)

        def agent_loss(q):
            rates = {"gamma": CONFIG.gamma, "lambda_": CONFIG.lambda_}
            return q_loss(q, state.target, window, paid.r_t, paid.is_known, **rates)

        def probe_loss(probe):
            return discovery_loss(probe, seen.b_t[picked], window.cells[picked]).sum(axis=-1).mean()

        return (
            jax.grad(lambda model: prediction_loss(model.look(window).loss_tk))(model),
            jax.grad(agent_loss)(q),
            jax.grad(probe_loss)(probe),
        )

    arguments = (state.target, state.memory, window, jnp.int32(0))
    together = gradient_of("pe")(state.params, *arguments)
    for ours, alone in zip((together.model, together.agent, together.probe), separate(), strict=True):
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6), ours, alone)
        assert any(np.any(x) for x in jax.tree.leaves(ours))


@pytest.mark.parametrize("name", ["pe", "icm"])  # without and with networks of the reward's own
def test_the_gradients_norms_are_those_of_the_parts(name):
    learner = learner_of(name)
    state, window = learner.init(jax.random.key(0)), batch()
    offsets = num_offsets(CONFIG.probe_stride, T + 1)
    key = next(key for key in map(jax.random.key, range(99)) if jax.random.randint(key, (), 0, offsets) == 0)
    numbers = learner.update(key, state, window)[1]
    arguments = (state.target, state.memory, window, jnp.int32(0))
    gradient = gradient_of(name)(state.params, *arguments)
    for part in ("model", "reward", "agent", "probe"):
        leaves = [np.asarray(x, np.float64) for x in jax.tree.leaves(getattr(gradient, part))]
        expected = np.sqrt(sum(np.square(x).sum() for x in leaves))
        assert getattr(numbers, f"{part}_gradient") == pytest.approx(expected, rel=1e-4), part


def test_each_part_steps_at_its_own_rate():
    """Adam's first step moves a parameter by the rate, whatever its gradient."""
    before, after = run("pe", [batch()])
    rates = {"model": CONFIG.model_rate, "agent": CONFIG.agent_rate, "probe": CONFIG.probe_rate}
    for part, rate in rates.items():
        assert moved(before, after, part) == pytest.approx(rate, rel=0.01), part


def test_later_steps_are_adams_by_the_means_of_all_gradients_so_far():
    """In float64, with Adam's own constants: what the first step cannot tell."""
    windows = [batch(i) for i in range(3)]
    states, m, v = run("pe", windows), 0.0, 0.0
    for step, window in enumerate(windows, 1):
        before, after = states[step - 1 : step + 1]
        gradient = gradient_of("pe")(before.params, before.target, before.memory, window, jnp.int32(0)).model
        g, old, new = (
            np.concatenate([np.ravel(x) for x in jax.tree.leaves(tree)]).astype(np.float64)
            for tree in (gradient, before.params.model, after.params.model)
        )
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        expected = CONFIG.model_rate * m / (1 - 0.9**step) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
        np.testing.assert_allclose(old - new, expected, atol=2e-3 * CONFIG.model_rate)


def moved(before: LearnerState, after: LearnerState, part: str) -> float:
    """How far the part's parameter went that went farthest."""
    old, new = getattr(before.params, part), getattr(after.params, part)
    return max(float(np.abs(np.asarray(a) - b).max()) for a, b in zip(*map(jax.tree.leaves, (old, new)), strict=True))


def at_step(state: LearnerState, step: int) -> LearnerState:
    """As if so many updates had gone before: every counter but Adam's own."""
    adam, rates = state.optimiser
    rates = jax.tree.map(lambda count: np.full_like(count, step), rates)
    return eqx.tree_at(lambda s: (s.step, s.optimiser), state, (np.int32(step), (adam, rates)))


@pytest.mark.parametrize(("step", "share"), [(0, 1), (50, 0.6), (100, 0.2), (300, 0.2)])
@pytest.mark.parametrize("last_model_rate", [None, 1.0])
def test_the_rates_fall_in_a_line_to_their_last_share(step, share, last_model_rate):
    config = dataclasses.replace(CONFIG, last_rate=0.2, last_model_rate=last_model_rate, learner_steps=100)
    before = at_step(learner_of("pe").init(jax.random.key(0)), step)
    after, _ = learner_of("pe", config).update(jax.random.key(1), before, batch())
    rates = {"agent": share * config.agent_rate, "probe": share * config.probe_rate, "model": config.model_rate}
    if last_model_rate is None:
        rates["model"] *= share
    for part, rate in rates.items():
        assert moved(before, after, part) == pytest.approx(rate, rel=0.01), part


def test_target_network_is_copied_every_period_and_is_still_between():
    states = run("pe", [batch(i) for i in range(7)])
    for step, state in enumerate(states):
        copied = states[step - step % CONFIG.target_period]
        assert is_equal(state.target, copied.params.agent), f"after {step} updates"


def slow_mean(weights: list[np.ndarray], n: int) -> np.ndarray:
    """After the updates that left these weights: in float64, the mean of the first n, then w += (new - w) / n."""
    mean = np.mean([w.astype(np.float64) for w in weights[:n]], axis=0)
    for new in weights[n:]:
        mean += (new.astype(np.float64) - mean) / n
    return mean


def test_the_policy_is_the_mean_of_the_agents_weights_and_then_forgets():
    """Four updates of a uniform mean over n = 5 at most, and seven more than n."""
    states = run("pe", [batch(i) for i in range(12)], AVERAGED)
    assert is_equal(states[0].policy, states[0].params.agent)
    assert is_equal(states[1].policy, states[1].params.agent)  # the first weights, which no update made, have no part
    newest = [[np.asarray(x) for x in jax.tree.leaves(state.params.agent)] for state in states[1:]]
    for step in (2, 4, 5, 6, 12):
        for i, mean in enumerate(jax.tree.leaves(states[step].policy)):
            expected = slow_mean([leaves[i] for leaves in newest[:step]], AVERAGED.policy_mean)
            np.testing.assert_allclose(mean, expected, rtol=1e-5, atol=1e-7, err_msg=f"after {step} updates")
    assert not is_equal(states[12].policy, states[12].params.agent)


def test_training_is_bit_identical_whether_or_not_the_policy_is_a_mean():
    windows = [batch(i) for i in range(6)]
    one, other = run("pe", windows, dataclasses.replace(CONFIG, policy_mean=1)), run("pe", windows, AVERAGED)
    for newest, averaged in zip(one, other, strict=True):
        assert newest.policy is None
        assert is_equal(newest, dataclasses.replace(averaged, policy=None))


def test_what_is_learned_has_the_mean_for_its_agent_and_the_newest_of_the_rest():
    state = run("pe", [batch(i) for i in range(3)], AVERAGED)[-1]
    assert state.learned.agent is state.policy
    assert is_equal(dataclasses.replace(state.learned, agent=state.params.agent), state.params)
    alone = run("pe", [batch()], dataclasses.replace(CONFIG, policy_mean=1))[-1]
    assert alone.learned is alone.params


def test_prediction_gain_keeps_the_model_that_paid():
    """The copy after updates 0 .. 5: the models of updates 0, 0, 1, 1, 3, 3."""
    states = run("pg", [batch(i) for i in range(5)])
    for step, kept in enumerate([0, 0, 1, 1, 3, 3]):
        assert is_equal(states[step].memory, states[kept].params.model), f"after {step} updates"


def test_prediction_gain_is_paid_in_float32_where_the_rest_is_bfloat16():
    learner = make_learner(dataclasses.replace(CONFIG, precision="bfloat16"), tiny_world(), make_reward("pg"))
    update, window = jax.jit(learner.update), batch(9)
    state = jax.jit(learner.init)(jax.random.key(0))
    for i in range(2):
        state, _ = update(jax.random.key(i), state, batch(i))
    losses = jax.jit(lambda model: ahead(table(model.look(window)), 1))
    _, numbers = update(jax.random.key(2), state, window)
    expected = np.mean(np.sum(losses(state.memory) - losses(state.params.model), axis=-1))
    assert abs(float(expected)) > 1e-6
    assert float(numbers.reward) == pytest.approx(float(expected), rel=0.01)


def test_random_trains_the_model_and_the_probe_but_no_policy():
    before, after = run("random", [batch()])
    assert is_equal(before.params.agent, after.params.agent)
    assert not is_equal(before.params.model, after.params.model)
    assert not is_equal(before.params.probe, after.params.probe)


def test_world_without_truth_is_learned_without_a_probe():
    learner = make_learner(CONFIG, tiny_world(has_truth=False), make_reward("ndigo-1"))
    window = random_window(0, T=T, streams=(4,), num_objects=0)
    state = jax.jit(learner.init)(jax.random.key(0))
    after, numbers = jax.jit(learner.update)(jax.random.key(1), state, window)
    assert state.params.probe is None
    assert after.params.probe is None
    assert numbers.discovery_loss.shape == (0,)
    assert not is_equal(state.params.model, after.params.model)


@pytest.mark.parametrize("name", REWARDS)
def test_every_reward_makes_finite_numbers_whose_channels_add_up(name):
    reward = make_reward(name)
    learner = make_learner(dataclasses.replace(CONFIG, likelihood="bernoulli"), tiny_world(), reward)
    window = batch(start=100)
    state = random_weights(lambda key: dataclasses.replace(learner.init(key), optimiser=None))
    total, (numbers, _) = jax.jit(learner.loss)(state.params, state.target, state.memory, window, jnp.int32(1))
    assert np.isfinite(total)
    assert all(np.isfinite(x).all() for x in jax.tree.leaves(numbers))
    if name != "icm":
        assert float(numbers["reward_c"].sum()) == pytest.approx(float(numbers["reward"]), abs=1e-4)


def test_reported_reward_is_the_mean_over_known_steps():
    """A window that does not start its episode leaves out its first H = 2 steps."""
    learner, reward = make_learner(CONFIG, tiny_world(), make_reward("ndigo-2")), make_reward("ndigo-2")

    @jax.jit
    def paid_and_reported(key, window):
        state = learner.init(key)
        _, (numbers, _) = learner.loss(state.params, state.target, state.memory, window, jnp.int32(0))
        return reward.pay(None, None, None, state.params.model.look(window)).r_t, numbers["reward"]

    r_t, reported = paid_and_reported(jax.random.key(0), batch(start=100))
    assert float(reported) == pytest.approx(np.asarray(r_t)[2:].mean(), abs=1e-5)


def test_the_agent_earns_both_rewards_by_their_weights_and_numbers_are_means_over_steps():
    """In streams of which two episodes end: the slot between two of them is no step."""
    learner = make_learner(
        dataclasses.replace(CONFIG, curiosity_weight=0.5, task_weight=2.0), tiny_world(), make_reward("pe")
    )
    state = random_weights(lambda key: dataclasses.replace(learner.init(key), optimiser=None))
    rng = np.random.default_rng(0)
    is_first = np.zeros((T + 1, 4), bool)
    is_first[[3, 5], [0, 2]] = True
    window = dataclasses.replace(
        batch(), is_first=is_first, discount_t=1.0 - is_first[1:], task_t=rng.normal(size=(T, 4)).astype(np.float32)
    )

    @jax.jit
    def reported_and_by_hand(state, window):
        _, (numbers, _) = learner.loss(state.params, state.target, state.memory, window, jnp.int32(0))
        loss_tc = ahead(table(state.params.model.look(window)), 1)
        earned, rates = (
            0.5 * loss_tc.sum(axis=-1) + 2 * window.task_t,
            {"gamma": CONFIG.gamma, "lambda_": CONFIG.lambda_},
        )
        return numbers, loss_tc, q_loss(state.params.agent, state.target, window, earned, ~window.is_first[1:], **rates)

    numbers, loss_tc, agent_loss = jax.device_get(reported_and_by_hand(state, window))
    is_step = ~is_first[1:]
    assert float(numbers["agent_loss"]) == pytest.approx(float(agent_loss), rel=1e-5)
    assert float(numbers["task_reward"]) == pytest.approx(np.asarray(window.task_t)[is_step].mean(), rel=1e-4)
    assert float(numbers["reward"]) == pytest.approx(loss_tc.sum(axis=-1)[is_step].mean(), rel=1e-5)
    np.testing.assert_allclose(numbers["model_loss_c"], loss_tc[is_step].mean(axis=0), rtol=1e-5)


@pytest.mark.parametrize("stride", [1, 2, 3, 4, 7])
def test_probe_learns_from_every_nth_frame_inside_the_window(stride):
    x_t = jnp.arange(T + 1)
    seen = set()
    for offset in range(num_offsets(stride, len(x_t))):
        picked = strided(stride, jnp.int32(offset), x_t)
        np.testing.assert_array_equal(picked, offset + stride * np.arange(max(len(x_t) // stride, 1)))
        seen |= set(np.asarray(picked).tolist())
    assert seen == set(range(len(x_t)))  # every frame gets its turn


def test_the_probe_is_shown_every_frame_of_a_window_whose_frames_are_dictionaries():
    """By the losses it reports: as many as first frames to begin from, and not as many as a frame has parts."""
    world = tiny_world()
    joined = dataclasses.replace(world, frame=join(ahead=world.frame, behind=world.frame), observe=lambda state: {})
    learner = make_learner(CONFIG, joined, make_reward("random"))
    state, window = jax.jit(learner.init)(jax.random.key(0)), batch()
    window = eqx.tree_at(lambda w: w.o_t, window, {"ahead": window.o_t, "behind": window.o_t})
    keys = jax.random.split(jax.random.key(1), 32)
    losses = jax.jit(jax.vmap(lambda key: learner.update(key, state, window)[1].discovery_loss))(keys)
    assert len(np.unique(np.asarray(losses))) == num_offsets(CONFIG.probe_stride, T + 1) == 3
