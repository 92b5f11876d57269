"""Runs so small that only their compilation takes time; all share one configuration, so it is paid once."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ndigo
from ndigo.storage.run_folder import RunFolder, sealed_settings

EXAMPLES = Path(__file__).parents[2] / "examples"

# Chunks of 4 updates, an evaluation every second chunk, 5 chunks in all.
TINY: dict[str, Any] = {
    "preset": "cpu",
    "seeds": 2,
    "num_ahead": 2,
    "belief_size": 8,
    "num_features": 8,
    "predictor_hidden": 8,
    "head_hidden": 8,
    "probe_hidden": 8,
    "batch": 4,
    "window": 6,
    "actors": 2,
    "updates_per_round": 2,
    "replay_steps": 96,
    "learner_steps": 20,
    "last_rate": 1.0,  # what is learned by a step is the same in a longer run
    "rounds_per_chunk": 2,
    "chunks_per_evaluation": 2,
    "evaluation_episodes": 3,
}
CHUNK = 4
WORLD = "custom_world:world"  # examples/custom_world.py: compiles faster than a map
TRUST = ("custom_world",)  # what a run in it needs to be opened again
FLAGS = [word for name, value in TINY.items() for word in (f"--{name.replace('_', '-')}", str(value))]


# Tests that are killed would leave their processes behind, and some of these train for hours.
DIES_WITH_US = """
import ctypes, os, signal
if hasattr(libc := ctypes.CDLL(None), "prctl"):  # Linux
    libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() == 1:
        os._exit(1)
"""


def train_tiny(out: Path, reward: Any = "ndigo-1", world: Any = WORLD, **changes: Any) -> ndigo.Run:
    """A quiet run from Python."""
    return ndigo.train(world, reward, out=out, quiet=True, **{**TINY, **changes})


def numbers(run: Path) -> list[dict[str, Any]]:
    """A run's lines without what the clock says."""
    clock = ("seconds", "transitions_per_second")
    return [{k: v for k, v in line.items() if k not in clock} for line in RunFolder(run).metrics()]


def change_settings(run: Path, old: str, new: str) -> None:
    """Other text in a run's settings, sealed as if it had been written so."""
    text = json.dumps(RunFolder(run).settings())
    assert old in text
    (run / "config.json").write_bytes(sealed_settings(json.loads(text.replace(old, new))))


def wait_for_lines(
    process: subprocess.Popen[str],
    run: Path,
    count: int,
    meanwhile: Callable[[], object] = lambda: None,
    patience: float = 200,
) -> None:
    """Until the process has written so many lines of the run's metrics."""
    metrics, deadline = run / "metrics.jsonl", time.monotonic() + patience
    while not (metrics.exists() and metrics.read_bytes().count(b"\n") >= count):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        meanwhile()
        time.sleep(0.01)


def start(
    *words: str,
    first: str = "",
    stdin: int | None = None,
    stdout: int = subprocess.PIPE,
    stderr: int = subprocess.PIPE,
) -> subprocess.Popen[str]:
    """`ndigo ...` as a process of its own, in the folder of the examples; code may come first."""
    code = f"{DIES_WITH_US}\nimport sys\n{first}\nfrom ndigo.cli import main\nsys.exit(main())"
    return subprocess.Popen(
        [sys.executable, "-c", code, *words],
        cwd=EXAMPLES,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        text=True,
    )
