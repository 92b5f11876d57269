"""`ndigo bench` with timings of our choice: what it prints for people and what for programs."""

from __future__ import annotations

import json

import pytest
from tiny_runs import WORLD

from ndigo.bench.floor import Rates
from ndigo.bench.timing import Time, Timings
from ndigo.cli import main
from ndigo.commands import bench


@pytest.fixture(autouse=True)
def timed(monkeypatch):
    """An update takes 5 ms per seed, ten times its floor."""

    def measure(config, world, reward, repeats):
        update = 5.0 * config.seeds
        return Timings(
            parts={"iteration": Time(20.0, 19.0, 21.0), "update": Time(update, update - 0.5, update + 0.5)},
            compile_s=2.0,
            transitions_per_s={"trained": 12_345.0, "collected": 678.0},
            peak_bytes=None,
            floor_ms=update / 10,
            operations=1e9,
            bytes=1e9,
            rates=Rates(operations=1e12, bytes=1e11),
        )

    monkeypatch.setattr(bench, "measure", measure)


def test_json_is_all_that_is_printed_and_names_what_was_timed(capsys):
    assert main(["bench", "--preset", "cpu", "--seeds", "1", "3", "--batch", "7", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert set(printed) == {"device", "versions", "runs"}
    assert [(run["config"]["seeds"], run["config"]["batch"]) for run in printed["runs"]] == [(1, 7), (3, 7)]
    assert [run["parts"]["update"] for run in printed["runs"]] == [
        {"ms": 5.0, "low": 4.5, "high": 5.5},
        {"ms": 15.0, "low": 14.5, "high": 15.5},
    ]


def test_a_window_is_cut_to_a_short_episode_as_where_it_trains(capsys):
    assert main(["bench", WORLD, "--preset", "cpu", "--seeds", "1", "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert run["config"]["window"] == 12


def test_the_conclusion_stands_above_its_table_and_lines_fit_80_columns(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["bench", "--preset", "cpu", "--seeds", "1"]) == 0
    out = capsys.readouterr().out
    assert out.index("12,345 transitions trained and 678 collected per second") < out.index("middle half")
    assert "it takes 10.0 times that, 200.0 updates per second" in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 80
