"""A row's job: once or many times, stopped or not, it leaves the same run."""

from __future__ import annotations

import dataclasses
import io
import json
import signal
import subprocess
import sys

import numpy as np
import pytest
from sweep_files import write_sweep
from tiny_runs import numbers

from ndigo.errors import FailedError, NdigoError, UserCodeError
from ndigo.scale import job
from ndigo.scale.job import train_rows
from ndigo.scale.local import LOG, Pool, note_sudden_end, places, visible_gpus
from ndigo.scale.note import Interrupted, Note, read_note, write_note
from ndigo.scale.status import look
from ndigo.scale.sweep import read_sweep
from ndigo.storage.lock import one_writer
from ndigo.storage.saving import Clock
from ndigo.training import divergence


def state_of(row) -> str:
    found = read_note(row.path)
    assert found is not None
    return found[0].state


def test_a_job_run_again_changes_nothing_and_a_stopped_one_goes_on(finished, tmp_path, monkeypatch):
    (row,) = read_sweep(write_sweep(tmp_path / "sweep.toml"), tmp_path / "rows").rows
    with monkeypatch.context() as patch:
        patch.setattr(Clock, "is_over", lambda clock: True)  # after every chunk
        with pytest.raises(Interrupted, match="stopped by time at step 4, saved"):
            train_rows([row], "ray")
    assert (state_of(row), look(row).state, look(row).step) == ("stopped", "stopped", 4)
    for _ in range(2):
        assert train_rows([row], "ray") == 20
        assert (state_of(row), look(row).state) == ("done", "done")
        # The stop has added an evaluation to the first line.
        first, *others = numbers(row.path)
        assert {"evaluation", *numbers(finished.path)[0]} == set(first)
        assert first["learning"] == numbers(finished.path)[0]["learning"]
        assert others == numbers(finished.path)[1:]


def test_what_cannot_be_trained_leaves_the_reason_and_no_run(tmp_path):
    (row,) = read_sweep(write_sweep(tmp_path / "sweep.toml", window=100), tmp_path / "rows").rows
    with pytest.raises(NdigoError, match="window 100: longer than an episode of 12 steps"):
        train_rows([row], "ray")
    assert {path.name for path in row.path.iterdir()} == {"job.json", ".lock"}
    assert look(row).state == "failed"
    assert look(row).why.startswith("window 100: longer than an episode of 12 steps")


def test_a_process_that_is_killed_has_its_end_noted_by_the_one_that_started_it(tmp_path):
    (row,) = read_sweep(write_sweep(tmp_path / "sweep.toml"), tmp_path / "rows").rows
    log = row.path / LOG
    note_sudden_end(row, 7, -signal.SIGKILL, log)
    assert read_note(row.path) is None  # nothing is known of one that did not begin
    for code, why in ((0, ""), (-signal.SIGKILL, "ended by SIGKILL; see "), (3, "ended with code 3; see ")):
        write_note(row.path, Note("running", "local", 0.0, pid=7))
        note_sudden_end(row, 7, code, log)
        found = read_note(row.path)
        assert found is not None
        assert found[0].state == ("failed" if why else "running")
        assert found[0].why.startswith(why)


def test_a_pack_that_is_killed_names_the_one_log_that_it_has(tmp_path, monkeypatch):
    file = write_sweep(tmp_path / "sweep.toml", "[grid]\nmodel_rate = [1e-3, 2e-3]\n")
    rows = read_sweep(file, tmp_path / "rows").rows
    pool = Pool([rows], [{}])
    # The process of a pack, which is killed once it has noted that its rows run.
    popen, told = subprocess.Popen, [sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"]
    monkeypatch.setattr(subprocess, "Popen", lambda command, **options: popen(told, **options))
    assert not pool.is_over()
    ((process, _, _),) = pool._running
    for row in rows:
        write_note(row.path, Note("running", "local", 0.0, pid=process.pid))
    process.wait()
    assert pool.is_over()
    assert (rows[0].path / LOG).exists()
    assert {look(row).why for row in rows} == {f"ended by SIGKILL; see {rows[0].path / LOG}"}


def test_the_log_of_a_row_has_the_frames_of_a_users_own_code(tmp_path, monkeypatch, capsys):
    def train_rows(rows, engine):
        raise UserCodeError("world mine: its step raised KeyError: 'door'") from KeyError("door").with_traceback(frames)

    try:
        raise KeyError("door")
    except KeyError as error:
        frames = error.__traceback__
    monkeypatch.setattr(job, "train_rows", train_rows)
    monkeypatch.setattr(job, "keep_compiled_programs", lambda is_command: None)
    monkeypatch.setattr(job, "without_working_folder", lambda: None)
    monkeypatch.setattr(sys, "argv", ["job", str(tmp_path / "row")])
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps([{}])))
    assert job.main() == 2
    first, *frames_told, last = capsys.readouterr().err.splitlines()
    assert first == "Your code, most recent call last:"
    assert any("test_job.py" in line for line in frames_told)
    assert last == "ndigo: world mine: its step raised KeyError: 'door'"


