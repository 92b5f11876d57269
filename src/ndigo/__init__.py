"""ndigo: an agent that discovers its world, and the instruments to see and prove that it does.

Names are loaded when first used, so that `import ndigo` and the command line start at once.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ndigo import config as config
    from ndigo import frames as frames
    from ndigo.api import Run as Run
    from ndigo.api import load as load
    from ndigo.api import open_run as open_run
    from ndigo.api import resume as resume
    from ndigo.api import train as train
    from ndigo.config import PRESETS as PRESETS
    from ndigo.config import Config as Config
    from ndigo.curiosity import curiosity as curiosity
    from ndigo.curiosity.host import Curiosity as Curiosity
    from ndigo.errors import NdigoError as NdigoError
    from ndigo.interop.suites.spaces import frame_of as frame_of
    from ndigo.paper.experiments import EXPERIMENTS as EXPERIMENTS
    from ndigo.rewards import REWARDS as REWARDS
    from ndigo.rewards import IntrinsicReward as IntrinsicReward
    from ndigo.rewards import make_reward as make_reward
    from ndigo.worlds import WORLDS as WORLDS
    from ndigo.worlds import World as World
    from ndigo.worlds import make_world as make_world

__version__ = "0.2.0"

# The same names for Python, which type checkers read above; a test holds the two equal.
_HOMES = {
    "ndigo": ("config", "frames"),
    "ndigo.api": ("Run", "load", "open_run", "resume", "train"),
    "ndigo.config": ("PRESETS", "Config"),
    "ndigo.curiosity": ("curiosity",),
    "ndigo.curiosity.host": ("Curiosity",),
    "ndigo.errors": ("NdigoError",),
    "ndigo.interop.suites.spaces": ("frame_of",),
    "ndigo.paper.experiments": ("EXPERIMENTS",),
    "ndigo.rewards": ("REWARDS", "IntrinsicReward", "make_reward"),
    "ndigo.worlds": ("WORLDS", "World", "make_world"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'ndigo' has no attribute {name!r}")
    home = _HOME_OF[name]
    if home == __name__:
        return importlib.import_module(f"{home}.{name}")
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
