"""This machine: one process per GPU that JAX finds, or some on the CPU, each with one row at a time."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path

from ndigo.errors import FailedError
from ndigo.scale.engine import Asked, Work
from ndigo.scale.note import read_note, remove_note, write_note
from ndigo.scale.sweep import Sweep, SweepRow
from ndigo.scale.vary import packs
from ndigo.storage.run_folder import make_folder

LOG = "job.log"  # in the folder of a process' first row: what it printed
COUNT_GPUS = "import jax; print(jax.device_count() if jax.default_backend() == 'gpu' else 0)"
PYTHON = (sys.executable, "-P")  # without the working folder, which Python would search first
SHARED_MEMORY = 0.9  # of a GPU, by all processes on it; JAX alone takes 0.75


def launch(sweep: Sweep, rows: Sequence[SweepRow], asked: Asked) -> Work:
    gpus = visible_gpus()
    slots = places(gpus, asked.jobs)
    for row in rows:
        remove_note(row.path)
    # On the CPU one row fills the cores, and rows do not pack themselves.
    pool = Pool(packs(rows, sweep.pack, len(slots) if gpus else len(rows)), slots)
    on = f"{len(gpus)} GPU{'s' * (len(gpus) != 1)}" if gpus else "the CPU"
    about = f"this machine, {len(slots)} at once on {on}"
    return Work(about, pool.is_over, poll_seconds=0.1, stop=pool.stop, kill=pool.kill)


def visible_gpus() -> list[str]:
    """What CUDA calls the GPUs that JAX would use. Asked in a process of its own: to look is to take their memory."""
    if not entry_points(group="jax_plugins"):  # JAX for the CPU alone
        return []
    found = subprocess.run([*PYTHON, "-c", COUNT_GPUS], capture_output=True, text=True)
    if found.returncode:  # as with JAX_PLATFORMS=cuda and no GPU
        raise FailedError("JAX finds no device to train on; python -c 'import jax; jax.devices()' shows why")
    count = int(found.stdout.split()[-1])
    named = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    return named[:count] if named else [str(i) for i in range(count)]


def places(gpus: Sequence[str], jobs: int | None) -> list[dict[str, str]]:
    """The variables of each process that trains at once; more processes than GPUs share them."""
    if not gpus:
        return [{}] * (jobs or 1)
    jobs = jobs or len(gpus)
    each = -(-jobs // len(gpus))
    memory = {} if each == 1 else {"XLA_PYTHON_CLIENT_MEM_FRACTION": f"{SHARED_MEMORY / each:.3f}"}
    return [{"CUDA_VISIBLE_DEVICES": gpus[i % len(gpus)]} | memory for i in range(jobs)]


class Pool:
    """Rows that wait, those together that one program trains, and processes that train; every look starts what has a
    free place.
    """

    def __init__(self, packs: Sequence[Sequence[SweepRow]], slots: Sequence[dict[str, str]]):
        self._waiting = list(packs)
        self._free = list(slots)
        self._running: list[tuple[subprocess.Popen[bytes], Sequence[SweepRow], dict[str, str]]] = []

    def is_over(self) -> bool:
        for entry in [entry for entry in self._running if entry[0].poll() is not None]:
            self._running.remove(entry)
            process, rows, slot = entry
            self._free.append(slot)
            for row in rows:
                note_sudden_end(row, process.pid, process.returncode, rows[0].path / LOG)
        while self._waiting and self._free:
            rows, slot = self._waiting.pop(0), self._free.pop(0)
            self._running.append((_start(rows, slot), rows, slot))
        return not self._running

    def stop(self) -> None:
        self._waiting.clear()
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._waiting.clear()
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        for process, _, _ in self._running:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(number)


def _start(rows: Sequence[SweepRow], slot: dict[str, str]) -> subprocess.Popen[bytes]:
    """One process for rows that train together; the first one's folder has what it prints."""
    make_folder(rows[0].path)
    with open(rows[0].path / LOG, "ab") as log:
        process = subprocess.Popen(
            [*PYTHON, "-m", "ndigo.scale.job", *(str(row.path) for row in rows)],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=os.environ | slot,
            start_new_session=True,  # a terminal's Ctrl-C is for the sweep, which hands it on once
        )
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError), process.stdin:  # it died at once; its code says so
        process.stdin.write(json.dumps([dataclasses.asdict(row.config) for row in rows]).encode())
    return process


def note_sudden_end(row: SweepRow, pid: int, code: int, log: Path) -> None:
    """Of a process that could not say itself how it ended."""
    found = read_note(row.path)
    if code == 0 or found is None or (found[0].state, found[0].pid) != ("running", pid):
        return
    ended = f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
    write_note(row.path, dataclasses.replace(found[0], state="failed", why=f"{ended}; see {log}"))
