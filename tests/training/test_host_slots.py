"""Environments of the host: how many there are, and in how many processes."""

from __future__ import annotations

import dataclasses
import os

import jax
import pytest
from stream_worlds import hosted_counting

from ndigo.config import preset
from ndigo.rewards import make_reward
from ndigo.training.streams import host_slots
from ndigo.training.trainer import make_trainer
from ndigo.worlds.host import Host


@pytest.mark.parametrize(("cores", "num", "expected"), [({0, 3, 5, 6}, 12, 4), ({0, 3, 5, 6}, 10, 2), ({7}, 12, 1)])
def test_there_are_as_many_processes_as_cores_that_this_one_may_use(cores, num, expected, monkeypatch):
    """Of a machine with 64; as many of them as divide the environments."""
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: cores, raising=False)
    assert host_slots.num_processes(num) == expected


def test_where_the_system_does_not_say_which_cores_all_of_them_count(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert host_slots.num_processes(12) == 6


@pytest.mark.parametrize(("episodes", "expected"), [(3, 3), (20, 8)])
def test_no_more_environments_are_watched_than_there_are_episodes_to_measure(episodes, expected):
    """And at most as many as explore, so many at a time."""
    world, opened = hosted_counting(), []
    assert world.host is not None
    make = world.host.open
    host = Host(lambda num, _: opened.append(num) or make(num, 0), world.host.open_drawn)
    sizes = dict.fromkeys(("belief_size", "num_features", "predictor_hidden", "head_hidden", "num_filters"), 4)
    config = preset("cpu", actors=8, window=5, round_steps=5, evaluation_episodes=episodes, replay_steps=40, **sizes)
    trainer = make_trainer(config, dataclasses.replace(world, host=host), make_reward("ndigo-1"))
    state = trainer.init(jax.random.key(0))
    steps = trainer.measure(state.learner.params, jax.random.key(1)).evaluation.episode_steps
    assert opened == [expected]
    assert steps is not None
    assert steps.shape == (1, episodes)
