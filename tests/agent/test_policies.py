"""Policies that need no learning."""

from __future__ import annotations

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ndigo.agent import random_walker
from ndigo.agent.exploration import draw_stretches

SHORT, LONG, NUM_ACTIONS = 20, 4000, 5


def walk(seed: int, num_steps: int = SHORT, longest: int = 1) -> np.ndarray:
    policy = random_walker(SimpleNamespace(num_steps=num_steps, num_actions=NUM_ACTIONS), longest)

    def body(state, _):
        a_t, state = policy.act(None, jnp.int32(0), state)
        return state, a_t

    return np.asarray(jax.lax.scan(body, policy.start(jax.random.key(seed)), length=LONG)[1])


def test_a_random_walker_stays_uniform_beyond_an_episodes_steps():
    """By hand: a share of 1/5 has a standard error of sqrt(.2 .8 / 3980) = .0063, and so has one of repeats."""
    a_t = walk(0)[SHORT:]
    shares = np.bincount(a_t, minlength=NUM_ACTIONS) / len(a_t)
    np.testing.assert_allclose(shares, 1 / NUM_ACTIONS, atol=5 * 0.0063)
    assert abs((a_t[1:] == a_t[:-1]).mean() - 1 / NUM_ACTIONS) < 5 * 0.0063
    assert (a_t != walk(1)[SHORT:]).any()


def test_within_an_episode_its_actions_are_the_episodes_stretches_of_one_step():
    drawn = draw_stretches(jax.random.key(0), jnp.float32(1), SHORT, NUM_ACTIONS)
    np.testing.assert_array_equal(walk(0)[:SHORT], drawn.a_t)


def test_in_stretches_it_repeats_an_action_as_often_as_their_law_says():
    """A step has its predecessor's action inside a stretch, and once in five where a new one begins.

    A stretch of n steps has P(n) = 6 / (pi n)^2, cut at 100, and so a mean of 3.76 and a variance of some 107. Of 4,000
    steps 1,064 begin one, with a deviation of sqrt(4000 * 107 / 3.76^3) = 90; 0.8 of it is 0.018 of all steps.
    """
    n = np.arange(1, 100)
    share = 6 / (np.pi * n) ** 2
    mean = (n * share).sum() + 100 * (1 - share.sum())
    a_t = walk(0, LONG, longest=100)
    assert abs((a_t[1:] == a_t[:-1]).mean() - (1 - (1 - 1 / NUM_ACTIONS) / mean)) < 5 * 0.018
    assert mean == pytest.approx(3.76, abs=0.01)
