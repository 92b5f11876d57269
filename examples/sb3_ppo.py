"""Curiosity in Stable-Baselines3: one wrapper around the environments; PPO stays as it is.

python examples/sb3_ppo.py                  # MiniGrid's chain of six rooms, which pays only at its end
"""
# pyright: reportMissingImports=false

import argparse

from minigrid.wrappers import ImgObsWrapper
from minigrid_frame import FRAME
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env

from ndigo.curiosity.sb3 import Curious


def train(world="MiniGrid-MultiRoom-N6-v0", reward="ndigo-4", weight=0.01, steps=1_000_000, num_envs=16, rollout=128):
    envs = make_vec_env(world, n_envs=num_envs, wrapper_class=ImgObsWrapper, seed=0)
    # The pay is in nats: a first sight of a room is worth some tens, the task at most 1.
    envs = Curious(envs, reward, FRAME, weight=weight, task_weight=1.0, learn_every=rollout)
    agent = PPO("MlpPolicy", envs, n_steps=rollout, batch_size=256, ent_coef=0.01, seed=0)
    agent.learn(steps)  # infos[i]["reward_task"], ["reward_intrinsic"] and ["nats"]["object"]
    return agent, envs


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=1_000_000)
    agent, envs = train(steps=parser.parse_args().steps)
    agent.save("ppo.zip")
    envs.curiosity.save("curiosity")  # the world model, its replay and its clock; `load` goes on bit for bit
