"""The examples for Stable-Baselines3, with the real packages."""

# pyright: reportMissingImports=false

from __future__ import annotations

import numpy as np
import pytest
import sb3_ppo
import sb3_recurrent_ppo
import torch
from minigrid_frame import FRAME
from minigrid_frames import frames_of

import ndigo
from ndigo.frames import tiles_in

N, T = 4, 32


@pytest.mark.parametrize(
    "world",
    ["MiniGrid-MultiRoom-N6-v0", "MiniGrid-KeyCorridorS3R3-v0", "MiniGrid-DoorKey-6x6-v0", "MiniGrid-MemoryS7-v0"],
)
def test_every_tile_of_minigrid_that_is_seen_is_listed(world):
    assert set(tiles_in(frames_of(world, 1500))) <= set(FRAME.listed or ())


@pytest.mark.parametrize(("example", "rollouts"), [(sb3_ppo, 4), (sb3_recurrent_ppo, 2)], ids=["PPO", "RecurrentPPO"])
def test_an_agent_of_stable_baselines_learns_from_both_rewards_while_curiosity_learns(example, rollouts, tmp_path):
    """The pay that the agent has in its buffer is the last rollout's; by then the model is no novice."""
    torch.set_num_threads(1)
    agent, envs = example.train("MiniGrid-MultiRoom-N2-S4-v0", steps=rollouts * N * T, num_envs=N, rollout=T)
    buffer, curiosity = agent.rollout_buffer, envs.curiosity
    assert curiosity.clock == 1 + rollouts * T
    assert curiosity.num_pending == 0
    assert np.isfinite(buffer.rewards).all()
    assert np.abs(buffer.rewards).max() > 0
    uniform = FRAME.num_cells * np.log(FRAME.num_classes)
    assert curiosity.numbers.model_loss[-1] < 0.8 * uniform
    curiosity.save(tmp_path)
    again = ndigo.Curiosity("ndigo-4", FRAME, 7, N, config=curiosity.pure.config, seed=1)
    again.load(tmp_path)
    assert again.clock == curiosity.clock
    np.testing.assert_array_equal(again.believe(), curiosity.believe())
