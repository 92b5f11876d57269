"""NDIGO-H on tables whose entries encode their index: loss_tk = 100 t + k, so a slip shows its size."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array
from random_windows import random_window

from ndigo.agent import window_starts
from ndigo.errors import NdigoError
from ndigo.rewards import make_ndigo, make_reward, ndigo_reward
from ndigo.types import Paid, Seen

HORIZONS = [1, 2, 3, 4, 5, 10]
reward_of = jax.jit(ndigo_reward, static_argnums=1)


@partial(jax.jit, static_argnums=1)
def paid_for(loss_tk: Array, H: int, start: Array) -> Paid:
    """What the reward itself pays a window of these losses [T, K, *B], which begins at a step of its episode."""
    window = random_window(0, T=len(loss_tk), streams=loss_tk.shape[2:])
    none = jnp.zeros(0)
    seen = Seen(dataclasses.replace(window, start=start), z_t=none, b_t=none, loss_tk=loss_tk[..., None])
    return make_ndigo(H).pay(None, None, None, seen)


def known_of(T: int, H: int, start: Any) -> np.ndarray:
    start = jnp.asarray(start)
    return np.asarray(paid_for(jnp.zeros((T, H + 1, *start.shape)), H, start).is_known)


def index_table(T: int, K: int) -> np.ndarray:
    """Squared, so that every pair of entries has a difference of its own; 0 beyond the window."""
    t, k = np.arange(T)[:, None], np.arange(1, K + 1)
    return np.where(t + k <= T, (100 * t + k) ** 2, 0).astype(np.float32)


@pytest.mark.parametrize("H", HORIZONS)
@pytest.mark.parametrize("T", [1, 2, 4, 5, 10, 11, 12, 25])
def test_step_t_plus_h_minus_1_earns_the_loss_before_minus_the_loss_after_frame_t(H, T):
    loss_tk = index_table(T, max(10, H + 1))
    expected = np.zeros(T)
    for t in range(1, T):
        if t + H <= T:
            expected[t + H - 1] = loss_tk[t - 1, H] - loss_tk[t, H - 1]  # L[t+H | t-1] - L[t+H | t]
    r_t = reward_of(jnp.asarray(loss_tk), H)
    assert r_t.shape == (T,)
    np.testing.assert_array_equal(r_t, expected)
    np.testing.assert_array_equal(paid_for(jnp.asarray(loss_tk), H, jnp.int32(0)).r_t, expected)


@pytest.mark.parametrize("H", HORIZONS)
def test_both_losses_of_a_reward_are_of_the_same_frame(H):
    """A table that depends on the frame t+k alone pays nothing: what nobody can predict cancels."""
    T, K = 30, 11
    noise = np.random.default_rng(0).random(T + 1).astype(np.float32)
    t, k = np.arange(T)[:, None], np.arange(1, K + 1)
    loss_tk = np.where(t + k <= T, noise[np.minimum(t + k, T)], 0)
    np.testing.assert_array_equal(reward_of(jnp.asarray(loss_tk), H), 0)


def test_reward_is_split_by_channel_and_stream_as_the_table_is():
    loss_tk = np.random.default_rng(0).random((9, 5, 3, 2)).astype(np.float32)
    r_tc = np.asarray(reward_of(jnp.asarray(loss_tk), 2))
    for b, c in np.ndindex(3, 2):
        np.testing.assert_array_equal(r_tc[:, b, c], reward_of(jnp.asarray(loss_tk[..., b, c]), 2))


@pytest.mark.parametrize("H", HORIZONS)
def test_first_steps_of_an_episode_are_known_to_earn_nothing(H):
    assert known_of(25, H, 0).all()
    np.testing.assert_array_equal(np.asarray(reward_of(jnp.asarray(index_table(25, 11)), H))[:H], 0)


@pytest.mark.parametrize("H", HORIZONS)
def test_first_steps_of_any_later_window_are_unknown(H):
    np.testing.assert_array_equal(known_of(25, H, 100), np.arange(25) >= H)


@pytest.mark.parametrize("start", [1, 2, 3, 4, 5])
def test_step_of_a_window_is_known_if_the_episode_has_no_pair_or_the_window_holds_it(start):
    H, T = 4, 12
    known = [start + t < H or t >= H for t in range(T)]
    np.testing.assert_array_equal(known_of(T, H, start), known)


def test_windows_of_a_batch_are_known_each_by_its_own_start():
    known = known_of(6, 4, np.array([0, 100, 0]))
    np.testing.assert_array_equal(known, np.stack([np.ones(6), np.arange(6) >= 4, np.ones(6)], axis=-1))


@pytest.mark.parametrize("H", HORIZONS)
def test_windows_together_pay_all_but_the_first_steps_of_windows(H):
    """What a window knows is the whole episode's reward; a step is paid by a window that began H before it, or at 0."""
    S, T, starts = 30, 12, (0, 12, 18)
    loss_tk = index_table(S, 11)
    whole = np.asarray(reward_of(jnp.asarray(loss_tk), H))
    is_paid_somewhere = np.zeros(S, bool)
    for start in starts:
        window = np.where(np.arange(T)[:, None] + np.arange(1, 12) <= T, loss_tk[start : start + T], 0)
        paid = jax.device_get(paid_for(jnp.asarray(window), H, jnp.int32(start)))
        known = paid.is_known
        np.testing.assert_array_equal(paid.r_t[known], whole[start : start + T][known])
        is_paid_somewhere[start : start + T] |= known
    began = [[t - s for s in starts if s <= t < s + T and (s == 0 or t - s >= H)] for t in range(S)]
    np.testing.assert_array_equal(is_paid_somewhere, [bool(ago) for ago in began])
    assert not is_paid_somewhere[12 : 12 + min(H, 6)].any()  # the second window's first steps, before the third begins


@pytest.mark.parametrize(("H", "percent"), [(1, 0.75), (2, 1.5), (4, 3.0), (5, 3.75), (10, 7.5)])
def test_share_of_an_episode_that_no_window_pays_is_as_the_docs_say(H, percent):
    starts = window_starts(400, 100)
    unknown = sum(int((~known_of(100, H, start)).sum()) for start in starts)
    assert 100 * unknown / 400 == percent


@pytest.mark.parametrize("H", HORIZONS)
def test_ndigo_asks_for_a_table_that_looks_h_plus_1_ahead(H):
    assert make_reward(f"ndigo-{H}").num_ahead == H + 1
    with pytest.raises(ValueError, match=f"{H + 1} steps ahead of a table"):
        ndigo_reward(jnp.asarray(np.zeros((30, H), np.float32)), H)


def test_horizon_below_one_is_refused():
    with pytest.raises(NdigoError, match="ndigo-0: the horizon H must be a whole number of at least 1"):
        make_ndigo(0)
