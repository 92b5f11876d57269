"""Policies that need no learning."""

from __future__ import annotations

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np

from ndigo.agent import random_walker
from ndigo.agent.exploration import draw_stretches

SHORT, LONG, NUM_ACTIONS = 20, 4000, 5


def walk(seed: int) -> np.ndarray:
    policy = random_walker(SimpleNamespace(num_steps=SHORT, num_actions=NUM_ACTIONS))

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
