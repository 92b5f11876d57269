"""Our curiosity in anyone's agent: pure functions (`record`), and faces for those who work elsewhere.

ndigo.curiosity(reward, frame, num_actions)      pure functions: init, start, pay, pay_rollout, learn
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from ndigo.curiosity.record import PureCuriosity, make_curiosity

curiosity = make_curiosity  # for `ndigo.__getattr__`


class _Callable(ModuleType):
    """`ndigo.curiosity` is this folder and, as people write it, the function."""

    def __call__(self, *args: Any, **kwargs: Any) -> PureCuriosity:
        return make_curiosity(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable

__all__ = ["PureCuriosity", "make_curiosity"]
