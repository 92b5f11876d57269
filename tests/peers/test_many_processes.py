"""One run over parts and processes: one message per update, a lost process, and going on as one."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

import numpy as np
import pytest
from many_devices import run_on_devices
from tiny_runs import FLAGS, TRUST, WORLD, numbers, start, train_tiny, wait_for_lines

import ndigo
from ndigo.storage import checkpoint
from ndigo.storage.saving import Clock

SEEDS = {"seeds": 4, "learner_steps": 1_000_000}


def test_parts_of_a_seed_send_one_message_per_update_and_the_run_goes_on_with_one_device(tmp_path):
    found = run_on_devices("on_parts.py", 4, str(tmp_path))
    assert found == {"act": [], "learn": ["all-reduce"], "steps": [4, 8, 12, 16, 20]}


def test_a_run_in_parts_has_the_numbers_of_the_same_parts_on_one_device_within_rounding():
    found = run_on_devices("on_one_device.py", 2)
    assert found["devices"] == 2
    assert found["off"] < 1e-4
    assert found["moved"] > 100 * found["off"]  # they have learned meanwhile


def begin(*words: str) -> list[subprocess.Popen[str]]:
    """Two processes that find each other on loopback."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    where = ["--coordinator", f"127.0.0.1:{port}", "--processes", "2"]
    return [start("train", *words, *where, "--process", str(i)) for i in range(2)]


def lose(processes: list[subprocess.Popen[str]], victim: int, run: Path, lines: int) -> None:
    """Kills one once so many lines are written; the other ends by itself, and says how to go on."""
    try:
        wait_for_lines(processes[0], run, lines, patience=400)  # both compile, on as few cores as there are
        processes[victim].kill()
        left = processes[1 - victim]
        _, err = left.communicate(timeout=120)
        assert left.returncode not in (0, None)
        said = [line for line in err.splitlines() if line.startswith("ndigo: ")]
        assert len(said) == 1, err
        assert said[0].endswith(f"; go on with ndigo train --resume {run} --trust custom_world"), err
    finally:
        for process in processes:
            process.kill()
            process.communicate()


@pytest.mark.timeout(1200)
def test_two_processes_are_killed_one_at_a_time_and_the_run_goes_on_as_one(tmp_path, monkeypatch):
    run = tmp_path / "run"
    more = [word for name, value in SEEDS.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    monkeypatch.setenv("JAX_NUM_CPU_DEVICES", "2")
    lose(begin(WORLD, *FLAGS, *more, "--reward", "ndigo-1", "--out", str(run)), 1, run, 3)
    first = checkpoint.steps(run / "checkpoints")[0]
    assert {path.name for path in (run / "checkpoints" / f"step_{first}").glob("*.safetensors")} == {
        "part_0.safetensors",
        "part_1.safetensors",
    }
    lose(begin("--resume", str(run), *(f"--trust={module}" for module in TRUST)), 0, run, first // 4 + 3)
    second = checkpoint.steps(run / "checkpoints")[0]
    assert 0 < first < second  # how far depends on how long a checkpoint takes: its line of metrics comes before it
    monkeypatch.setattr(Clock, "is_over", lambda clock: True)  # after a chunk
    outcome = ndigo.resume(run, trust=TRUST, quiet=True).outcome
    assert outcome is not None
    assert outcome.step == second + 4

    monkeypatch.undo()
    unbroken = train_tiny(tmp_path / "unbroken", **SEEDS | {"learner_steps": outcome.step})
    ours, others = numbers(run), numbers(unbroken.path)
    assert [line["step"] for line in ours] == [line["step"] for line in others]
    assert len(ours) == outcome.step // 4
    for mine, other in zip(ours, others, strict=True):
        for name, value in other["learning"].items():
            np.testing.assert_allclose(mine["learning"][name], value, rtol=1e-3, atol=1e-5)
