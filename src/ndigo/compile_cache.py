"""Compiled programs are kept in the user's cache folder: a second start takes a second, not twenty.

What the user has set, by JAX's variable or its configuration, stays.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

VARIABLE = "JAX_COMPILATION_CACHE_DIR"

_is_command = False


def keep_compiled_programs(*, is_command: bool = False) -> None:
    """Turns JAX's persistent cache on, before or after JAX has been imported.

    `is_command`: this process is a command line's, so that its functions are what the package's files say.
    """
    global _is_command
    _is_command = _is_command or is_command
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = str(home / "ndigo" / "jax")
    if "jax" not in sys.modules:
        # JAX reads both when it is imported; importing it here would cost a plain `--help` seconds.
        os.environ.setdefault(VARIABLE, folder)
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
        return
    import jax
    from jax.experimental.compilation_cache import compilation_cache

    if jax.config.jax_compilation_cache_dir is None:  # pyright: ignore[reportAttributeAccessIssue] - made at run time
        jax.config.update("jax_compilation_cache_dir", folder)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        compilation_cache.reset_cache()  # JAX asks once, at its first compilation, whether there is a cache


def by_source() -> Path | None:
    """Where programs lie that are found by the package's sources (`training/programs.py`).

    Nowhere in a process that is not a command's: in a notebook a function may have been replaced, and an old program
    would be run in its place without a word.
    """
    import jax

    folder = jax.config.jax_compilation_cache_dir  # pyright: ignore[reportAttributeAccessIssue] - made at run time
    return Path(folder) / "by-source" if _is_command and folder else None
