"""Retrace against its definition in float64, at its tabular fixed point, and h against float64."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference.retrace import h, h_inverse, retrace

from ndigo.agent.retrace import rescale, retrace_targets, unscale

GAMMA, LAMBDA = 0.8, 0.97


def random_returns(T: int, *streams: int):
    rng = np.random.default_rng(T)
    return {
        "r_t": rng.normal(size=(T, *streams)),
        "v_t": rng.normal(size=(T + 1, *streams)),
        "q_t": rng.normal(size=(T, *streams)),
        "c_t": rng.random((T, *streams)),
    }


compiled_targets = jax.jit(retrace_targets)


def targets(r_t, v_t, q_t, c_t, gamma):
    """The recursion's arguments are those of the next step; beyond the last one nothing is known."""
    after = np.zeros_like(q_t[:1])
    return np.asarray(
        compiled_targets(
            r_t=jnp.asarray(r_t),
            v_tp1=jnp.asarray(v_t[1:]),
            q_tp1=jnp.asarray(np.concatenate([q_t[1:], after])),
            c_tp1=jnp.asarray(np.concatenate([c_t[1:], after])),
            gamma=gamma,
        )
    )


@pytest.mark.parametrize("T", [1, 2, 7, 40])
def test_targets_equal_the_double_sum_of_the_definition(T):
    x = random_returns(T, 3)
    np.testing.assert_allclose(targets(**x, gamma=0.99), retrace(**x, gamma=0.99), rtol=1e-4, atol=1e-4)


def test_without_traces_the_target_is_one_step():
    x = random_returns(6)
    x["c_t"] = np.zeros(6)
    np.testing.assert_allclose(targets(**x, gamma=0.9), x["r_t"] + 0.9 * x["v_t"][1:], rtol=1e-5)


def test_with_full_traces_and_no_values_the_target_is_the_discounted_sum_of_rewards():
    x = random_returns(6)
    x |= {"c_t": np.ones(6), "v_t": np.zeros(7), "q_t": np.zeros(6)}
    expected = [sum(0.9 ** (s - t) * x["r_t"][s] for s in range(t, 6)) for t in range(6)]
    np.testing.assert_allclose(targets(**x, gamma=0.9), expected, rtol=1e-5)


def test_value_after_the_window_enters_every_return_through_the_trace():
    """The bootstrap from the frame after the last step, discounted and cut by each c on the way."""
    x = random_returns(4)
    x |= {"c_t": np.full(4, 0.5), "r_t": np.zeros(4), "q_t": np.zeros(4), "v_t": np.array([0, 0, 0, 0, 1.0])}
    np.testing.assert_allclose(targets(**x, gamma=0.9), [0.9**4 / 8, 0.9**3 / 4, 0.9**2 / 2, 0.9], rtol=1e-5)


class Chance:
    """A random process of 3 states and 2 actions, and every path of 3 steps with its probability."""

    S, A, T = 3, 2, 3

    def __init__(self):
        rng = np.random.default_rng(0)
        self.P = rng.dirichlet(np.ones(self.S), size=(self.S, self.A))  # [s, a, s']
        self.r = rng.normal(size=(self.S, self.A))
        self.mu = rng.dirichlet(np.ones(self.A), size=self.S)
        paths = list(itertools.product(*[range(self.S), range(self.A)] * self.T, range(self.S)))
        steps = np.array(paths).T
        self.s, self.a = steps[0::2], steps[1::2]  # [T+1, paths], [T, paths]
        p = np.ones(len(paths))
        for t in range(self.T):
            p *= self.P[self.s[t], self.a[t], self.s[t + 1]] * (1 if t == 0 else self.mu[self.s[t], self.a[t]])
        self.p = p  # given the first state and action

    def apply(self, Q: np.ndarray, pi: np.ndarray) -> np.ndarray:
        """The Retrace operator: the expected target of each state and action."""
        q_t, v_t = Q[self.s[:-1], self.a], (pi * Q).sum(axis=-1)[self.s]
        c_t = LAMBDA * np.minimum(1, (pi / self.mu)[self.s[:-1], self.a])
        G_0 = targets(self.r[self.s[:-1], self.a], v_t, q_t, c_t, GAMMA)[0].astype(np.float64)
        after = np.zeros((self.S, self.A))
        np.add.at(after, (self.s[0], self.a[0]), self.p * G_0)
        return after


def test_evaluating_a_policy_from_another_ones_data_converges_to_its_values():
    chance = Chance()
    pi = np.random.default_rng(1).dirichlet(np.ones(chance.A), size=chance.S)
    Q = np.zeros((chance.S, chance.A))
    for _ in range(60):
        Q = chance.apply(Q, pi)
    # Q = r + gamma P pi Q, solved as a linear system.
    step = np.einsum("ijs,sk->ijsk", chance.P, pi).reshape(6, 6)
    exact = np.linalg.solve(np.eye(6) - GAMMA * step, chance.r.ravel())
    np.testing.assert_allclose(Q.ravel(), exact, atol=2e-5)


def test_greedy_control_converges_to_the_optimal_values():
    chance = Chance()
    Q, best = np.zeros((chance.S, chance.A)), np.zeros((chance.S, chance.A))
    for _ in range(80):
        Q = chance.apply(Q, np.eye(chance.A)[Q.argmax(axis=-1)])
    for _ in range(500):
        best = chance.r + GAMMA * chance.P @ best.max(axis=-1)
    np.testing.assert_allclose(Q, best, atol=2e-5)


MAGNITUDES = np.concatenate([np.logspace(-6, 4, 200), -np.logspace(-6, 4, 200)])


def test_rescaling_equals_float64_from_1e_minus_6_to_1e4():
    x = MAGNITUDES.astype(np.float32)
    np.testing.assert_allclose(jax.jit(rescale)(jnp.asarray(x)), h(x), rtol=1e-6)


def test_inverse_rescaling_equals_float64_from_1e_minus_6_to_1e4():
    y = h(MAGNITUDES).astype(np.float32)
    np.testing.assert_allclose(jax.jit(unscale)(jnp.asarray(y)), h_inverse(y), rtol=1e-6)


def test_round_trip_loses_less_than_1e_minus_6():
    x = jnp.asarray(MAGNITUDES, jnp.float32)
    np.testing.assert_allclose(jax.jit(lambda x: unscale(rescale(x)))(x), x, rtol=1e-6)


def test_rescaling_of_zero_is_zero_with_a_finite_slope():
    assert rescale(jnp.float32(0)) == unscale(jnp.float32(0)) == 0
    assert jax.grad(rescale)(jnp.float32(0)) == pytest.approx(0.501)