def test_a_row_that_another_process_trains_is_refused_and_what_that_one_noted_stays(tmp_path, monkeypatch):
    (row,) = read_sweep(write_sweep(tmp_path / "sweep.toml"), tmp_path / "rows").rows
    write_note(row.path, Note("running", "slurm", 0.0, host="far", pid=7))
    before = read_note(row.path)
    monkeypatch.setattr("ndigo.scale.note.BUSY_SECONDS", 0.0)
    with one_writer(row.path), pytest.raises(NdigoError, match=r"is being written by process \d+ on "):
        train_rows([row], "ray")
    assert read_note(row.path) == before
    note_sudden_end(row, 8, 2, row.path / LOG)  # of the process that was refused
    assert read_note(row.path) == before


@pytest.mark.slow
def test_a_row_of_a_pack_that_diverges_fails_alone_and_a_retry_finishes_the_others(tmp_path, monkeypatch):
    file = write_sweep(tmp_path / "sweep.toml", "[grid]\nmodel_rate = [1e-3, 2e-3, 3e-3]\n")
    rows = read_sweep(file, tmp_path / "rows").rows
    bad, good = rows[1], (rows[0], rows[2])
    of_numbers = divergence.divergence_of

    def divergence_of(lanes, numbers, arrays, step):
        if lanes.folder.path == bad.path and step > 8:
            numbers = dataclasses.replace(numbers, reward=numbers.reward * np.nan)
        return of_numbers(lanes, numbers, arrays, step)

    monkeypatch.setattr(divergence, "divergence_of", divergence_of)
    why = "reward of seed 0 is not finite at learner step 9; the last good checkpoint is step 8"
    with monkeypatch.context() as patch:
        patch.setattr(Clock, "is_over", lambda clock: len(numbers(good[0].path)) == 3)
        with pytest.raises(Interrupted, match="stopped by time at step 16, saved"):
            train_rows(rows, "ray")
    assert [look(row).state for row in rows] == ["stopped", "failed", "stopped"]
    assert [look(row).step for row in rows] == [16, 8, 16]
    assert look(bad).why == why
    with pytest.raises(NdigoError, match=f"^{why}$"):
        train_rows(rows, "ray")
    assert [look(row).state for row in rows] == ["done", "failed", "done"]
    assert look(bad).why == why
    assert [line["step"] for line in numbers(good[0].path)] == [4, 8, 12, 16, 20]
    assert [line["step"] for line in numbers(bad.path)] == [4, 8]


def test_a_machine_on_which_jax_cannot_begin_is_one_line(monkeypatch):
    monkeypatch.setattr("ndigo.scale.local.entry_points", lambda group: [group])  # JAX for GPUs is installed
    monkeypatch.setattr("ndigo.scale.local.COUNT_GPUS", "raise AssertionError")
    with pytest.raises(FailedError, match=r"^JAX finds no device to train on; python -c .* shows why$"):
        visible_gpus()


def test_a_process_has_one_gpu_and_more_processes_share_them():
    assert places([], None) == [{}]
    assert places([], 3) == [{}, {}, {}]
    assert places(["2", "5"], None) == [{"CUDA_VISIBLE_DEVICES": "2"}, {"CUDA_VISIBLE_DEVICES": "5"}]
    assert places(["2", "5"], 1) == [{"CUDA_VISIBLE_DEVICES": "2"}]
    shared = [{"CUDA_VISIBLE_DEVICES": gpu, "XLA_PYTHON_CLIENT_MEM_FRACTION": "0.450"} for gpu in ("2", "5", "2")]
    assert places(["2", "5"], 3) == shared
