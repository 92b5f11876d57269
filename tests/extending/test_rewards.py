"""Rewards added from outside: one with running statistics, one over the beliefs of an episode, each against NumPy."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from extending import e3b, rnd
from extending.annex import world
from random_windows import random_window
from tiny_runs import FLAGS, TINY, numbers

import ndigo
from ndigo.cli import main
from ndigo.errors import NdigoError
from ndigo.gate import check_records, check_reward
from ndigo.rewards import paid
from ndigo.training.learner import make_learner
from ndigo.training.trainer import make_trainer

TINY_PLAIN = {name: value for name, value in TINY.items() if name != "preset"} | {"seeds": 1, "plain": True}
CONFIG = ndigo.Config(**TINY_PLAIN)  # in bfloat16
S = world.num_steps


def mlp(layers, x):
    hidden = np.maximum(x @ np.asarray(layers.hidden.weight, float) + np.asarray(layers.hidden.bias, float), 0)
    return hidden @ np.asarray(layers.output.weight, float) + np.asarray(layers.output.bias, float)


def slow_rnd(networks, b_t, beliefs, all_returns):
    """What is paid for the beliefs [T+1, B, D], given all beliefs and returns before; with both, and what was added."""
    mean, std = (np.mean(beliefs, 0), np.std(beliefs, 0) + 1e-4) if beliefs else (0.0, 1.0)
    scale = np.std(all_returns) + 1e-4 if all_returns else 1.0
    e = np.zeros((b_t.shape[0] - 1, b_t.shape[1]))
    for stream in range(e.shape[1]):
        so_far = 0.0
        for t in range(len(e)):
            x = np.clip((b_t[t + 1, stream] - mean) / std, -5, 5)
            e[t, stream] = np.mean((mlp(networks.learned, x) - mlp(networks.drawn, x)) ** 2)
            so_far = 0.99 * so_far + e[t, stream]
            beliefs, all_returns = [*beliefs, b_t[t + 1, stream]], [*all_returns, so_far]
    return e / scale, beliefs, all_returns


def test_running_statistics_are_those_of_all_that_was_seen():
    """Three updates by the library's learner; NumPy keeps every belief and every return."""
    learner = make_learner(CONFIG, world, rnd.reward)

    @jax.jit
    def update(key, state, window):
        _, (_, paid) = learner.loss(state.params, state.target, state.memory, window, jnp.int32(0))
        return *learner.update(key, state, window), paid.r_t, state.params.model.look(window, 1).b_t

    state, beliefs, all_returns = jax.jit(learner.init)(jax.random.key(0)), [], []
    drawn = state.params.reward.drawn
    for i in range(3):
        window = random_window(i, T=5, streams=(3,), shape=world.shape, num_actions=5, state_size=8, num_objects=2)
        networks = state.params.reward
        state, numbers, r_t, b_t = update(jax.random.key(i), state, window)
        expected, beliefs, all_returns = slow_rnd(networks, np.asarray(b_t, float), beliefs, all_returns)
        np.testing.assert_allclose(r_t, expected, rtol=2e-3)
        np.testing.assert_allclose(numbers.reward, expected.mean(), rtol=2e-3)
        of_beliefs, of_returns = state.memory
        np.testing.assert_allclose(of_beliefs.mean, np.mean(beliefs, 0), rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(of_beliefs.std, np.std(beliefs, 0) + 1e-4, rtol=1e-3)
        np.testing.assert_allclose(of_returns.std, np.std(all_returns) + 1e-4, rtol=1e-3)
        assert float(of_returns.count) == len(all_returns)
        assert numbers.reward_gradient > 0  # its own networks learn, though the model that pays is another
    assert all(jax.tree.leaves(jax.tree.map(jnp.array_equal, drawn, state.params.reward.drawn)))


def slow_e3b(b_t):
    covariance, r = 0.1 * np.eye(b_t.shape[1]), []
    for b, after in itertools.pairwise(b_t):
        covariance = covariance + np.outer(b, b)
        r.append(after @ np.linalg.solve(covariance, after))
    return np.array(r)


def test_what_is_stored_is_the_elliptical_bonus_of_the_whole_episode():
    """Windows of half an episode: the second half is paid for what is new after the first."""
    trainer = make_trainer(dataclasses.replace(CONFIG, precision="float32"), world, e3b.reward)

    @jax.jit
    def collect(key):
        params = trainer.learner.init(key).params
        return trainer.collector.explore(key, params, None)[0], params

    rows, params = collect(jax.random.key(0))
    look = jax.jit(lambda window: params.model.look(window, 1).b_t)
    frames = np.unpackbits(np.asarray(rows.o_t), axis=-1, count=27).reshape(2, 2, 7, *world.shape)
    r_tc = np.asarray(rows.r_tc).reshape(2, S)  # actor; both windows
    assert CONFIG.window * 2 == S
    for o_t, a_t, r_t in zip(frames, np.asarray(rows.a_t).reshape(2, S), r_tc, strict=True):
        whole = ndigo.types.Window.whole(
            jnp.asarray(np.concatenate([o_t[0], o_t[1, 1:]])), jnp.asarray(a_t, jnp.int32), CONFIG.belief_size
        )
        np.testing.assert_allclose(r_t, slow_e3b(np.asarray(look(whole), float)), rtol=1e-4)
    assert r_tc.min() > 0
    assert r_tc[:, :3].mean() > r_tc[:, -3:].mean()  # an episode gets old


@pytest.mark.slow
def test_the_ordinary_command_trains_with_statistics_and_goes_on_bit_for_bit(tmp_path, monkeypatch, capsys):
    """They lie in the checkpoint: stopped after the first chunk, the run ends as one that never was."""
    monkeypatch.chdir(tmp_path)
    words = ["train", "extending.annex:world", "--reward", "extending.rnd:reward", *FLAGS, "--learner-steps", "8"]
    assert main([*words, "--out", "whole"]) == 0
    assert main([*words, "--out", "stopped", "--minutes", "0.00001"]) == 0
    assert len(numbers(Path("stopped"))) == 1
    trust = ["--trust", "extending.annex", "--trust", "extending.rnd"]
    assert main(["train", "--resume", "stopped", *trust]) == 0
    lines = numbers(Path("whole"))
    assert lines[1:] == numbers(Path("stopped"))[1:]
    assert len(lines) == 2
    assert min(line["learning"]["reward"][seed] for line in lines for seed in (0, 1)) > 0


def test_functions_that_cannot_be_hashed_are_refused():
    @dataclasses.dataclass
    class Pay:
        scale: float

        def __call__(self, params, memory, model, seen):
            return paid(self.scale * seen.loss_tk[:, 0])

    says = r"^reward mine: its functions must be hashable; write @dataclass\(frozen=True\)$"
    with pytest.raises(NdigoError, match=says):
        check_records(dataclasses.replace(CONFIG, reward="<mine>"), world, ndigo.IntrinsicReward("mine", pay=Pay(2.0)))


def test_a_reward_that_pays_nothing_is_refused():
    with pytest.raises(NdigoError, match="reward mine: it has neither pay, reads nor on_episode"):
        check_reward(ndigo.IntrinsicReward("mine"), world, CONFIG)
