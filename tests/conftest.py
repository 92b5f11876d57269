"""Set-up of all tests: compiled programs are kept between runs, and one tiny run serves many tests."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import ndigo
    from ndigo.evaluation.recording import Subject
    from ndigo.types import Episodes

_CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))

# Read by jax when it is first imported, hence set here and not in a fixture.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(_CACHE / "ndigo" / "jax"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> ndigo.Run:
    """An uninterrupted tiny run. Read only."""
    from tiny_runs import train_tiny

    return train_tiny(tmp_path_factory.mktemp("finished") / "run")


@pytest.fixture(scope="session")
def shipped() -> Subject:
    """The agent that ships with the checkout, ready to be watched."""
    from ndigo.api import load_trained

    return load_trained(Path(__file__).parent.parent / "results/agents/exp1-ndigo-4.safetensors").subject()


@pytest.fixture(scope="session")
def recorded(shipped: Subject) -> Episodes:
    """Two greedy episodes of the shipped agent. Read only."""
    from ndigo.evaluation.recording import episode_key, record

    return record(shipped, [episode_key(seed=0, episode=i) for i in range(2)])
