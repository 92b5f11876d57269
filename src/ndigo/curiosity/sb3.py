"""Curiosity for Stable-Baselines3: around a vector of environments, and the agent's code stays as it is.

    envs = Curious(make_vec_env("MiniGrid-MultiRoom-N6-v0", n_envs=16, wrapper_class=ImgObsWrapper),
                   "ndigo-4", frames.tiles(), weight=0.1, learn_every=128)
    RecurrentPPO("MlpLstmPolicy", envs, n_steps=128).learn(1_000_000)
    infos[i]["reward_task"], infos[i]["reward_intrinsic"], infos[i]["nats"]["layer0"]

The intrinsic reward arrives as reward: the agent discounts and bootstraps it like any other. An action that ends an
episode is paid for `terminal_observation`.
"""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from ndigo.curiosity.host import Curiosity
from ndigo.curiosity.paymaster import Options, Paymaster, check_options, num_discrete
from ndigo.errors import NdigoError, install
from ndigo.frames import Frame
from ndigo.rewards import IntrinsicReward

try:
    from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper  # pyright: ignore[reportMissingImports]
except ModuleNotFoundError:
    raise NdigoError(f"ndigo.curiosity.sb3 needs stable-baselines3: {install('sb3')}") from None


class Curious(VecEnvWrapper):
    """A vector of environments whose rewards are `task_weight` times its own plus `weight` times the pay.

    `options`, by name, are those of `ndigo.curiosity.paymaster.Paymaster`, which pays: weights, how often it learns.
    """

    def __init__(self, venv: VecEnv, reward: str | IntrinsicReward, frame: Frame, **options: Unpack[Options]) -> None:
        if not isinstance(venv, VecEnv):
            raise NdigoError(f"envs is a {type(venv).__name__}, expected a VecEnv, as make_vec_env returns it")
        super().__init__(venv)
        check_options(options)
        self._paymaster = Paymaster(reward, frame, num_discrete(venv.action_space), venv.num_envs, **options)
        self._actions: Any = None

    @property
    def curiosity(self) -> Curiosity:
        return self._paymaster.curiosity

    def reset(self) -> Any:
        observations = self.venv.reset()
        self._paymaster.reset(observations)
        return observations

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = np.array(actions)
        self.venv.step_async(actions)

    def step_wait(self) -> Any:
        observations, task, ends, infos = self.venv.step_wait()
        for n in np.flatnonzero(ends):
            if "terminal_observation" not in infos[n]:
                raise NdigoError(f'environment {n} ended an episode and its info has no "terminal_observation"')
        endings = {int(n): infos[n]["terminal_observation"] for n in np.flatnonzero(ends)}
        rewards = self._paymaster.pay(self._actions, observations, task, np.asarray(ends, bool), endings)
        for n, info in enumerate(infos):
            info["reward_task"], info["reward_intrinsic"] = float(rewards.task[n]), float(rewards.intrinsic[n])
            info["nats"] = {name: float(nats[n]) for name, nats in rewards.nats.items()}
        return observations, rewards.total, ends, infos
