"""Curiosity around a vector of Stable-Baselines3: paid as whole episodes are, and nothing is summed silently."""

# pyright: reportMissingImports=false

from __future__ import annotations

from typing import Any, cast

import jax
import numpy as np
import pytest
from counter_env import FRAME, Counter, Parted, expected, parted
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnvWrapper

from ndigo import frames
from ndigo.config import preset
from ndigo.curiosity.sb3 import Curious
from ndigo.errors import NdigoError
from ndigo.rewards import make_reward

SMALL = {"belief_size": 16, "num_features": 16, "num_filters": 4, "predictor_hidden": 16, "num_ahead": 2}
CONFIG = preset("cpu", **SMALL, window=8, batch=4, updates_per_round=2)


BOTH = frames.join(now=FRAME, flipped=FRAME)


def made(lengths: tuple[int, ...], make: Any = Counter, frame: Any = FRAME, **options: Any) -> Curious:
    makers: list[Any] = [lambda length=length: make(length) for length in lengths]
    return Curious(DummyVecEnv(makers), make_reward("ndigo-1"), frame, config=CONFIG, seed=3, **options)


@pytest.mark.parametrize(("make", "frame", "see"), [(Counter, FRAME, np.asarray), (Parted, BOTH, parted)])
def test_an_action_that_ends_an_episode_is_paid_for_the_terminal_observation(make, frame, see):
    """Also where it is a dictionary: the vector's is ordered, and the terminal one's parts stand in its own order."""
    envs, rng = made((3, 4, 2), make, frame, weight=0.5, task_weight=2.0), np.random.default_rng(0)
    params = jax.device_get(envs.curiosity.state.params)
    envs.reset()
    current: list[list[tuple[int, float]]] = [[] for _ in range(3)]
    ended = []
    for _ in range(20):
        actions = rng.integers(2, size=3)
        _, total, ends, infos = envs.step(actions)
        for n, info in enumerate(infos):
            current[n].append((int(actions[n]), info["reward_intrinsic"]))
            assert info["reward_task"] == len(current[n])
            assert total[n] == pytest.approx(2 * info["reward_task"] + 0.5 * info["reward_intrinsic"], abs=1e-6)
            assert sum(info["nats"].values()) == pytest.approx(info["reward_intrinsic"], abs=1e-6)
            if ends[n]:
                ended.append(current[n])
                current[n] = []
    assert len(ended) >= 9
    by_windows = expected(params, make_reward("ndigo-1"), [[a for a, _ in episode] for episode in ended], see)
    for episode, row in zip(ended, by_windows, strict=True):
        paid = [r for _, r in episode]
        np.testing.assert_allclose(paid, row[: len(paid)], atol=1e-5)
        assert paid[0] == 0
        assert np.abs(paid[1:]).min() > 0


class Forgetful(VecEnvWrapper):
    """Loses the frame that ended an episode."""

    def reset(self):
        return self.venv.reset()

    def step_wait(self):
        observations, rewards, ends, infos = self.venv.step_wait()
        return observations, rewards, ends, [{} for _ in infos]


def test_a_vector_that_loses_last_frames_is_refused():
    envs = Curious(Forgetful(made((2,)).venv), "ndigo-1", FRAME, config=CONFIG)
    envs.reset()
    envs.step(np.zeros(1, int))
    with pytest.raises(NdigoError, match='environment 0 ended an episode and its info has no "terminal_observation"'):
        envs.step(np.zeros(1, int))


def test_one_environment_that_is_no_vector_is_one_line():
    with pytest.raises(NdigoError, match=r"^envs is a Counter, expected a VecEnv, as make_vec_env returns it"):
        Curious(cast(Any, Counter(3)), "ndigo-1", FRAME, config=CONFIG)
