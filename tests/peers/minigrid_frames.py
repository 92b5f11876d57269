"""Frames of MiniGrid's worlds along random walks."""

from __future__ import annotations

import numpy as np


def frames_of(world: str, num_steps: int, seed: int = 0) -> np.ndarray:
    """[num_steps, 7, 7, 3]."""
    import gymnasium

    env, rng, frames = gymnasium.make(f"minigrid:{world}"), np.random.default_rng(seed), []
    observation, _ = env.reset(seed=seed)
    for _ in range(num_steps):
        frames.append(observation["image"])
        observation, _, terminated, truncated, _ = env.step(rng.integers(7))
        if terminated or truncated:
            observation, _ = env.reset()
    return np.stack(frames)
