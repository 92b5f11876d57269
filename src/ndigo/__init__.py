"""ndigo: an agent that discovers its world, and the instruments to see and prove that it does.

Names are loaded when first used, so that `import ndigo` and the command line start at once.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ndigo.errors import NdigoError as NdigoError
    from ndigo.experiments import EXPERIMENTS as EXPERIMENTS
    from ndigo.worlds import WORLDS as WORLDS
    from ndigo.worlds import World as World
    from ndigo.worlds import make_world as make_world

__version__ = "0.1.0"

_HOMES = {
    "EXPERIMENTS": "ndigo.experiments",
    "NdigoError": "ndigo.errors",
    "WORLDS": "ndigo.worlds",
    "World": "ndigo.worlds",
    "make_world": "ndigo.worlds",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'ndigo' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
