"""`ndigo sweep --on slurm` with submitit's local executor in Slurm's place, and a preemption."""

from __future__ import annotations

import os
import signal
import time

import pytest
from sweep_files import write_sweep
from tiny_runs import numbers, start, train_tiny

from ndigo.scale.note import read_note

pytest.importorskip("submitit", reason="the extra slurm is not installed")

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
