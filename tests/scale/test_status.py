"""What a row's folder says: done, running, silent, failed or waiting, and how long it will take."""

from __future__ import annotations

import json
import os
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from ndigo.config import Config
from ndigo.scale.note import NAME, Interrupted, Note, noted, read_note, write_note
from ndigo.scale.status import SILENT_SECONDS, look
from ndigo.scale.sweep import SweepRow
from ndigo.storage.run_folder import RunFolder

NOW = 1_000_000.0


def row_with(path: Path, lines: list[dict[str, Any]], **note: Any) -> SweepRow:
    """A row of 1000 learner steps with these lines; its job's last sign of life is `NOW - ago`."""
    path.mkdir(exist_ok=True)
    (path / "metrics.jsonl").unlink(missing_ok=True)
    folder = RunFolder(path)
    for each in lines:
        folder.append(each)
    if note:
        ago = note.pop("ago", 0.0)
        write_note(path, Note(**{"engine": "ray", "since": NOW - 600, "host": "far", "pid": 7} | note))
        os.utime(path / NAME, (NOW - ago, NOW - ago))
    return SweepRow("row", Config(learner_steps=1000), path)


def line(step: int, seconds: float) -> dict[str, Any]:
    return {"step": step, "seconds": seconds}


def test_a_row_that_runs_says_where_since_when_how_fast_and_for_how_long_still(tmp_path):
    # 100 steps in the last 50 s: 2 per second, and 600 are left.
    row = row_with(tmp_path, [line(300, 1000.0), line(400, 1050.0)], state="running", devices="3")
    seen = look(row, NOW)
    assert (seen.state, seen.step, seen.where) == ("running", 400, "far, GPU 3")
    assert (seen.seconds, seen.per_second, seen.left) == (600.0, 2.0, 300.0)


def test_the_speed_is_that_of_the_last_lines_and_of_one_line_since_the_beginning(tmp_path):
    # Compilation made the first line slow; it is the eleventh from the end, and not counted.
    lines = [line(0, 0.0), *(line(10 * (i + 1), 500.0 + i) for i in range(10))]
    assert look(row_with(tmp_path, lines, state="running"), NOW).per_second == 10.0
    assert look(row_with(tmp_path, [line(10, 5.0)], state="running"), NOW).per_second == 2.0
    assert look(row_with(tmp_path, [], state="running"), NOW).per_second is None


def test_a_row_is_done_when_its_last_step_has_its_checkpoint(tmp_path):
    row = row_with(tmp_path, [line(1000, 9.0)], state="running")
    assert look(row, NOW).state == "running"
    (tmp_path / "checkpoints" / "step_1000").mkdir(parents=True)
    assert look(row, NOW).state == "done"


@pytest.mark.parametrize(("ago", "state"), [(SILENT_SECONDS - 1, "running"), (SILENT_SECONDS + 1, "silent")])
def test_a_job_that_gives_no_sign_of_life_is_silent(ago, state, tmp_path):
    assert look(row_with(tmp_path, [], state="running", ago=ago), NOW).state == state


def test_a_process_of_this_machine_that_is_gone_is_silent_at_once(tmp_path):
    here = {"state": "running", "host": socket.gethostname()}
    assert look(row_with(tmp_path, [], **here, pid=os.getpid()), NOW).state == "running"
    assert look(row_with(tmp_path, [], **here, pid=2**22 + 1), NOW).state == "silent"  # beyond the largest number


def test_rows_that_do_not_run_say_why(tmp_path):
    row = row_with(tmp_path, [line(40, 3.0)], state="failed", why="out of luck")
    assert (look(row, NOW).state, look(row, NOW).why) == ("failed", "out of luck")
    queued = look(row_with(tmp_path, [], state="queued", ago=500.0), NOW)
    assert (queued.state, queued.seconds) == ("queued", 600.0)
    shutil.rmtree(tmp_path)
    assert look(row_with(tmp_path, []), NOW).state == "waiting"
    assert look(row_with(tmp_path, [line(40, 3.0)]), NOW).state == "begun"  # by ndigo train, which leaves no note


@pytest.mark.parametrize("state", ["failed", "stopped"])
def test_a_row_that_has_ended_says_how_long_it_ran(state, tmp_path):
    # It began 600 s ago and ended 450 s ago.
    assert look(row_with(tmp_path, [], state=state, ago=450.0), NOW).seconds == 150.0


@pytest.mark.parametrize(
    "change", [{"since": "x"}, {"since": None}, {"pid": 2**70}, {"pid": -1}, {"pid": 0.5}, {"state": "?"}, {"host": 5}]
)
def test_a_note_that_no_job_wrote_counts_as_none(change, tmp_path):
    row = row_with(tmp_path, [line(40, 3.0)], state="running", host=socket.gethostname())
    (tmp_path / NAME).write_text(json.dumps(json.loads((tmp_path / NAME).read_text()) | change))
    assert look(row, NOW).state == "begun"


def test_a_damaged_row_says_so_in_its_own_place(tmp_path):
    row = row_with(tmp_path, [line(40, 3.0)])
    (tmp_path / "metrics.jsonl").write_bytes(b"{}\n")
    assert look(row, NOW).state == "failed"
    assert "metrics.jsonl is damaged in line 1" in look(row, NOW).why


@pytest.mark.parametrize(
    ("error", "state", "why"),
    [
        (
            ZeroDivisionError("by\nnothing"),
            "failed",
            "your code raised ZeroDivisionError: by",
        ),  # this file is no part of the package
        (MemoryError(), "failed", "out of memory; lower replay_steps, actors, batch, seeds or the number of episodes"),
        (Interrupted("stopped by SIGTERM"), "stopped", "stopped by SIGTERM"),
        (SystemExit(-1), "stopped", "SystemExit: -1"),
    ],
)
def test_a_job_notes_how_it_ended_and_raises_on(error, state, why, tmp_path):
    def job() -> None:
        with noted(tmp_path / "row", "slurm"):
            found = read_note(tmp_path / "row")
            assert found is not None
            assert found[0].state == "running"
            assert (found[0].engine, found[0].host, found[0].pid) == ("slurm", socket.gethostname(), os.getpid())
            raise error

    with pytest.raises(type(error)):
        job()
    found = read_note(tmp_path / "row")
    assert found is not None
    assert (found[0].state, found[0].why) == (state, why)


def test_a_job_gives_signs_of_life(tmp_path, monkeypatch):
    monkeypatch.setattr("ndigo.scale.note.BEAT_SECONDS", 0.01)
    with noted(tmp_path, "local"):
        os.utime(tmp_path / NAME, (0, 0))
        while (tmp_path / NAME).stat().st_mtime == 0:  # the test's own time limit ends a job that never does
            pass
