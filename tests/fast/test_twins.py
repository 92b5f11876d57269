"""A plain run uses no twin, and its numbers are those of a fast one but for rounding."""

from __future__ import annotations

import dataclasses

import jax
import numpy as np
from custom_world import world
from tiny_runs import TINY

from ndigo.config import preset
from ndigo.fast.twins import FAST
from ndigo.rewards import make_reward
from ndigo.training import twins
from ndigo.training.trainer import make_trainer


def run(plain: bool):
    config = preset("cpu", plain=plain, **{name: value for name, value in TINY.items() if name != "preset"})
    trainer = make_trainer(config, world, make_reward("ndigo-1"))
    state, numbers = trainer.run_rounds(trainer.init(jax.random.key(0)), 3)
    return state.learner.params, numbers, trainer.measure(state.learner.params, jax.random.key(1)).evaluation


def test_a_plain_run_has_the_numbers_of_a_fast_one_and_uses_none_of_its_functions(monkeypatch):
    fast = run(plain=False)

    def unused(*_, **__):
        raise AssertionError("a plain run came here")

    names = [field.name for field in dataclasses.fields(FAST)]
    monkeypatch.setattr(twins, "FAST", dataclasses.replace(FAST, **dict.fromkeys(names, unused)))
    for ours, theirs in zip(*map(jax.tree.leaves, (run(plain=True), fast)), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-4)
