"""How far a row is, read from its run folder alone: the same answer under every engine, and from any machine."""

from __future__ import annotations

import os
import socket
import time
from dataclasses import dataclass

from ndigo.errors import NdigoError
from ndigo.scale.note import Note, read_note
from ndigo.scale.sweep import SweepRow
from ndigo.storage.run_folder import RunFolder

STATES = ("done", "running", "silent", "failed", "stopped", "queued", "begun", "waiting")
SILENT_SECONDS = 180.0  # without a sign of life; jobs give one every 10 s, and network disks show it late
LINES_OF_SPEED = 10  # lines of metrics that the speed is taken over


@dataclass(frozen=True)
class Seen:
    """What the folder of a row says."""

    state: str
    step: int = 0
    where: str = ""
    seconds: float | None = None
    """Since it runs, is silent or is queued; of one that has ended, how long it ran."""
    per_second: float | None = None
    """Learner steps."""
    left: float | None = None
    """Seconds, at that speed."""
    why: str = ""


def look(row: SweepRow, now: float | None = None) -> Seen:
    """The row's state, and of one that runs where, since when, how fast and for how long still."""
    now = time.time() if now is None else now
    try:
        lines = RunFolder(row.path).metrics()
    except NdigoError as damage:  # of one row, which is no reason to say nothing of the others
        return Seen("failed", why=str(damage))
    step = lines[-1]["step"] if lines else 0
    # The line is written before the checkpoint: a kill between the two leaves a run that has to go on.
    if step >= row.config.learner_steps and (row.path / "checkpoints" / f"step_{step}").is_dir():
        return Seen("done", step)
    found = read_note(row.path)
    if found is None:
        return Seen("begun" if lines else "waiting", step)
    note, sign = found
    if note.state != "running":
        state = "begun" if note.state == "done" else note.state
        until = now if state == "queued" else sign
        return Seen(state, step, note.engine, seconds=until - note.since, why=note.why)
    where = f"{note.host}, GPU {note.devices}" if note.devices else note.host
    if now - sign > SILENT_SECONDS or _is_gone(note):
        return Seen("silent", step, where, seconds=now - sign, why=f"process {note.pid} on {note.host} is not heard of")
    speed = _per_second(lines[-LINES_OF_SPEED:])
    left = (row.config.learner_steps - step) / speed if speed else None
    return Seen("running", step, where, seconds=now - note.since, per_second=speed, left=left)


def _is_gone(note: Note) -> bool:
    """True of a process of this machine that has ended without a word."""
    if note.host != socket.gethostname():
        return False
    try:
        os.kill(note.pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # somebody else's, so it lives
        return False
    return False


def _per_second(lines: list[dict]) -> float | None:
    """Learner steps per second between the first and the last line; of one line, since the run began."""
    if not lines:
        return None
    first = lines[0] if len(lines) > 1 else {"step": 0, "seconds": 0.0}
    seconds = lines[-1]["seconds"] - first["seconds"]
    return (lines[-1]["step"] - first["step"]) / seconds if seconds > 0 else None
