"""The seam between a sweep and what trains its rows: an engine is a function that takes rows and gives back `Work`."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType

from ndigo.errors import NdigoError, install
from ndigo.scale.sweep import Sweep, SweepRow


@dataclass(frozen=True)
class Work:
    """Rows that an engine has taken."""

    about: str
    """Where they are trained."""
    is_over: Callable[[], bool]
    """True when no row is queued or running any more; called every `poll_seconds`."""
    poll_seconds: float
    stop: Callable[[], None] = lambda: None
    """Ends the rows, saved."""
    kill: Callable[[], None] = lambda: None
    """Ends them at once."""
    outlives: str = ""
    """Of rows that go on when this command is stopped: how to see them in the engine itself."""


@dataclass(frozen=True)
class Asked:
    """What the command line says to an engine."""

    jobs: int | None = None
    address: str | None = None


# The rows are those of the sweep that are neither done nor running; where there are none, the engine may still have
# some of an earlier command to watch.
Launch = Callable[[Sweep, Sequence[SweepRow], Asked], Work]


def find_engine(name: str) -> Launch:
    """An engine is a module of this folder with a function `launch`: local, ray or slurm."""
    return importlib.import_module(f"ndigo.scale.{name}").launch


def load_extra(package: str, extra: str) -> ModuleType:
    """The package that an engine stands on; an error says how to install it."""
    try:
        return importlib.import_module(package)
    except ImportError:
        raise NdigoError(f"--on {extra} needs {package}: {install(extra)}") from None
