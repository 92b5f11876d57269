"""Set-up of all tests: compiled programs are kept between runs, and one tiny run serves many tests."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import ndigo

_CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))

# Read by jax when it is first imported, hence set here and not in a fixture.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(_CACHE / "ndigo" / "jax"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> ndigo.Run:
    """An uninterrupted tiny run. Read only."""
    from tiny_runs import train_tiny

    return train_tiny(tmp_path_factory.mktemp("finished") / "run")
