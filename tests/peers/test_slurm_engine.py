"""`ndigo sweep --on slurm`: a preemption under submitit's local executor, and what Slurm itself is told."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

import pytest
from sweep_files import swept_here, write_sweep
from tiny_runs import numbers, start

from ndigo.errors import NdigoError
from ndigo.scale.engine import Asked
from ndigo.scale.note import read_note
from ndigo.scale.slurm import launch
from ndigo.scale.status import look
from ndigo.scale.sweep import read_sweep

STEPS = 1200


def test_preempted_rows_are_queued_again_and_end_with_the_numbers_of_unbroken_runs(tmp_path):
    """Two rows that share a program, as one job."""
    gammas = (0.9, 0.99)
    rows = [tmp_path / "rows" / f"gamma-{x}" for x in gammas]
    tables = f'[grid]\ngamma = {list(gammas)}\n[slurm]\ncluster = "local"\ntimeout_min = 20\n'
    file = write_sweep(tmp_path / "sweep.toml", tables, learner_steps=STEPS, pack=2)
    unbroken = swept_here(file, tmp_path / "unbroken")
    process = start("sweep", str(file), "--on", "slurm", "--out", str(tmp_path / "rows"), "--trust", "custom_world")

    deadline, metrics = time.monotonic() + 150, rows[1] / "metrics.jsonl"
    while not metrics.exists() or metrics.read_bytes().count(b"\n") < 3:
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    preempted = pids(rows)
    assert len(set(preempted)) == 1
    os.kill(preempted[0], signal.SIGUSR2)  # as Slurm does, before it takes the node away
    out, err = process.communicate(timeout=200)
    assert process.returncode == 0, (out, err)
    assert "gamma-0.9: done at step 1,200" in out
    assert "gamma-0.99: done at step 1,200" in out
    assert set(pids(rows)).isdisjoint(preempted)
    for row in rows:
        assert numbers(row) == numbers(unbroken / row.name)


def pids(rows: list[Path]) -> list[int]:
    notes = [read_note(row) for row in rows]
    return [note[0].pid for note in notes if note is not None]


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """A Slurm that takes every job and never begins one; gives the script it was handed last."""
    commands = tmp_path / "bin"
    commands.mkdir()
    programs = {
        "srun": "",
        "sbatch": f'cp "$1" {tmp_path}/script; echo x >> {tmp_path}/calls; echo Submitted batch job 12',
        "sacct": "echo 'JobID|State|NodeList'; echo '12_[0-1]|PENDING|None assigned'",
    }
    for name, text in programs.items():
        (commands / name).write_text(f"#!/bin/sh\n{text}\n")
        (commands / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{commands}:{os.environ['PATH']}")
    return tmp_path / "script"


def test_slurm_gets_one_array_and_rows_in_its_queue_are_not_submitted_again(slurm, tmp_path):
    table = '[slurm]\ntimeout_min = 90\ngpus_per_node = 1\nslurm_partition = "a"\n'
    file = write_sweep(tmp_path / "sweep.toml", f"[grid]\nseed = [0, 1]\n{table}")
    sweep = read_sweep(file, tmp_path / "rows")
    work = launch(sweep, sweep.rows, Asked())
    assert work.about == "Slurm, jobs 12_0, 12_1"
    assert not work.is_over()
    assert [look(row).state for row in sweep.rows] == ["queued", "queued"]
    options = set(re.findall(r"^#SBATCH --(.*)$", slurm.read_text(), re.MULTILINE))
    assert {"array=0-1%2", "time=90", "gpus-per-node=1", "partition=a", "job-name=ndigo-sweep"} <= options
    assert any(option.startswith("signal=USR2@") for option in options)  # on which the row is saved and requeued

    again = launch(sweep, sweep.rows, Asked())
    assert again.about == work.about
    assert (tmp_path / "calls").read_text().count("x") == 1


def test_what_slurm_does_not_know_is_one_line(slurm, tmp_path):
    sweep = read_sweep(write_sweep(tmp_path / "sweep.toml", "[slurm]\nslurm_partitoin = 3\n"), tmp_path / "rows")
    with pytest.raises(NdigoError, match=r"\[slurm\] of the sweep: .*Unknown argument 'partitoin'"):
        launch(sweep, sweep.rows, Asked())
    assert not slurm.exists()
