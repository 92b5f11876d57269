"""`ndigo sweep --on slurm`: a preemption under submitit's local executor, and what Slurm itself is told."""

from __future__ import annotations

import os
import re
import signal
import time

import pytest
from sweep_files import write_sweep
from tiny_runs import numbers, start, train_tiny

from ndigo.errors import NdigoError
from ndigo.scale.engine import Asked
from ndigo.scale.note import read_note
from ndigo.scale.slurm import launch
from ndigo.scale.status import look
from ndigo.scale.sweep import read_sweep

STEPS = 1200


def test_a_preempted_row_is_queued_again_and_ends_with_the_numbers_of_an_unbroken_run(tmp_path):
    unbroken = train_tiny(tmp_path / "unbroken", learner_steps=STEPS).path
    row = tmp_path / "rows" / "seed-0"
    tables = '[grid]\nseed = [0]\n[slurm]\ncluster = "local"\ntimeout_min = 20\n'
    file = write_sweep(tmp_path / "sweep.toml", tables, learner_steps=STEPS)
    process = start("sweep", str(file), "--on", "slurm", "--out", str(tmp_path / "rows"), "--trust", "custom_world")

    deadline, metrics = time.monotonic() + 150, row / "metrics.jsonl"
    while not metrics.exists() or metrics.read_bytes().count(b"\n") < 3:
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    found = read_note(row)
    assert found is not None
    preempted = found[0].pid
    os.kill(preempted, signal.SIGUSR2)  # as Slurm does, before it takes the node away
    out, err = process.communicate(timeout=200)
    assert process.returncode == 0, (out, err)
    assert "[1/1] seed-0: done at step 1,200" in out
    found = read_note(row)
    assert found is not None
    assert found[0].pid != preempted
    assert numbers(row) == numbers(unbroken)


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
