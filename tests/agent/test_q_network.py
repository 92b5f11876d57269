"""The Q-network and its loss, against a float64 loop and by what may and may not move it."""

from __future__ import annotations

import equinox as eqx
import jax
import numpy as np
import pytest
from random_weights import random_weights
from random_windows import random_window
from reference.retrace import h, h_inverse, retrace
from small_frames import bits_shaped

from ndigo.agent import QNetwork, q_loss

T, B, A = 6, 2, 3
GAMMA, LAMBDA = 0.99, 0.97


def q_network(seed: int) -> QNetwork:
    sizes = {"num_actions": A, "num_features": 8, "num_filters": 16, "state_size": 4, "num_hidden": 8}
    network = random_weights(lambda key: QNetwork(key, frame=bits_shaped((3, 3, 2)), **sizes), seed)
    # Larger last layers: values that differ by more than rounding.
    return jax.tree.map(lambda x: 4 * np.asarray(x), network)


@pytest.fixture(scope="module")
def setting():
    rng = np.random.default_rng(3)
    window = jax.device_get(random_window(2, T=T, streams=(B,)))
    window = eqx.tree_at(lambda w: w.mu_t, window, rng.uniform(0.1, 1, (T, B)).astype(np.float32))
    return q_network(0), q_network(1), window, rng.normal(size=(T, B)).astype(np.float32)


@jax.jit
def loss_of(online, target, window, r_t, is_known):
    return q_loss(online, target, window, r_t, is_known, gamma=GAMMA, lambda_=LAMBDA)


@jax.jit
def unrolled(network, window):
    return network.unroll(window)


def test_dueling_heads_are_the_value_plus_what_is_better_than_average():
    h_t = np.random.default_rng(1).normal(size=(5, 4)).astype(np.float32)
    heads = jax.jit(lambda network, h_t: (network.heads(h_t), network.value(h_t), network.advantage(h_t)))
    q, value, advantage = map(np.asarray, heads(q_network(0), h_t))
    np.testing.assert_allclose(q.mean(axis=-1), value[:, 0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(q - q[:, :1], advantage - advantage[:, :1], rtol=1e-4, atol=1e-4)


def test_network_steps_one_frame_at_a_time_to_the_values_of_its_unroll(setting):
    network, _, window, _ = setting
    h, q_t = window.agent_state, np.asarray(unrolled(network, window))
    step = jax.jit(lambda *frame: network.step(*frame))
    for t in range(T + 1):
        h, q = step(window.o_t[t], window.a_tm1[t], h)
        np.testing.assert_allclose(q, q_t[t], rtol=1e-4, atol=1e-5)


def test_loss_equals_a_float64_loop_over_streams_and_steps(setting):
    online, target, window, r_t = setting
    q, target_q = np.asarray(unrolled(online, window)), np.asarray(unrolled(target, window))
    errors = []
    for b in range(B):
        raw = h_inverse(target_q[:, b])
        a = window.a_t[:, b]
        greedy = q[:, b].argmax(axis=-1)
        c_t = LAMBDA * np.minimum(1, (greedy[:-1] == a) / np.asarray(window.mu_t[:, b], np.float64))
        steps = np.arange(T)
        G = retrace(r_t[:, b], raw[np.arange(T + 1), greedy], raw[steps, a], c_t, GAMMA)
        errors.append(h(G) - q[steps, b, a])
    ours = loss_of(online, target, window, r_t, np.ones((T, B), bool))
    assert float(ours) == pytest.approx(0.5 * np.mean(np.square(errors)), rel=1e-4)


def test_step_of_unknown_reward_has_no_effect_on_the_gradient(setting):
    """Whatever stands there, the loss and its gradient are those of the other steps."""
    online, target, window, r_t = setting
    value_and_grad = jax.jit(jax.value_and_grad(loss_of))
    for unknown in ((0, 1), (3,), (1, T - 1)):
        is_known = np.broadcast_to(~np.isin(np.arange(T), unknown)[:, None], (T, B))
        one = value_and_grad(online, target, window, r_t, is_known)
        other = value_and_grad(online, target, window, np.where(is_known, r_t, np.float32(1e3)), is_known)
        jax.tree.map(np.testing.assert_array_equal, one, other)
        paid_zero = value_and_grad(
            online, target, window, np.where(is_known, r_t, np.float32(0)), np.ones((T, B), bool)
        )
        assert float(paid_zero[0]) != float(one[0]), "unknown is not 0"


def test_window_of_unknown_rewards_alone_has_no_loss(setting):
    online, target, window, r_t = setting
    assert loss_of(online, target, window, r_t, np.zeros((T, B), bool)) == 0


def test_only_the_online_network_learns_and_the_reward_is_a_number(setting):
    online, target, window, r_t = setting
    is_known = np.ones((T, B), bool)
    into_online, into_target, into_reward = jax.jit(jax.grad(loss_of, argnums=(0, 1, 3), allow_int=True))(
        online, target, window, r_t, is_known
    )
    assert any(np.any(x) for x in jax.tree.leaves(into_online))
    assert not any(np.any(x) for x in jax.tree.leaves(into_target))
    assert not np.any(into_reward)


def test_last_frame_bootstraps(setting):
    """The frame after the last action counts, because episodes are truncated and never terminate."""
    online, target, window, r_t = setting
    is_known = np.ones((T, B), bool)
    o_t = np.concatenate([window.o_t[:-1], 1 - window.o_t[-1:]])
    other = eqx.tree_at(lambda w: w.o_t, window, o_t)
    assert loss_of(online, target, window, r_t, is_known) != loss_of(online, target, other, r_t, is_known)


def test_values_start_from_the_stored_state(setting):
    online, _, window, _ = setting
    other = eqx.tree_at(lambda w: w.agent_state, window, window.agent_state + 1)
    assert (np.asarray(unrolled(online, window))[0] != np.asarray(unrolled(online, other))[0]).all()


def test_loss_of_a_greedy_policy_does_not_depend_on_how_its_actions_were_chosen(setting):
    """c = lambda min(1, [a is greedy] / mu) = lambda [a is greedy] for every mu <= 1."""
    online, target, window, r_t = setting
    is_known = np.ones((T, B), bool)
    certain = eqx.tree_at(lambda w: w.mu_t, window, np.ones_like(window.mu_t))
    rare = eqx.tree_at(lambda w: w.mu_t, window, np.full_like(window.mu_t, 1e-4))
    expected = loss_of(online, target, window, r_t, is_known)
    assert loss_of(online, target, certain, r_t, is_known) == expected
    assert loss_of(online, target, rare, r_t, is_known) == expected
    q_t = np.asarray(unrolled(online, window))
    is_greedy = q_t[:-1].argmax(axis=-1) == window.a_t
    assert 0 < is_greedy.sum() < is_greedy.size, "both kinds of step are there"
