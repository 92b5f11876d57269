"""Compiled programs are kept in the user's cache folder: a second start takes a second, not twenty.

They are machine code, and whoever can write there decides what is run: the folder is the user's alone, or it is not
used. What the user has set, by JAX's variable or its configuration, stays.
"""

from __future__ import annotations

import functools
import os
import re
import stat
import sys
import warnings
from pathlib import Path
from typing import Any

VARIABLE = "JAX_COMPILATION_CACHE_DIR"
NOT_KEPT = "ndigo: compiled programs are not kept"
DAMAGED = re.compile(r"Error reading persistent compilation cache entry for '(?P<name>[\w.<>-]+)'")

_is_command = False


def keep_compiled_programs(*, is_command: bool = False) -> None:
    """Turns JAX's persistent cache on, before or after JAX has been imported.

    `is_command`: this process is a command line's, so that its functions are what the package's files say.
    """
    global _is_command
    if is_command and not _is_command:
        _is_command = True
        _drop_what_is_damaged()
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ndigo" / "jax"
    except RuntimeError:  # a container's user, of whom the system knows nothing
        if VARIABLE not in os.environ:
            print(f"{NOT_KEPT}: this user has no home; name a folder in HOME or XDG_CACHE_HOME", file=sys.stderr)
            return
        folder = Path(os.environ[VARIABLE])
    if "jax" not in sys.modules:
        # JAX reads both when it is imported; importing it here would cost a plain `--help` seconds.
        if VARIABLE not in os.environ and is_private(folder):
            os.environ[VARIABLE] = str(folder)
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
        return
    import jax
    from jax.experimental.compilation_cache import compilation_cache

    if _jax_folder() is None and is_private(folder):
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        compilation_cache.reset_cache()  # JAX asks once, at its first compilation, whether there is a cache


def by_source() -> Path | None:
    """Where programs lie that are found by the package's sources (`fast/programs.py`).

    Nowhere in a process that is not a command's: in a notebook a function may have been replaced, and an old program
    would be run in its place without a word.
    """
    folder = _jax_folder()
    if not _is_command or not folder or "://" in folder:  # JAX can keep its own in a bucket
        return None
    return Path(folder) / "by-source" if is_private(Path(folder) / "by-source") else None


@functools.cache
def is_private(folder: Path) -> bool:
    """Whether the folder, made where it is missing, is this user's alone; says so once where it is not."""
    problem = _problem(folder)
    if problem:
        print(f"{NOT_KEPT}: {problem}", file=sys.stderr)
    return not problem


def _problem(folder: Path) -> str:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = folder.resolve()
        own = folder.stat()
        above = {path: path.stat() for path in folder.parents}
        if own.st_uid == os.geteuid() and not own.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            folder.chmod(0o700)
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    if own.st_uid != os.geteuid():
        return f"{folder} belongs to another user"
    if own.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others can write {folder}; delete it, and it is made anew for you alone"
    for path, found in above.items():
        # In a folder with the sticky bit, as /tmp is, nobody can replace what is another's.
        if found.st_uid not in (0, os.geteuid()):
            return f"{path}, in which they would lie, belongs to another user"
        if found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX:
            return f"everybody can write {path}, in which they would lie"
    return ""


def _jax_folder() -> str | None:
    import jax

    return jax.config.jax_compilation_cache_dir  # pyright: ignore[reportAttributeAccessIssue] - made at run time


def _drop_what_is_damaged() -> None:
    """A compiled program that JAX cannot read is removed without a word, so that it is made anew.

    JAX itself compiles it, warns, and leaves the damaged one in place for the next start.
    """
    show = warnings.showwarning

    def drop_or_show(message: Warning | str, *args: Any, **more: Any) -> None:
        found, folder = DAMAGED.match(str(message)), _jax_folder()
        if found is None or not folder or "://" in folder:
            show(message, *args, **more)
            return
        for entry in Path(folder).glob(f"{found['name']}-*-cache"):
            entry.unlink(missing_ok=True)

    warnings.showwarning = drop_or_show
