"""Environments of the host: how many there are, and in how many processes."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from gymnasium.spaces import Discrete
from stream_worlds import CountingEnv, hosted_counting

from ndigo.config import preset
from ndigo.errors import NdigoError
from ndigo.interop.suites import from_gymnasium
from ndigo.rewards import make_reward
from ndigo.training.streams import host_slots
from ndigo.training.streams.host_episodes import words_of
from ndigo.training.trainer import Trainer, make_trainer
from ndigo.worlds import World
from ndigo.worlds.host import Environments, Host, Told, nobody


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


def trainer_here(world: World, change: Callable[[Environments, int], Environments], episodes: int = 3) -> Trainer:
    """Of 8 actors whose environments are stepped in this process, as `change` makes them."""
    assert world.host is not None
    make = world.host.open
    host = Host(lambda num, _: change(make(num, 0), num), world.host.open_drawn)
    sizes = dict.fromkeys(("belief_size", "num_features", "predictor_hidden", "head_hidden", "num_filters"), 4)
    config = preset("cpu", actors=8, window=5, round_steps=5, evaluation_episodes=episodes, replay_steps=40, **sizes)
    return make_trainer(config, dataclasses.replace(world, host=host), make_reward("ndigo-1"))


@pytest.mark.parametrize(("episodes", "expected"), [(3, 3), (20, 8)])
def test_no_more_environments_are_watched_than_there_are_episodes_to_measure(episodes, expected):
    """And at most as many as explore, so many at a time."""
    opened = []
    trainer = trainer_here(hosted_counting(), lambda envs, num: opened.append(num) or envs, episodes)
    state = trainer.init(jax.random.key(0))
    steps = trainer.measure(state.learner.params, jax.random.key(1)).evaluation.episode_steps
    assert opened == [expected]
    assert steps is not None
    assert steps.shape == (1, episodes)


def test_places_that_differ_in_their_last_digit_are_distinct():
    """One per frame of an episode; in float32 every other would be its neighbour's."""
    world = from_gymnasium(CountingEnv, num_steps=6, place=lambda env: 30_000_000 + env.t)
    trainer = trainer_here(world, lambda envs, num: envs)
    state = trainer.init(jax.random.key(0))
    found = trainer.measure(state.learner.params, jax.random.key(1)).evaluation
    coverage, steps = np.asarray(found.coverage), np.asarray(found.episode_steps)
    assert coverage.max() > 2
    np.testing.assert_array_equal(coverage, steps + 1)


def test_a_number_is_the_same_place_whatever_the_sign_of_its_zero():
    assert words_of(np.array([0.0, 2.0])).tolist() == words_of(np.array([-0.0, 2.0])).tolist()
    assert words_of(np.zeros((3, 0))).shape == (3, 0)


def test_who_waits_for_environments_listens_in_rounds_and_in_evaluations():
    heard, shares = [], []

    class Slow:
        """Calls whoever listens once in every wait."""

        def __init__(self, envs: Environments):
            self.reset, self.send, self.close, self._envs = envs.reset, envs.send, envs.close, envs

        def receive(self, listen: Callable[[], None] = nobody) -> Told:
            listen()
            return self._envs.receive()

    trainer = trainer_here(hosted_counting(), lambda envs, _: Slow(envs))
    state = trainer.init(jax.random.key(0))
    state, _ = trainer.run_rounds(state, 2, lambda: heard.append(1), shares.append)
    in_rounds = len(heard)
    assert shares == sorted(shares)
    assert (shares[0], len(shares)) == (0.0, 2 * trainer.collector.steps)
    assert 0.5 in shares  # the second round's first slot
    trainer.measure(state.learner.params, jax.random.key(1))
    assert in_rounds >= 5
    assert len(heard) > in_rounds


class Strays(CountingEnv):
    """Shows one of five numbers, and after a while one that it does not declare."""

    def __init__(self):
        super().__init__()
        self.observation_space, self.num_shown = Discrete(5), 0

    def _frame(self) -> Any:
        self.num_shown += 1
        return 77 if self.num_shown > 7 else self.num_shown % 5


def test_a_frame_that_the_world_does_not_declare_ends_a_run_whenever_it_comes():
    """The eighth frame of each is the first; a reset shows one, and so step 7 is wrong everywhere."""
    trainer = trainer_here(from_gymnasium(Strays, name="strays"), lambda envs, num: envs)
    state = trainer.init(jax.random.key(0))
    says = "after 7 steps of each environment: in the tiles' layer 'number' of frame 0 the value 77, expected 0 to 4"
    with pytest.raises(NdigoError, match=rf"^world strays {says} \(frame i is that of environment i\)$"):
        trainer.run_rounds(state, 3)


class Overpays(CountingEnv):
    """Pays no number for its ninth step."""

    num_steps = 0

    def step(self, action: int) -> Any:
        self.num_steps += 1
        o_t, reward, *rest = super().step(action)
        return o_t, float("nan") if self.num_steps == 9 else reward, *rest


def test_a_reward_that_is_no_number_ends_a_run_before_anything_is_learned_from_it():
    trainer = trainer_here(from_gymnasium(Overpays, name="overpays"), lambda envs, num: envs)
    state = trainer.init(jax.random.key(0))
    says = r"step \d+ of environment \d returned the reward nan, expected a finite number"
    with pytest.raises(NdigoError, match=f"^world overpays: {says}"):
        trainer.run_rounds(state, 3)
