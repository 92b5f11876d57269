"""`ndigo sweep --on ray`, on a Ray cluster of two nodes in this machine, one of which is lost."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sweep_files import swept_here, write_sweep
from tiny_runs import EXAMPLES, numbers, start

from ndigo.cli import main
from ndigo.scale.note import read_note

STEPS = 800  # 200 chunks: long enough to be caught in the middle


@pytest.fixture
def cluster(monkeypatch) -> Iterator[Any]:
    """A head and a node of one CPU each, on loopback, without a dashboard."""
    # Despite its name it is what keeps Ray to loopback: else it makes of 127.0.0.1 the machine's own address.
    monkeypatch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLES))  # as on a cluster: what the rows import is found on every node
    node = {"num_cpus": 1, "node_ip_address": "127.0.0.1", "object_store_memory": 100 * 2**20}
    Cluster = importlib.import_module("ray.cluster_utils").Cluster
    cluster = Cluster(initialize_head=True, head_node_args={"include_dashboard": False, **node})
    try:
        cluster.second = cluster.add_node(wait=True, **node)
        yield cluster
    finally:
        cluster.shutdown()


def wait_until(is_so: Callable[[], bool], process: subprocess.Popen[str], seconds: float = 500) -> None:
    """For as long as a busy machine may take: what goes wrong ends the process, and with it the wait."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)


def num_lines(run: Path) -> int:
    return (run / "metrics.jsonl").read_bytes().count(b"\n") if (run / "metrics.jsonl").exists() else 0


def signal_job(run: Path, number: int) -> None:
    found = read_note(run)
    assert found is not None
    os.kill(found[0].pid, number)


@pytest.mark.timeout(1500)  # Ray, two nodes and four trainings, beside whatever else the machine does
def test_rows_outlive_command_worker_and_node_and_end_with_the_numbers_of_unbroken_runs(cluster, tmp_path, capsys):
    """Both rows are held in the middle while the command is left, another watches, and a node and a worker are lost."""
    seeds, out = (0, 1), tmp_path / "rows"
    rows = [out / f"seed-{seed}" for seed in seeds]
    file = write_sweep(tmp_path / "sweep.toml", f"[grid]\nseed = {list(seeds)}\n", learner_steps=STEPS)
    unbroken = swept_here(file, tmp_path / "unbroken")
    words = [
        "sweep",
        str(file),
        "--on",
        "ray",
        "--address",
        cluster.address,
        "--out",
        str(out),
        "--trust",
        "custom_world",
    ]

    first = start(*words)
    wait_until(lambda: all(num_lines(row) >= 3 for row in rows), first)
    for row in rows:
        signal_job(row, signal.SIGSTOP)
    assert all(num_lines(row) < STEPS // 4 for row in rows)
    first.send_signal(signal.SIGINT)
    printed, err = first.communicate(timeout=200)  # it may be waiting for the cluster's answer
    assert first.returncode == 130, (printed, err)
    assert "training 2 of them on a Ray cluster of 2 nodes, 1 CPUs and 0 GPUs per row" in printed
    assert "the rows go on without this command (ray status, or the cluster's dashboard); look again with " in printed
    assert main(["sweep", "status", str(file), "--out", str(out)]) == 0
    assert "2 rows: 2 running" in capsys.readouterr().out

    second = start(*words)
    assert second.stdout is not None
    seen = ""
    while "watching on the Ray cluster, where an earlier command has put them; " not in seen:  # Ray may speak between
        line = second.stdout.readline()
        assert line, (seen, second.communicate())
        seen += line
    assert seen.startswith("2 rows: 2 running")
    cluster.remove_node(cluster.second, allow_graceful=False)
    signal_job(rows[0], signal.SIGKILL)
    signal_job(rows[1], signal.SIGCONT)
    printed, err = second.communicate(timeout=500)
    assert second.returncode == 0, (printed, err)
    assert "2 rows: 2 done" in printed.splitlines()  # Ray may tell of the lost node on the same stream, before or after
    for row in rows:
        # A row that was stopped with notice has evaluated there too; that is all it may have more.
        pairs = zip(numbers(row), numbers(unbroken / row.name), strict=True)
        assert all({name: line[name] for name in other} == other for line, other in pairs)


def test_where_no_cluster_runs_it_is_one_line(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    file = write_sweep(tmp_path / "sweep.toml", world="exp1", window=100)
    assert main(["sweep", str(file), "--on", "ray", "--out", str(tmp_path / "rows")]) == 2
    _, err = capsys.readouterr()
    assert err.startswith("ndigo: no Ray cluster of this machine answers (")
    assert err.endswith("start one with ray start --head, or name one with --address\n")
    assert list(tmp_path.iterdir()) == [file]
