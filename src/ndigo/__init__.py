"""ndigo: an agent that discovers its world, and the instruments to see and prove that it does.

Names are loaded when first used, so that `import ndigo` and the command line start at once.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    from ndigo.paper.experiments import EXPERIMENTS as EXPERIMENTS
    from ndigo.rewards import REWARDS as REWARDS
    from ndigo.rewards import IntrinsicReward as IntrinsicReward
    from ndigo.rewards import make_reward as make_reward
    from ndigo.worlds import WORLDS as WORLDS
    from ndigo.worlds import World as World
    from ndigo.worlds import make_world as make_world

__version__ = "0.2.0"

_HOMES = {
    "EXPERIMENTS": "ndigo.paper.experiments",
    "PRESETS": "ndigo.config",
    "REWARDS": "ndigo.rewards",
    "WORLDS": "ndigo.worlds",
    "Config": "ndigo.config",
    "Curiosity": "ndigo.curiosity.host",
    "curiosity": "ndigo.curiosity",
    "IntrinsicReward": "ndigo.rewards",
    "NdigoError": "ndigo.errors",
    "Run": "ndigo.api",
    "World": "ndigo.worlds",
    "load": "ndigo.api",
    "make_reward": "ndigo.rewards",
    "make_world": "ndigo.worlds",
    "open_run": "ndigo.api",
    "resume": "ndigo.api",
    "train": "ndigo.api",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'ndigo' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
