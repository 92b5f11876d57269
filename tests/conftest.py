"""Set-up of all tests: compiled programs are kept between runs, in the user's cache folder."""

import os
from pathlib import Path

_CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))

# Read by jax when it is first imported, hence set here and not in a fixture.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(_CACHE / "ndigo" / "jax"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
