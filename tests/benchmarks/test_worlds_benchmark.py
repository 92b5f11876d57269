"""The benchmark's parts that need no peer: it runs, and its figures mean what the table says."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.slow
def test_quick_benchmark_prints_a_table_and_writes_its_figures(tmp_path):
    figures = tmp_path / "worlds.json"
    command = [
        sys.executable, BENCHMARKS / "worlds.py", "--quick", "--only", "ndigo", "ndigo-single",
        "--copies", "1", "--json", figures,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "times the floor" in done.stdout
    report = json.loads(figures.read_text(encoding="utf-8"))
    assert set(report["contenders"]) == {"ndigo", "ndigo-single"}
    for entry in report["contenders"].values():
        assert len(entry["steps_per_s"]["1"]) == 3
        assert min(entry["steps_per_s"]["1"]) > 1000
    assert report["floor"]["1"]["words"] == 2
