"""An environment with Gymnasium's interface whose frames tell their step and action, and what its episodes pay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from stream_of_episodes import Played, paid_by_windows

from ndigo import frames

NUM_BITS = 5
FRAME = frames.bits([f"bit{i}" for i in range(NUM_BITS)], 1)
LONGEST = 9


def shown(step: int, action: int) -> np.ndarray:
    """The step in four bits, and the action that led there."""
    return np.array([*((step >> np.arange(4)) & 1), action], np.uint8).reshape(1, 1, NUM_BITS)


class Counter(gymnasium.Env):
    """Shows its step and last action, pays its step, and ends after `length` steps, one more each time."""

    observation_space = gymnasium.spaces.Box(0, 1, (1, 1, NUM_BITS), np.uint8)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, length: int):
        self.length = length - 1

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[np.ndarray, dict]:
        self.length, self.t = self.length + 1, 0
        return shown(0, 0), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict]:
        self.t += 1
        return shown(self.t, int(action)), float(self.t), self.t == self.length, False, {}


class Parted(gymnasium.ObservationWrapper):
    """A `Counter` in two parts alike, which stand in another order than that of their names."""

    def __init__(self, length: int):
        super().__init__(Counter(length))
        bits = Counter.observation_space
        self.observation_space = gymnasium.spaces.Dict([("now", bits), ("flipped", bits)])

    def observation(self, observation: np.ndarray) -> dict[str, np.ndarray]:
        return parted(observation)


def parted(o: np.ndarray) -> dict[str, np.ndarray]:
    return {"now": o, "flipped": 1 - o}


def expected(
    params: Any, reward: Any, episodes: list[list[int]], see: Callable[[np.ndarray], Any] = lambda o_t: o_t
) -> np.ndarray:
    """What episodes with these actions pay, [E, LONGEST]."""
    a_t = np.array([actions + [0] * (LONGEST - len(actions)) for actions in episodes])
    o_t = np.stack([np.stack([shown(0, 0), *(shown(t + 1, a) for t, a in enumerate(row))]) for row in a_t])
    return paid_by_windows(params, reward, Played(see(o_t), a_t))
