"""Curiosity around any Gymnasium vector environment.

    envs = CuriousVectorEnv(gymnasium.make_vec("MiniGrid-MultiRoom-N6-v0", 16), "ndigo-4", frames.tiles(), weight=0.1)
    observations, rewards, terminations, truncations, infos = envs.step(actions)
    infos["reward_task"], infos["reward_intrinsic"], infos["nats"]["layer0"]    # [16] each; `rewards` is the sum

It follows the `autoreset_mode` of the environment: with NEXT_STEP the step that resets is paid 0, with SAME_STEP the
last action is paid for `final_obs`; with DISABLED all are reset together.
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
    import gymnasium
    from gymnasium.vector import AutoresetMode
except ModuleNotFoundError:
    raise NdigoError(f"ndigo.curiosity.gymnasium needs gymnasium: {install('gym')}") from None


class CuriousVectorEnv(gymnasium.vector.VectorWrapper):
    """A vector environment whose rewards are `task_weight` times its own plus `weight` times the pay.

    `options`, by name, are those of `ndigo.curiosity.paymaster.Paymaster`, which pays: weights, how often it learns.
    """

    def __init__(
        self, env: gymnasium.vector.VectorEnv, reward: str | IntrinsicReward, frame: Frame, **options: Unpack[Options]
    ) -> None:
        if not isinstance(env, gymnasium.vector.VectorEnv):
            kind = type(env).__name__
            raise NdigoError(f"env is a {kind}, expected a VectorEnv, as gymnasium.make_vec returns it")
        super().__init__(env)
        mode = env.metadata.get("autoreset_mode")
        if mode is None:
            raise NdigoError("the environment's metadata has no autoreset_mode: NEXT_STEP, SAME_STEP or DISABLED")
        self._mode = AutoresetMode(mode)
        check_options(options)
        self._paymaster = Paymaster(reward, frame, num_discrete(env.single_action_space), env.num_envs, **options)
        self._has_ended = np.zeros(env.num_envs, bool)
        self._has_begun = False

    @property
    def curiosity(self) -> Curiosity:
        return self._paymaster.curiosity

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        if options is not None and "reset_mask" in options:
            raise NdigoError("reset_mask: the environments of a curious vector are reset together")
        observations, infos = self.env.reset(seed=seed, options=options)
        self._paymaster.reset(observations)
        self._has_ended[:] = False
        self._has_begun = True
        return observations, infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        if not self._has_begun:
            raise NdigoError("step before the first frames: reset() first")
        observations, task, terminations, truncations, infos = self.env.step(actions)
        ends = np.asarray(terminations) | np.asarray(truncations)
        is_first, endings = self._has_ended.copy(), None
        if self._mode is AutoresetMode.SAME_STEP:
            if ends.any() and "final_obs" not in infos:
                raise NdigoError('an episode ended and infos has no "final_obs", expected with AutoresetMode.SAME_STEP')
            is_first, endings = ends, {int(n): infos["final_obs"][n] for n in np.flatnonzero(ends)}
        elif self._mode is AutoresetMode.NEXT_STEP:
            self._has_ended = ends
        rewards = self._paymaster.pay(actions, observations, task, is_first, endings)
        everyone = np.ones(self.num_envs, bool)
        for name, value in (("task", rewards.task), ("intrinsic", rewards.intrinsic)):
            infos |= {f"reward_{name}": value, f"_reward_{name}": everyone}
        infos |= {"nats": rewards.nats, "_nats": everyone}
        return observations, rewards.total, terminations, truncations, infos
