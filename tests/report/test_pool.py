"""Runs that differ in their seed alone are one line, with the numbers of one run that has all the seeds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from made_up_runs import write_run

from ndigo.cli import main
from ndigo.report.pool import pooled
from ndigo.storage.run_folder import RunFolder


def write(path, seed, **changes):
    return RunFolder(write_run(path, **{"world": "exp1", "reward": "pe", "seeds": 1} | changes, seed=seed))


def test_three_runs_of_a_seed_each_are_one_run_of_three_seeds(tmp_path):
    apart = [write(tmp_path / f"pe-seed-{seed}", seed) for seed in range(3)]
    together = RunFolder(write_run(tmp_path / "whole", world="exp1", reward="pe", seeds=3))
    (pool,) = pooled(apart)
    numbers = ("step", "learning", "evaluation")
    found, expected = ([{n: line[n] for n in numbers} for line in run.evaluations()] for run in (pool, together))
    assert found == expected
    assert pool.settings()["config"]["seeds"] == 3
    assert pool.name == "pe-seed-0 and 2 more"


def test_what_is_not_the_same_but_for_its_seed_stands_alone(tmp_path):
    others = [write(tmp_path / "pg", 1, reward="pg"), write(tmp_path / "two", 1, seeds=2)]
    twice = [write(tmp_path / name, 0) for name in ("first", "again")]  # of a seed twice the second says nothing new
    pools = pooled([*others, *twice])
    assert [[run.path.name for run in pool.runs] for pool in pools] == [["pg"], ["two"], ["first"], ["again"]]
    assert {pool.more for pool in pools} == {""}


def test_agents_are_told_apart_by_as_much_as_it_takes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for path, reward in (("a/run", "pe"), ("b/run", "pe"), ("b/other", "pe"), ("b/last", "icm")):
        write(Path(path), 0, reward=reward)
    assert main(["report", "a/run", "b/run", "b/other", "b/last", "--json"]) == 0
    (lines,) = json.loads(capsys.readouterr().out).values()
    assert [line["label"] for line in lines] == ["a/run", "b/run", "other", "icm"]


def test_a_run_that_is_behind_is_met_at_the_last_step_that_both_have(tmp_path):
    ahead, behind = write(tmp_path / "ahead", 0), write(tmp_path / "behind", 1, num_lines=3)
    (pool,) = pooled([ahead, behind])
    assert [line["step"] for line in pool.evaluations()] == [20]
    young = write(tmp_path / "young", 2, num_lines=1)
    assert len(pooled([ahead, young])) == 2


@pytest.mark.parametrize(
    ("seeds", "told"),
    [
        ((1, 1), "mean over seeds with the lowest to the highest (too few for 95%)"),
        ((3, 3), "mean over seeds with 95% bootstrap interval"),
    ],
)
def test_a_report_averages_them_and_says_what_so_few_are_worth(seeds, told, tmp_path, capsys):
    paths = [write(tmp_path / f"run{i}", 10 * i, seeds=num).path for i, num in enumerate(seeds)]
    words = ["report", *map(str, paths), "--out", str(tmp_path)]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"exp1: last evaluation, {told}\n  {paths[0]} and 1 more: pe, {sum(seeds)} seeds, step 40\n")
    assert main([*words[:-2], "--json"]) == 0
    ((line,),) = json.loads(capsys.readouterr().out).values()
    # Visits of the fixed object at line 4 are 400 + seed.
    mean = 400 + (5 if seeds == (1, 1) else (0 + 1 + 2 + 10 + 11 + 12) / 6)
    assert line["visits"]["fixed"]["mean"] == pytest.approx(mean)
