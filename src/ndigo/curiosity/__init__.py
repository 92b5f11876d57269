"""Our curiosity in anyone's agent: pure functions (`record`), and faces for those who work elsewhere.

ndigo.curiosity(reward, frame, num_actions)      pure functions: init, start, pay, pay_rollout, learn
ndigo.curiosity.sb3.Curious(envs, ...)           a face; each is loaded when first used
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any, SupportsIndex, cast

from ndigo.config import Config
from ndigo.curiosity.record import PureCuriosity, make_curiosity
from ndigo.frames import Frame
from ndigo.rewards import IntrinsicReward

FACES = ("gymnasium", "gymnax", "host", "paymaster", "sb3")  # some need packages that not everyone has


class CallableModule(ModuleType):
    """`ndigo.curiosity` is this folder and, as people write it, the function."""

    def __call__(
        self, reward: str | IntrinsicReward, frame: Frame, num_actions: SupportsIndex, config: Config | None = None
    ) -> PureCuriosity:
        """Pure functions, `init`, `start`, `pay`, `pay_rollout` and `learn`, for streams of these frames."""
        return make_curiosity(reward, frame, num_actions, config)

    def __getattr__(self, name: str) -> Any:
        if name in FACES:
            return importlib.import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


sys.modules[__name__].__class__ = CallableModule
curiosity = cast(CallableModule, sys.modules[__name__])  # for `ndigo.__getattr__`: the same at every use

__all__ = ["PureCuriosity", "make_curiosity"]
