"""A recurrent agent and a recurrent curiosity: sb3-contrib's RecurrentPPO, paid on a belief of our own.

python examples/sb3_recurrent_ppo.py        # MiniGrid's memory task; prints the pay by channel at the end
"""
# pyright: reportMissingImports=false

import argparse

import numpy as np
from minigrid.wrappers import ImgObsWrapper
from minigrid_frame import FRAME
from sb3_contrib import RecurrentPPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env

from ndigo.curiosity.sb3 import Curious


class LogPay(BaseCallback):
    """Task and pay apart, by channel, into the agent's own log."""

    def _on_step(self) -> bool:
        infos = self.locals["infos"]
        for name in ("reward_task", "reward_intrinsic"):
            self.logger.record_mean(f"curiosity/{name}", float(np.mean([info[name] for info in infos])))
        for channel in infos[0]["nats"]:
            self.logger.record_mean(f"curiosity/{channel}", float(np.mean([info["nats"][channel] for info in infos])))
        return True


def train(world="MiniGrid-MemoryS7-v0", reward="ndigo-4", weight=0.01, steps=500_000, num_envs=16, rollout=128):
    envs = make_vec_env(world, n_envs=num_envs, wrapper_class=ImgObsWrapper, seed=0)
    envs = Curious(envs, reward, FRAME, weight=weight, learn_every=rollout, scale=None)  # None: nats
    agent = RecurrentPPO("MlpLstmPolicy", envs, n_steps=rollout, batch_size=256, seed=0)
    agent.learn(steps, callback=LogPay())
    return agent, envs


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=500_000)
    agent, envs = train(steps=parser.parse_args().steps)
    print(envs.curiosity.numbers)
