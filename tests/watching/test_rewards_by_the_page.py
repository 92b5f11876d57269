"""A reward that takes its shapes from docs/extending.md, [T, batch, channels], is paid wherever an agent is watched."""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
from oracle.tiny import roam, tiny
from stream_worlds import counting
from untrained import untrained

from ndigo.rewards import IntrinsicReward, ideal, make_reward, paid, table
from ndigo.types import Paid, ahead
from ndigo.watching.recording import episode_key, record
from ndigo.watching.session import Session

WORLD = counting()
KEY = episode_key(0, 0)


def surprise(params, memory, model, seen) -> Paid:
    """What `pe` pays, by a function that needs every axis of the page."""
    T, B, C = ahead(table(seen), 1).shape
    assert seen.window.start.shape == (B,)
    assert seen.b_t.shape[:2] == (T + 1, B)
    return paid(ahead(table(seen), 1).reshape(T, B, C))


def number_of_step(params, memory, model, seen) -> Paid:
    """1 for an episode's first step, 2 for the second; in no channel."""
    T, B = seen.window.a_t.shape
    r_t = seen.window.frames_before()[1].reshape(T, B) + jnp.float32(1)
    return Paid(r_t=r_t, r_tc=None, is_known=jnp.ones((T, B), bool), loss=jnp.float32(0))


@pytest.fixture(scope="module")
def agent():
    return untrained(WORLD)


def paid_by(agent, reward):
    return dataclasses.replace(agent, reward=reward)


def test_a_recording_has_its_pay(agent):
    expected = record(paid_by(agent, make_reward("pe")), [KEY])
    found = record(paid_by(agent, IntrinsicReward("surprise", surprise)), [KEY])
    np.testing.assert_allclose(found.reward, expected.reward, atol=1e-6)
    np.testing.assert_allclose(found.reward_c, expected.reward_c, atol=1e-6)
    counted = record(paid_by(agent, IntrinsicReward("number", number_of_step)), [KEY])
    assert counted.lengths is not None
    steps = int(counted.lengths[0])
    np.testing.assert_array_equal(counted.reward[0, :steps], np.arange(steps) + 1)
    assert not counted.reward_c.any()


def test_a_live_session_has_its_pay(agent):
    expected, found = (
        Session(paid_by(agent, reward), KEY) for reward in (make_reward("pe"), IntrinsicReward("surprise", surprise))
    )
    while not expected.is_over:
        expected.step()
        found.step()
        np.testing.assert_allclose(found.frame()["reward"], expected.frame()["reward"], atol=1e-6)
        assert found.frame()["reward"] > 0


def test_its_ideal_is_that_of_the_same_sum():
    world, enumeration = tiny("fixed and brownian")
    a_t, states = roam(enumeration, np.random.default_rng(0), 6)
    o_t = jnp.asarray(np.stack([enumeration.frame(state) for state in states]))
    expected, found = (
        ideal(reward).on_episode(world)(None, jnp.asarray(a_t), o_t)  # type: ignore[misc]
        for reward in (make_reward("pe"), IntrinsicReward("surprise", surprise))
    )
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert np.abs(expected).max() > 0
