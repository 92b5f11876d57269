"""Random stretches: their law in closed form, and step by step against a loop that draws them as they come."""

from __future__ import annotations

from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ndigo.agent import actor_epsilons
from ndigo.agent.exploration import draw_lengths, draw_stretches

S, A, LONGEST = 400, 5, 100


@cache
def chances(longest: int = LONGEST) -> np.ndarray:
    """P(n), n = 1 .. longest, of a zeta(2) length cut at `longest`, in float64 from 10^6 terms."""
    share = np.arange(1, 1_000_001, dtype=np.float64) ** -2
    share = np.append(share, 1e-6)  # the rest of the sum, which is close to 1/10^6
    share /= share.sum()
    return np.append(share[: longest - 1], share[longest - 1 :].sum())


@partial(jax.jit, static_argnames="longest")
def draw(keys, epsilon, longest: int):
    return jax.vmap(lambda key: draw_stretches(key, epsilon, S, A, longest))(keys)


@cache
def drawn(epsilon: float, num: int = 2000, longest: int = LONGEST):
    stretches = draw(jax.random.split(jax.random.key(0), num), jnp.float32(epsilon), longest)
    return tuple(np.asarray(x) for x in (stretches.is_random, stretches.is_repeat, stretches.a_t))


def test_lengths_have_the_chances_of_a_zeta_law_cut_at_the_longest():
    num = 1_000_000
    lengths = np.asarray(jax.jit(draw_lengths, static_argnums=(1, 2))(jax.random.key(0), num, LONGEST))
    share, exact = np.bincount(lengths, minlength=LONGEST + 1)[1:] / num, chances()
    assert exact[0] == pytest.approx(6 / np.pi**2, rel=1e-6)
    error = (share - exact) / np.sqrt(exact * (1 - exact) / num)
    assert np.abs(error).max() < 4.5  # of a hundred normal deviates
    assert (lengths.min(), lengths.max()) == (1, LONGEST)


@pytest.mark.parametrize("epsilon", [1.0, 0.3, 0.02])
def test_idle_steps_begin_a_stretch_with_chance_epsilon(epsilon):
    is_random, is_repeat, _ = drawn(epsilon)
    begins = is_random & ~is_repeat
    num_idle = (~is_repeat).sum()
    assert begins.sum() / num_idle == pytest.approx(epsilon, abs=4 * np.sqrt(epsilon * (1 - epsilon) / num_idle) + 1e-9)


@pytest.mark.parametrize("epsilon", [1.0, 0.3, 0.02])
def test_stretches_last_as_long_as_the_law_says(epsilon):
    """Of those that begin early enough to be seen whole."""
    is_random, is_repeat, _ = drawn(epsilon)
    over = np.where(is_repeat, S, np.arange(S))
    over = np.minimum.accumulate(over[:, ::-1], axis=1)[:, ::-1]  # the first step from t on that repeats no other
    row, s = np.nonzero((is_random & ~is_repeat)[:, : S - LONGEST])
    lengths = over[row, s + 1] - s
    exact = chances()
    share = np.bincount(lengths, minlength=LONGEST + 1)[1:] / len(lengths)
    error = np.sqrt(exact * (1 - exact) / len(lengths))
    for n in (1, 2, 3, LONGEST):
        assert share[n - 1] == pytest.approx(exact[n - 1], abs=4 * error[n - 1])
    mean, spread = exact @ np.arange(1, LONGEST + 1), np.std(lengths) / np.sqrt(len(lengths))
    assert np.mean(lengths) == pytest.approx(mean, abs=4 * spread)


def test_share_of_random_steps_is_that_of_a_loop_over_steps():
    """The same law drawn as it is told: an idle actor tosses a coin at each step."""
    epsilon, rng, exact = 0.1, np.random.default_rng(0), chances()
    theirs, left = np.zeros((2000, S), bool), np.zeros(2000, int)
    for t in range(S):
        begins = (left == 0) & (rng.random(2000) < epsilon)
        left[begins] = 1 + rng.choice(LONGEST, begins.sum(), p=exact)
        theirs[:, t], left = left > 0, np.maximum(left - 1, 0)
    ours = drawn(epsilon)[0]
    for t in (slice(0, 1), slice(1, 10), slice(10, 100), slice(100, S)):
        a, b = ours[:, t].mean(axis=1), theirs[:, t].mean(axis=1)
        assert a.mean() == pytest.approx(b.mean(), abs=4 * np.sqrt((a.var() + b.var()) / len(a)))


def test_action_stays_within_a_stretch_and_is_uniform_between_them():
    is_random, is_repeat, a_t = drawn(0.3)
    assert (a_t[:, 1:] == a_t[:, :-1])[is_repeat[:, 1:]].all()
    assert not is_repeat[:, 0].any()
    assert not (is_repeat & ~is_random).any()
    begins = is_random & ~is_repeat
    share = np.bincount(a_t[begins], minlength=A) / begins.sum()
    np.testing.assert_allclose(share, 1 / A, atol=4 * np.sqrt(0.16 / begins.sum()))


def test_stretches_of_one_step_are_epsilon_greedy():
    is_random, is_repeat, a_t = drawn(0.3, longest=1)
    assert not is_repeat.any()
    assert is_random.mean() == pytest.approx(0.3, abs=4 * np.sqrt(0.21 / is_random.size))
    together = (is_random[:, 1:] & is_random[:, :-1]).mean()  # no step tells anything of the next
    assert together == pytest.approx(0.09, abs=4 * np.sqrt(0.09 * 0.91 / is_random.size))
    repeats = (a_t[:, 1:] == a_t[:, :-1])[is_random[:, 1:] & is_random[:, :-1]]
    assert repeats.mean() == pytest.approx(1 / A, abs=4 * np.sqrt(0.16 / repeats.size))


def test_epsilon_of_zero_never_explores_and_of_one_always():
    assert not drawn(0.0, num=50)[0].any()
    assert drawn(1.0, num=50)[0].all()
    assert drawn(1.0, num=50, longest=1)[0].all()


def test_epsilons_fall_in_equal_ratios():
    epsilons = np.asarray(actor_epsilons(9, 1.0, 0.4**8))
    np.testing.assert_allclose(epsilons, [0.4**i for i in range(9)], rtol=1e-5)
    np.testing.assert_allclose(actor_epsilons(1, 0.4, 0.1), [0.4], rtol=1e-6)
    np.testing.assert_allclose(actor_epsilons(3, 0.5, 0.0), [0.5, 0.0, 0.0], rtol=1e-6)
