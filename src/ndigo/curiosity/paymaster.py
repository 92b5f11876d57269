"""What the faces for other people's environments share: pay, weigh, learn now and then, and say what was paid."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypedDict

import jax
import numpy as np

from ndigo.config import Config
from ndigo.curiosity.host import Curiosity, arrays
from ndigo.curiosity.record import DEFAULT, check_config, check_count
from ndigo.errors import NdigoError, unknown_name
from ndigo.frames import Frame
from ndigo.rewards import IntrinsicReward


@dataclass(frozen=True)
class Rewards:
    """One step of N environments."""

    total: np.ndarray  #: task_weight * task + weight * intrinsic
    task: np.ndarray
    intrinsic: np.ndarray  #: in nats, or scaled where that was asked for
    nats: dict[str, np.ndarray]  #: intrinsic by channel, never scaled


class Options(TypedDict, total=False):
    """What the faces take by name: those of `Paymaster`, which says what they are."""

    see: Callable[[Any], Any] | None
    weight: float
    task_weight: float
    learn_every: int
    updates: int | None
    config: Config | None
    scale: str | None
    gamma: float
    seed: int


class Paymaster:
    """A curiosity, how its pay is weighed against the task's reward, and when it learns.

    reward       a name (ndigo-4) or a record                 frame    what the agent sees (`ndigo.frames`)
    see          observations -> frames, where they differ    weight, task_weight    of the two rewards in their sum
    learn_every  steps of every environment between two times it learns; as long as your agent's rollout
    updates      of each of these times                       config   sizes of the world model and its replay
    scale        None: nats; "return-std": in units of the deviation of their returns, discounted by gamma
    seed         of the weights, and of which windows are learned from
    """

    def __init__(
        self,
        reward: str | IntrinsicReward,
        frame: Frame,
        num_actions: int,
        num_envs: int,
        *,
        see: Callable[[Any], Any] | None = None,
        weight: float = 1.0,
        task_weight: float = 1.0,
        learn_every: int = 128,
        updates: int | None = None,
        config: Config | None = None,
        scale: str | None = None,
        gamma: float = 0.99,
        seed: int = 0,
    ):
        learn_every = check_count("learn_every", learn_every)
        for name, value in (("weight", weight), ("task_weight", task_weight)):
            if not isinstance(value, Real) or not np.isfinite(value):
                raise NdigoError(f"{name} is {value!r}, expected a finite number")
        check_config(config)
        config = DEFAULT if config is None else config
        if updates is not None:
            config = dataclasses.replace(config, updates_per_round=check_count("updates", updates))
        if see is not None and not callable(see):
            raise NdigoError(f"see is {see!r}, expected a function of observations, such as lambda o: o['image']")
        self.curiosity = Curiosity(
            reward, frame, num_actions, num_envs, config=config, seed=seed, scale=scale, gamma=gamma
        )
        room = self.curiosity.state.streams.num_held // 2  # a step that ends an episode has two frames
        if learn_every > room:
            raise NdigoError(
                f"learn_every is {learn_every}, expected at most {room}: replay_steps {config.replay_steps} is room "
                f"for as many steps of {num_envs} environments"
            )
        self.see = (lambda o: arrays(see(o))) if see else arrays
        self.weight, self.task_weight, self.learn_every = float(weight), float(task_weight), learn_every

    def reset(self, observations: Any) -> None:
        self.curiosity.reset(self.see(observations))

    def pay(
        self,
        actions: Any,
        observations: Any,
        task: Any,
        is_first: np.ndarray,
        endings: Mapping[int, Any] | None = None,
    ) -> Rewards:
        """Learns after the pay, when it is time: nobody is paid by a model that has seen what it is paid for.

        `endings` are the observations that ended episodes, by environment, of worlds that reset within a step.
        """
        task, num_envs = np.asarray(task, np.float32), self.curiosity.num_envs
        if task.shape != (num_envs,):
            raise NdigoError(f"the environments' rewards have the shape {list(task.shape)}, expected [{num_envs}]")
        if not np.isfinite(task).all():
            n = int((~np.isfinite(task)).argmax())
            raise NdigoError(f"environment {n} returned the reward {task[n]}, expected a finite number")
        seen = self.see(observations)
        finals = None if endings is None else self._finals(seen, endings)
        intrinsic, nats = self.curiosity.pay(actions, seen, is_first, finals)
        if self.curiosity.num_pending >= self.learn_every:
            self.curiosity.learn()
        by_channel = dict(zip(self.curiosity.channels, nats.T, strict=True))
        return Rewards(self.task_weight * task + self.weight * intrinsic, task, intrinsic, by_channel)

    def _finals(self, seen: Any, endings: Mapping[int, Any]) -> Any:
        """The frames, with those that ended an episode in place of the new first ones of these environments."""
        finals = jax.tree.map(np.array, seen)
        for n, ending in endings.items():
            one = self.see(jax.tree.map(lambda x: np.asarray(x)[None], ending))
            for frames, frame in zip(jax.tree.leaves(finals), jax.tree.leaves(one), strict=True):
                frames[n] = frame[0]
        return finals


def check_options(options: Mapping[str, Any]) -> None:
    """An error for a name that no face takes, with the nearest that it does."""
    for name in options:
        if name not in Options.__annotations__:
            raise unknown_name("option", name, Options.__annotations__)


def num_discrete(space: Any) -> int:
    """How many actions a space has; an error where it is not a finite choice from 0 on."""
    is_discrete = hasattr(space, "n") and type(space).__name__ != "MultiBinary"  # which has an n of its own
    if not is_discrete or getattr(space, "start", 0) != 0:
        raise NdigoError(f"the actions are {space}, expected Discrete(n) from 0 on")
    return int(space.n)
