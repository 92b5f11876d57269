"""An episode of few kernels is the plain one, step by step."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from probe_worlds import clock
from random_weights import random_weights
from small_frames import bits_shaped

from ndigo.agent import QNetwork
from ndigo.fast import episode
from ndigo.fast.episode import as_bytes, best, from_bytes, joined, play
from ndigo.frames import Frame
from ndigo.interop.finding import find_world
from ndigo.networks import lower
from ndigo.training import acting

A = 3


def network(frame: Frame, num_actions: int) -> QNetwork:
    sizes = {"num_actions": num_actions, "num_features": 8, "num_filters": 16, "state_size": 4, "num_hidden": 8}
    return random_weights(lambda key: QNetwork(key, frame=frame, **sizes))  # biases too


@pytest.mark.parametrize("turn", [1, 5])  # steps a turn of the loop, as on a CPU and as on a GPU
@pytest.mark.parametrize(("name", "every"), [("clock", 1), ("clock", 5), ("exp2", 100), ("exp5", 40)])
def test_an_episode_is_the_plain_one(name, every, turn, monkeypatch):
    monkeypatch.setattr(episode, "on_gpu", lambda: turn > 1)
    monkeypatch.setattr(episode, "STEPS_A_TURN", turn)
    world = clock(10) if name == "clock" else find_world(name)
    policy = network(world.frame, world.num_actions)

    @jax.jit
    @jax.vmap
    def run(key, epsilon):
        rest = (key, epsilon, every, 3)
        return play(world, joined(policy), *rest), acting.play(world, policy, *rest)

    ours, plain = run(jax.random.split(jax.random.key(1), 4), jnp.array([0.0, 0.1, 0.5, 1.0]))
    for field in ("o_t", "a_tm1", "cells", "a_t"):
        one, two = getattr(ours, field), getattr(plain, field)
        assert one.dtype == two.dtype
        np.testing.assert_array_equal(one, two, err_msg=field)
    np.testing.assert_array_equal(ours.mu_t, plain.mu_t)
    assert ours.agent_state.shape == (4, world.num_steps // every, 4)
    np.testing.assert_allclose(ours.agent_state, plain.agent_state, atol=1e-5)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("bfloat16", 0.1)])  # which keeps 8 bits
@pytest.mark.parametrize("view", [5, 9])  # convolutions as dense layers, and as patches
def test_a_network_of_joined_layers_is_the_same_network(view, dtype, tolerance):
    rng = np.random.default_rng(0)
    o_t, a_tm1 = rng.integers(2, size=(6, view, view, 2)).astype(np.uint8), rng.integers(A, size=6)
    policy, h = network(bits_shaped((view, view, 2)), A), np.zeros(4, np.float32)

    @jax.jit
    def steps(policy, *frame):
        policy = lower(policy, dtype)
        return joined(policy).step(*frame), policy.step(*frame)

    for t in range(6):
        (ours, q), (h, expected) = steps(policy, o_t[t], a_tm1[t], h)
        np.testing.assert_allclose(ours, h, atol=tolerance)
        np.testing.assert_allclose(q, expected, rtol=10 * tolerance, atol=10 * tolerance)


def test_a_step_as_bytes_comes_back_whole():
    rng = np.random.default_rng(0)
    rows = [
        rng.integers(0, 2, (7, 3, 3, 2)).astype(np.uint8),
        rng.integers(0, 2, (7, 2)).astype(bool),
        rng.integers(-(2**15), 2**15, (7, 2)).astype(np.int16),
        rng.integers(-(2**31), 2**31, (7,)).astype(np.int32),
        np.zeros((7, 0), np.int16),
    ]
    written = jax.jit(jax.vmap(as_bytes))(rows)
    assert written.shape == (7, 18 + 2 + 4 + 4)
    read = jax.jit(lambda written: from_bytes(written, [jnp.asarray(x[0]) for x in rows]))(written)
    for ours, theirs in zip(read, rows, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("num_actions", [1, 2, 5])
def test_best_action_is_the_first_of_the_largest(num_actions):
    q = np.random.default_rng(0).integers(3, size=(200, num_actions)).astype(np.float32)  # many ties
    np.testing.assert_array_equal(jax.jit(jax.vmap(best))(q), q.argmax(axis=-1))
