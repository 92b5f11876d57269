"""`ndigo sweep --on ray`, on a Ray cluster of two nodes in this machine, one of which is lost."""

from __future__ import annotations

import importlib
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sweep_files import write_sweep
from tiny_runs import EXAMPLES, numbers, start, train_tiny

ray = pytest.importorskip("ray", reason="the extra ray is not installed")

STEPS = 2000  # 500 chunks: long enough to be caught in the middle


@pytest.fixture
def cluster(monkeypatch) -> Iterator[Any]:
    """A head and a node of one CPU each, on loopback, without a dashboard."""
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


def wait_until(is_so: Callable[[], bool], seconds: float = 150) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def num_lines(run: Path) -> int:
    return (run / "metrics.jsonl").read_bytes().count(b"\n") if (run / "metrics.jsonl").exists() else 0


def test_rows_outlive_the_command_and_a_lost_node_and_end_with_the_numbers_of_unbroken_runs(cluster, tmp_path):
    seeds = (0, 1)
    unbroken = [train_tiny(tmp_path / f"unbroken-{seed}", learner_steps=STEPS, seed=seed).path for seed in seeds]
    rows = [tmp_path / "rows" / f"seed-{seed}" for seed in seeds]
    file = write_sweep(tmp_path / "sweep.toml", f"[grid]\nseed = {list(seeds)}\n", learner_steps=STEPS)
    words = ["sweep", str(file), "--on", "ray", "--address", cluster.address, "--out", str(tmp_path / "rows")]

    first = start(*words)
    wait_until(lambda: all(num_lines(row) >= 3 for row in rows))
    first.send_signal(signal.SIGINT)
    out, err = first.communicate(timeout=60)
    assert first.returncode == 130, (out, err)
    assert "training 2 of them on a Ray cluster of 2 nodes, 1 CPUs and 0 GPUs per row" in out
    assert f"look again with ndigo sweep status {file}" in out

    before = [num_lines(row) for row in rows]
    wait_until(lambda: all(num_lines(row) > count for row, count in zip(rows, before, strict=True)))
    second = start(*words)
    cluster.remove_node(cluster.second, allow_graceful=False)
    assert all(num_lines(row) < STEPS // 4 for row in rows)  # both were in the middle
    out, err = second.communicate(timeout=200)
    assert second.returncode == 0, (out, err)
    for row, alone in zip(rows, unbroken, strict=True):
        assert numbers(row) == numbers(alone)
