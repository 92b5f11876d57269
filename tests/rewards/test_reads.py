"""A reward that is a weighted sum of losses, against a loop over its definition and against NDIGO's own equation."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from random_windows import random_window

from ndigo.errors import NdigoError
from ndigo.rewards import IntrinsicReward, make_reward, pay_stored
from ndigo.types import Paid, Seen, Window

S, T, N, FAR = 30, 12, 4, 6  # steps and streams in all, steps in a window, how far ahead is predicted
SUMS = {
    "pe": ((1, 1.0),),
    "ndigo-2": ((2, -1.0), (3, 1.0)),
    "both": ((2, -0.3), (5, 0.9), (3, -0.6)),
    "lone": ((4, 1.0), (2, 0.5)),
}


def streams(ends: bool) -> tuple[np.ndarray, np.ndarray]:
    """Losses [S, FAR, N] of one channel, and the frame that began each frame's episode, [S+1, N]."""
    rng = np.random.default_rng(0)
    is_first = np.zeros((S + 1, N), bool)
    is_first[0] = True
    if ends:
        is_first[1:] = rng.random((S, N)) < 0.15
    began = np.maximum.accumulate(np.where(is_first, np.arange(S + 1)[:, None], 0))
    return rng.uniform(0.1, 1.0, (S, FAR, N)).astype(np.float32), began


def by_definition(loss_tk: np.ndarray, began: np.ndarray, reads: tuple[tuple[int, float], ...]) -> np.ndarray:
    """r_t = sum of w L[t+1 | max(t+1-k, first)], step by step; nan between two episodes."""
    r_t = np.full((S, N), np.nan)
    for t in range(S):
        for n in range(N):
            if began[t + 1, n] == t + 1:
                continue
            r_t[t, n] = 0.0
            for k, w in reads:
                guessed = max(t + 1 - k, began[t, n])
                r_t[t, n] += w * loss_tk[guessed, t - guessed, n]
    return r_t


def paid_for(reward: IntrinsicReward, loss_tk: np.ndarray, began: np.ndarray, start: int, ends: bool) -> Paid:
    """What the window of T steps from `start` on is paid: it has losses of its own frames alone."""
    frames = np.arange(start, start + T + 1)[:, None]
    inside = np.arange(T)[:, None] + np.arange(1, FAR + 1) <= T
    losses = np.where(inside[..., None], loss_tk[start : start + T], 0)[..., None]
    window: Window = dataclasses.replace(
        random_window(0, T=T, streams=(N,)),
        start=jnp.asarray(start - began[start]),
        is_first=jnp.asarray(began[start : start + T + 1] == frames) if ends else None,
    )
    none = jnp.zeros(0)
    seen = Seen(window=window, z_t=none, b_t=none, loss_tk=jnp.asarray(losses))
    return jax.device_get(jax.jit(lambda seen: reward.pay_steps(None, None, None, seen))(seen))


@pytest.mark.parametrize("ends", [False, True], ids=["one episode", "episodes that end"])
@pytest.mark.parametrize("name", SUMS)
def test_windows_are_paid_the_sum_of_its_definition_or_say_that_they_do_not_know_it(name, ends):
    loss_tk, began = streams(ends)
    expected = by_definition(loss_tk, began, SUMS[name])
    reward = IntrinsicReward(name, reads=SUMS[name])
    furthest = reward.num_ahead
    for start in (0, 1, 2, 4, 9, 18):
        paid = paid_for(reward, loss_tk, began, start, ends)
        known, wanted = paid.is_known, expected[start : start + T]
        np.testing.assert_allclose(paid.r_t[known], wanted[known], atol=1e-6)
        is_step = ~np.isnan(wanted)
        assert not known[~is_step].any()
        # What was guessed within the window is known, and so is all of an episode that begins in it.
        here = np.arange(T)[:, None] - np.maximum(began[start : start + T] - start, 0)
        is_within = (here >= furthest - 1) | (began[start : start + T] >= start)
        assert known[is_within & is_step].all()
        if start in (9, 18) and not ends:
            np.testing.assert_array_equal(known, np.broadcast_to(np.arange(T)[:, None] >= furthest - 1, (T, N)))


@pytest.mark.parametrize("ends", [False, True], ids=["one episode", "episodes that end"])
@pytest.mark.parametrize("H", [1, 2, 4])
def test_ndigo_is_the_sum_of_its_reads_in_every_window(H, ends):
    loss_tk, began = streams(ends)
    ours = make_reward(f"ndigo-{H}")
    summed = IntrinsicReward("summed", reads=ours.reads)
    assert summed.num_ahead == ours.num_ahead == H + 1
    for start in (0, 1, 2, 4, 9, 18):
        one, other = (paid_for(reward, loss_tk, began, start, ends) for reward in (ours, summed))
        np.testing.assert_array_equal(one.is_known, other.is_known)
        np.testing.assert_allclose(one.r_t[one.is_known], other.r_t[one.is_known], atol=1e-6)


def test_new_reads_of_a_record_are_a_new_sum():
    near = IntrinsicReward("near", reads=((1, 1.0),))
    far = dataclasses.replace(near, name="far", reads=((3, 1.0),))
    assert (near.num_ahead, far.num_ahead) == (1, 3)
    loss_tk, began = streams(ends=False)
    expected = by_definition(loss_tk, began, far.reads)
    np.testing.assert_allclose(paid_for(far, loss_tk, began, 0, ends=False).r_t, expected[:T], atol=1e-6)
    assert dataclasses.replace(far, reads=()).pay is pay_stored


def test_a_reward_looks_as_far_ahead_as_anything_that_it_reads():
    assert IntrinsicReward("further", reads=((1, 1.0),), num_ahead=5).num_ahead == 5
    pay = make_reward("icm").pay
    assert IntrinsicReward("own", pay, reads=((3, 1.0),)).num_ahead == 3
    assert IntrinsicReward("old", pay, reads=((3, 1.0),), reads_memory=((7, 1.0),), num_ahead=2).num_ahead == 7


def test_reads_that_no_table_has_are_one_line():
    with pytest.raises(NdigoError, match=r"reward none: reads has k = 0, expected 1 to 1000"):
        IntrinsicReward("none", reads=((0, 1.0), (2, 1.0)))
