"""Sweep files whose rows are the tiny runs of the other tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tiny_runs import TINY, WORLD, start


def write_sweep(path: Path, rest: str = "", **changes: Any) -> Path:
    """A file of tiny rows; `rest` are its tables."""
    common = TINY | {"world": WORLD, "reward": "ndigo-1"} | changes
    # A name, a number or a text is written in TOML as in JSON.
    path.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in common.items()) + rest)
    return path


def swept_here(file: Path, out: Path) -> Path:
    """The folder of its rows, trained by processes of their own: what other packages do to this one does not matter."""
    process = start("sweep", str(file), "--on", "local", "--out", str(out), "--trust", "custom_world")
    printed, err = process.communicate(timeout=500)
    assert process.returncode == 0, (printed, err)
    return out
