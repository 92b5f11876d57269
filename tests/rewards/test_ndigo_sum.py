"""NDIGO-sum against its definition, pair by pair, on tables whose entries encode their index."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array
from random_windows import random_window
from rewards.test_ndigo_reward import index_table

from ndigo.errors import NdigoError
from ndigo.rewards import make_ndigo_sum, make_reward
from ndigo.types import Seen


@partial(jax.jit, static_argnums=1)
def sum_of(loss_tk: Array, K: int) -> Array:
    """What a whole episode is paid, by its losses [T, K, ...] of one channel."""
    window, none = random_window(0, T=len(loss_tk), streams=loss_tk.shape[2:]), jnp.zeros(0)
    return make_ndigo_sum(K).pay(None, None, None, Seen(window, none, none, loss_tk[..., None])).r_t


def summed(loss_tk: np.ndarray, K: int) -> np.ndarray:
    """Slowly: each frame t >= 1 pays, for every later frame s at most K-1 steps on, when that frame has come."""
    T = len(loss_tk)
    r_t = np.zeros(T)
    for t in range(1, T):
        for s in range(t + 1, min(t + K - 1, T) + 1):
            before, after = loss_tk[t - 1, s - t], loss_tk[t, s - t - 1]  # L[s | t-1], L[s | t]
            r_t[s - 1] += before - after
    return r_t


@pytest.mark.parametrize("K", [2, 3, 5, 10])
@pytest.mark.parametrize("T", [1, 2, 5, 10, 11, 25])
def test_step_earns_the_sum_over_the_frames_before_it_of_what_each_revealed(K, T):
    loss_tk = index_table(T, 12)
    np.testing.assert_allclose(sum_of(jnp.asarray(loss_tk), K), summed(loss_tk, K), rtol=1e-6)


@pytest.mark.parametrize("start", [0, 1, 4, 5, 12])
def test_windows_know_what_the_whole_episode_pays_or_say_that_they_do_not(start):
    S, T, K = 30, 12, 5
    whole = index_table(S, K)
    expected = summed(whole, K)[start : start + T]
    loss_tk = np.where(np.arange(T)[:, None] + np.arange(1, K + 1) <= T, whole[start : start + T], 0)
    window = random_window(0, T=T, start=start)
    none = jnp.asarray(np.zeros(0, np.float32))
    seen = Seen(window=window, z_t=none, b_t=none, loss_tk=jnp.asarray(loss_tk[..., None]))
    paid = jax.device_get(jax.jit(partial(make_ndigo_sum(K).pay, None, None, None))(seen))
    np.testing.assert_array_equal(paid.is_known, np.arange(T) >= (K - 1 if start else 0))
    np.testing.assert_allclose(paid.r_t[paid.is_known], expected[paid.is_known], rtol=1e-6)


def test_bias_of_the_sum_is_the_error_furthest_ahead_less_the_error_nearest():
    """A Markov chain seen in full, float64: E[r] = information + e_K - e_1, where one NDIGO-H has e_{H+1} - e_H."""
    rng = np.random.default_rng(0)
    K, n = 4, 3
    P = rng.dirichlet(np.ones(n), size=n)  # the true chain
    model = [rng.dirichlet(np.ones(n), size=n) for _ in range(K)]  # the model's guess k+1 steps ahead, from each state
    true = [np.linalg.matrix_power(P, k + 1) for k in range(K)]
    o_0 = rng.dirichlet(np.ones(n))
    states = np.stack([o_0 @ np.linalg.matrix_power(P, t) for t in range(K + 1)])
    paths = np.stack(np.meshgrid(*[range(n)] * (K + 1), indexing="ij"), axis=-1).reshape(-1, K + 1)
    chance = o_0[paths[:, 0]] * np.prod([P[paths[:, t], paths[:, t + 1]] for t in range(K)], axis=0)

    def rewards(tables):
        loss_tk = np.zeros((K, K, len(paths)))
        for t in range(K):
            for k in range(1, K - t + 1):
                loss_tk[t, k - 1] = -np.log(tables[k - 1][paths[:, t], paths[:, t + k]])
        return np.asarray(sum_of(jnp.asarray(loss_tk, jnp.float32), K))[-1] @ chance

    def error(k):
        """E KL(true || model), k steps before the last frame."""
        gap = (true[k - 1] * np.log(true[k - 1] / model[k - 1])).sum(axis=-1)
        return states[K - k] @ gap

    assert rewards(model) - rewards(true) == pytest.approx(error(K) - error(1), abs=1e-5)
    assert -error(1) <= rewards(model) - rewards(true) <= error(K)


def test_its_table_looks_ten_ahead_and_at_least_two():
    assert make_reward("ndigo-sum").num_ahead == 10
    with pytest.raises(NdigoError, match="at least 2"):
        make_ndigo_sum(1)
