"""What a row's job says of itself in its run folder: job.json, whose time of change is the sign that it lives.

The file is all that `ndigo sweep status` needs beside the run's own, so it reads the same under every engine.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ndigo.errors import NdigoError, explained
from ndigo.storage.lock import one_writer
from ndigo.storage.run_folder import WriteError, make_folder, write_whole

NAME = "job.json"
STATES = ("queued", "running", "stopped", "failed", "done")
LARGEST = {"pid": 2**31, "since": 1e12}  # what the system and a calendar still know
BEAT_SECONDS = 10.0
BUSY_SECONDS = 60.0


class Interrupted(NdigoError):
    """A signal ended the job, and its run is saved: to run the job again goes on from there."""

    exit_code = 1


@dataclass(frozen=True)
class Note:
    """The last that is known of a row's job."""

    state: str
    """queued, running, stopped (saved, to be continued), failed or done."""
    engine: str
    since: float
    """When it was queued or began, in seconds since 1970."""
    why: str = ""
    host: str = ""
    pid: int = 0
    devices: str = ""
    job: str = ""
    """The engine's own name for it."""


def write_note(run: Path, note: Note) -> None:
    make_folder(run)
    write_whole(run / NAME, json.dumps(dataclasses.asdict(note), indent=1).encode())


def read_note(run: Path) -> tuple[Note, float] | None:
    """The note and when it last gave a sign of life; None where there is none that can be read."""
    try:
        with open(run / NAME, "rb") as file:
            note = Note(**json.load(file))
            return (note, os.fstat(file.fileno()).st_mtime) if _is_right(note) else None
    except (OSError, ValueError, TypeError, RecursionError):
        return None


def _is_right(note: Note) -> bool:
    """Whether the values are of the fields' types, as a process that looks on reckons with them."""
    texts = note.engine, note.why, note.host, note.devices, note.job
    return (
        note.state in STATES
        and all(isinstance(text, str) for text in texts)
        and isinstance(note.pid, int)
        and isinstance(note.since, int | float)
        and all(0 <= getattr(note, name) < largest for name, largest in LARGEST.items())
    )


def remove_note(run: Path) -> None:
    """Of an attempt that is over: what it says is no longer so when the row is trained again."""
    (run / NAME).unlink(missing_ok=True)


@contextlib.contextmanager
def noted(run: Path, engine: str) -> Iterator[Callable[[NdigoError], None]]:
    """Says that the job runs, gives signs of life, and says how it ended.

    What it gives is to be called with the error of a row that fails while others of its job go on.
    """
    note = Note(
        state="running",
        engine=engine,
        since=time.time(),
        host=socket.gethostname(),
        pid=os.getpid(),
        devices=os.environ.get("CUDA_VISIBLE_DEVICES", ""),
        job=os.environ.get("SLURM_JOB_ID", ""),
    )
    failures: list[NdigoError] = []

    def end(state: str, why: str = "") -> None:
        if failures:
            state, why = "failed", reason(failures[0])
        write_note(run, dataclasses.replace(note, state=state, why=why))

    def fail(error: NdigoError) -> None:
        failures.append(error)
        end("failed")

    _write_first(run, note)
    with _beating(run):
        try:
            yield fail
        except BaseException as error:
            # SystemExit: how an engine leaves a job that it runs again.
            is_stop = isinstance(error, Interrupted | SystemExit | KeyboardInterrupt)
            state = "stopped" if is_stop else "failed"
            with contextlib.suppress(WriteError):  # the disk may be what failed
                end(state, reason(error))
            raise
        end("done")


def _write_first(run: Path, note: Note) -> None:
    """Under the run's lock: where another process trains the row, an error names it, and what that one noted stays.

    One on a node that its engine has given up may need a moment to end, hence the patience.
    """
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            with one_writer(run):
                return write_note(run, note)
        except WriteError:
            raise
        except NdigoError:
            if time.monotonic() > until:
                raise
            time.sleep(0.5)


def reason(error: BaseException) -> str:
    """One line, of errors that a user can cause the text alone."""
    error = (explained(error) if isinstance(error, Exception) else None) or error
    text = " ".join(str(error).split())[:400]
    return text if isinstance(error, NdigoError) else f"{type(error).__name__}: {text}".removesuffix(": ")


@contextlib.contextmanager
def _beating(run: Path) -> Iterator[None]:
    over = threading.Event()

    def beat() -> None:
        while not over.wait(BEAT_SECONDS):
            with contextlib.suppress(OSError):
                os.utime(run / NAME)

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
