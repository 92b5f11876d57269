"""What was paid and not yet learned from: no more than twice what the replay holds, and nobody can tell."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import ndigo
from ndigo import frames
from ndigo.config import preset
from ndigo.curiosity.learning import nothing_learned

FRAME, N, T = frames.bits(["lamp", "door"], 2), 2, 7
SIZES = {"belief_size": 8, "num_features": 8, "num_filters": 4, "predictor_hidden": 8, "num_ahead": 2}
CONFIG = preset("cpu", **SIZES, window=4, batch=4, updates_per_round=2, replay_steps=80)
L = 40  # frames per stream: 80 steps of two


def made() -> ndigo.Curiosity:
    return ndigo.Curiosity("ndigo-1", FRAME, 3, N, config=CONFIG)


def played(num: int, has_finals: bool) -> list[tuple]:
    """Steps (a_t, o_tp1, is_first, o_last), the first of which resets: episodes of 5 steps, and of 11."""
    rng = np.random.default_rng(0)
    o = rng.integers(2, size=(2, num, N, *FRAME.spec.shape), dtype=np.uint8)
    a_t = rng.integers(3, size=(num, N), dtype=np.int32)
    is_first = np.arange(num)[:, None] % (5, 11) == 0
    return [(a_t[t], o[0, t], is_first[t], o[1, t] if has_finals and t > 0 else None) for t in range(num)]


def pay_step_by_step(bonus: ndigo.Curiosity, steps: list[tuple]) -> None:
    for a_t, o_tp1, is_first, o_last in steps:
        bonus.pay(a_t, o_tp1, is_first, finals=o_last)
        assert bonus.num_pending <= 2 * L


def pay_in_rollouts(bonus: ndigo.Curiosity, steps: list[tuple]) -> None:
    """T steps at a time, each rollout beginning with the frames of the one before."""
    for t in range(0, len(steps) - T, T):
        first_t, o_t = (np.stack([step[i] for step in steps[t : t + T + 1]]) for i in (2, 1))
        a_t, finals = (np.stack([step[i] for step in steps[t + 1 : t + T + 1]]) for i in (0, 3))
        then = {"next_observations": o_t[-1], "next_is_first": first_t[-1]}
        bonus.pay_rollout(a_t, o_t[:-1], is_first=first_t[:-1], finals=finals, **then)
        assert bonus.num_pending <= 2 * L


@pytest.mark.parametrize(
    ("pay", "has_finals"),
    [(pay_step_by_step, False), (pay_step_by_step, True), (pay_in_rollouts, True)],
    ids=["steps", "steps with finals", "rollouts"],
)
def test_who_pays_and_never_learns_keeps_no_more_than_fits_and_learns_the_same(pay, has_finals, tmp_path):
    """Against `learn` of the pure functions, which has added every step to the replay alone."""
    steps = played(60 * T + 1, has_finals)
    bonus, other = made(), made()
    state, key = other.state, jax.random.split(other._key)[1]
    learn = jax.jit(bonus.pure.learn, static_argnames="num_updates")
    for step in steps[:-1]:
        state, _ = learn(key, state, *jax.tree.map(lambda x: x[None], step), num_updates=0)
    state, expected = learn(key, state, *jax.tree.map(lambda x: x[None], steps[-1]))

    pay(bonus, steps[: 30 * T + 1])
    bonus.save(tmp_path)
    other.load(tmp_path)
    pay(other, steps[30 * T :] if pay is pay_in_rollouts else steps[30 * T + 1 :])
    assert other.clock == len(steps)
    assert other.num_pending >= L
    numbers = other.learn()
    assert numbers is not None
    assert other.num_pending == 0
    for name, leaf in vars(expected).items():
        np.testing.assert_allclose(getattr(numbers, name), leaf, rtol=1e-4, err_msg=name)
    for (path, one), two in zip(
        jax.tree.leaves_with_path(other.state.streams), jax.tree.leaves(state.streams), strict=True
    ):
        np.testing.assert_allclose(one, two, atol=1e-6, err_msg=jax.tree_util.keystr(path))


def test_frames_of_resets_are_not_kept_for_ever_either():
    bonus, o = made(), np.zeros((N, *FRAME.spec.shape), np.uint8)
    for _ in range(5 * L):
        bonus.reset(o)
    assert sum(len(a_t) for a_t, *_ in bonus._pending.rollouts) <= 2 * L
    assert (bonus.num_pending, bonus.learn()) == (0, None)


def test_however_irregularly_one_learns_few_lengths_are_compiled():
    """As a loop over Gymnasium's SAME_STEP does it: last frames where an episode ended, and none elsewhere."""
    bonus, lengths, shown, frame = made(), set(), [], np.zeros((N, *FRAME.spec.shape), np.uint8)

    def learn(key, state, steps, num_updates):
        a_t, o_tp1, is_first, o_last = steps
        lengths.add((len(a_t), o_last is not None, num_updates))
        shown.extend(zip(a_t[:, 0], is_first[:, 0], o_tp1 if o_last is None else o_last, strict=True))
        return state, nothing_learned(0, 2)

    bonus._programs = bonus._programs._replace(learn=learn)
    bonus.reset(frame)
    rng, paid = np.random.default_rng(0), []
    for T in (23, 17, 31, 9, 22, 14, 30, 7, 12, 25):
        for _ in range(T):
            a_t, ends = rng.integers(3, size=N), np.full(N, rng.random() < 0.3)
            final = rng.integers(2, size=frame.shape, dtype=np.uint8)
            bonus.pay(a_t, frame, ends, finals=final if ends.any() else None)
            paid.append((a_t[0], ends[0], final if ends.any() else frame))
        bonus.learn()
    assert len(lengths) < 10
    assert len(shown) == 1 + len(paid)
    for one, other in zip(shown[1:], paid, strict=True):
        jax.tree.map(np.testing.assert_array_equal, one, other)
