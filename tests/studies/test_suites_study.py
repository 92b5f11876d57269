"""The runner of studies/suites, on worlds so small that a row takes seconds."""

from __future__ import annotations

import importlib.util
import json
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest
from stream_worlds import corridor_to_goal, counting
from tiny_runs import TINY

from ndigo.storage.run_folder import RunFolder

STUDY = Path(__file__).parents[2] / "studies" / "suites" / "run.py"
TABLE = runpy.run_path(str(STUDY.with_name("table.py")))


@pytest.fixture(scope="module")
def study() -> Any:
    spec = importlib.util.spec_from_file_location("studies_suites_run", STUDY)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_every_reward_meets_every_world_and_the_yardstick_has_a_million_steps(study):
    names = [row.name for row in study.ROWS]
    assert len(names) == len(set(names)) == 7 * 5 + 2
    million = study.MILLION
    rounds = million["learner_steps"] // million["updates_per_round"]
    assert rounds * million["actors"] * million["round_steps"] == 1_024_000
    assert [row.name for row in study.chosen(["white-*"])] == [f"white-noise-{r}" for r in study.REWARDS]
    with pytest.raises(SystemExit, match="no row is called nothing"):
        study.chosen(["nothing"])


def test_rows_come_in_the_order_in_which_they_are_asked_for_and_can_be_shortened(study):
    assert [row.name for row in study.chosen(["xland-r4-pe", "multiroom-[ip]*", "xland-*"])][:4] == [
        *("xland-r4-pe", "multiroom-pe", "multiroom-icm", "xland-r4-random")
    ]
    steps = {row.name: study.shortened(row, 2_400).settings["learner_steps"] for row in study.chosen(["multiroom-*"])}
    assert steps == {f"multiroom-{r}": 2 if r == "random" else 2_400 for r in study.REWARDS}


@pytest.mark.slow
def test_a_row_is_stopped_by_its_minutes_resumed_and_kept_once(study, tmp_path, capsys):
    small = {**TINY, "round_steps": 12, "num_filters": 2}
    row = study.Row("corridor-ndigo-1", corridor_to_goal, "ndigo-1", small)
    runs, kept = tmp_path / "runs", tmp_path / "kept"
    run = study.train(row, runs, minutes=1e-6)
    assert run.outcome.why == "time"
    began = run.outcome.step
    assert began < TINY["learner_steps"]
    assert study.keep(row, runs / row.name, kept) == kept / "corridor-ndigo-1.json"
    assert json.loads((kept / "corridor-ndigo-1.json").read_text())["step"] == began
    study.work([row], runs, kept, minutes=10, total=10, forgets=True)
    contents = json.loads((kept / "corridor-ndigo-1.json").read_text())
    assert contents["step"] == TINY["learner_steps"]
    assert contents["episodes"] == TINY["evaluation_episodes"]
    assert contents["world"] == corridor_to_goal().name
    assert np.shape(contents["greedy"]["coverage"]) == (TINY["seeds"],)
    assert (np.array(contents["greedy"]["coverage"]) >= 1).all()
    assert not (runs / row.name / "checkpoints").exists()
    before = (kept / "corridor-ndigo-1.json").stat().st_mtime_ns
    other = study.Row("other", counting, "pe", small)
    study.work([row, other], runs, kept, minutes=20, total=0)
    said = capsys.readouterr().out
    assert "corridor-ndigo-1: kept already" in said
    assert "other: not begun" in said
    assert (kept / "corridor-ndigo-1.json").stat().st_mtime_ns == before
    assert not (runs / "other").exists()


def test_what_is_kept_is_what_the_run_ended_with(study, tmp_path):
    """By hand: of the lines that are whole, the last with greedy episodes."""
    run, row = tmp_path / "corridor-pe", study.Row("corridor-pe", corridor_to_goal, "pe")
    assert study.keep(row, run, tmp_path) is None
    world = {"name": "corridor", "channels": ["a", "b"], "in_view": ["a", "goal"]}
    settings = {"world": world, "config": {"evaluation_episodes": 3}, "device": "cpu"}
    folder = RunFolder.create(run, settings)
    line = {"world_steps": 5, "seconds": 60.0, "acting": {"episodes": [7.0]}}
    lines = [{**line, "step": 1, "evaluation": {"coverage": [2.0]}}, {**line, "step": 2}]
    for whole in lines:
        folder.append(whole)
    with open(run / "metrics.jsonl", "a") as metrics:
        metrics.write('{"step": 3, "eval')
    path = study.keep(row, run, tmp_path)
    assert json.loads(path.read_text()) == {
        "row": "corridor-pe",
        "world": "corridor",
        "reward": "pe",
        "config": settings["config"],
        "device": "cpu",
        "step": 1,
        "world_steps": 5,
        "seconds": 60.0,
        "channels": ["a", "b"],
        "events": ["goal"],
        "episodes": 3,
        "greedy": {"coverage": [2.0]},
        "acting": {"episodes": [7.0]},
    }


def test_a_row_that_the_whole_command_cuts_short_is_kept_and_its_minutes_count_over_sittings(
    study, tmp_path, monkeypatch, capsys
):
    rows = [study.Row(f"corridor-{reward}", corridor_to_goal, reward, {"learner_steps": 9}) for reward in ("pe", "icm")]
    asked, kept = [], []

    def train(row: Any, runs: Path, minutes: float) -> Any:
        asked.append(minutes)
        return SimpleNamespace(outcome=SimpleNamespace(why="time"))

    monkeypatch.setattr(study, "train", train)
    monkeypatch.setattr(study, "keep", lambda row, *_: kept.append(row.name))
    study.work(rows, tmp_path, tmp_path / "kept", minutes=10, total=3)
    assert "corridor-pe: cut short, 3 minutes are over" in capsys.readouterr().out
    assert kept == ["corridor-pe"]
    (tmp_path / "corridor-pe").mkdir()
    for line in ({"step": 1, "seconds": 60}, {"step": 2, "seconds": 180}):
        RunFolder(tmp_path / "corridor-pe").append(line)
    study.work(rows[:1], tmp_path, tmp_path / "kept", minutes=10, total=60)
    assert kept == ["corridor-pe", "corridor-pe"]
    assert asked == pytest.approx([3, 7], abs=0.01)
    study.work(rows[1:], tmp_path, tmp_path / "kept", minutes=10, total=2)  # would hardly be compiled
    assert "corridor-icm: not begun, 2.0 of 2 minutes are left" in capsys.readouterr().out


def test_a_row_for_which_there_is_no_memory_leaves_the_others_their_turn(study, tmp_path, monkeypatch, capsys):
    rows = [study.Row(name, corridor_to_goal, "pe", {"learner_steps": 9}) for name in ("large", "small")]

    def train(row: Any, runs: Path, minutes: float) -> Any:
        if row.name == "large":
            raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory\nand more")
        return SimpleNamespace(outcome=SimpleNamespace(why="finished"))

    monkeypatch.setattr(study, "train", train)
    monkeypatch.setattr(study, "keep", lambda row, *_: "kept")
    study.work(rows, tmp_path, tmp_path / "kept", minutes=10, total=60)
    assert capsys.readouterr().out.splitlines() == [
        *("large: JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory", "small: kept")
    ]


def kept_row(row: str, world: str, reward: str, **greedy: Any) -> dict[str, Any]:
    contents = {"row": row, "world": world, "reward": reward, "seconds": 600.0, "channels": ["walls"], "events": []}
    return contents | {"greedy": greedy, "world_steps": 1_024_000}


def test_the_table_of_suites_is_arithmetic_on_what_is_kept_of_each_row(tmp_path):
    rows = [
        kept_row("keycorridor-pe", "navix::K", "pe", coverage=[20.0, 20.0]) | {"events": ["goal"]},
        kept_row("white-noise-pe", "navix::K with white noise", "pe", coverage=[7.0, 7.0], reward_c=[[9, 0.5]] * 2),
        kept_row(
            "craftax-1m-task", "craftax::Craftax-Symbolic-v1", "task", coverage=[50.0] * 2, task_return=[11.3] * 2
        ),
    ]
    rows[0]["greedy"]["frequency"] = [[0.25], [0.25]]
    rows[1]["channels"] = ["walls", "noise"]
    rows[2]["events"] = ["wood", "stone", "iron"]
    rows[2]["greedy"]["frequency"] = [[1.0, 0.5, 0.0]] * 2
    for row in rows:
        (tmp_path / f"{row['row']}.json").write_text(json.dumps(row))
    found = TABLE["read"](tmp_path)
    assert TABLE["table"](found).splitlines()[2:] == [
        "| craftax-1m-task | 2 | 10 | 1,024 | 50.0 | 1.50 |  | 5.00 |  |",
        "| keycorridor-pe | 2 | 10 | 1,024 | 20.0 | 0.25 |  |  |  |",
        "| white-noise-pe | 2 | 10 | 1,024 | 7.00 |  | 0.50 |  |  |",
    ]
    TABLE["draw"](found, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_a_row_beats_another_of_its_world_where_seeds_leave_no_doubt_in_the_number_that_counts():
    """Far apart, it does; with the same seeds it does not, nor across worlds. Craftax counts achievements."""
    few, many = [1.0, 2.0, 1.0, 2.0, 1.5], [8.0, 9.0, 8.5, 9.0, 8.0]
    rows = [
        kept_row("keycorridor-pe", "navix::K", "pe", coverage=few),
        kept_row("keycorridor-icm", "navix::K", "icm", coverage=few[::-1]),
        kept_row("keycorridor-ndigo-4", "navix::K", "ndigo-4", coverage=many),
        kept_row("multiroom-ndigo-4", "gymnasium::M", "ndigo-4", coverage=[90.0] * 5),
    ]
    for reward, coverage, achieved in (("pe", few, 0.9), ("random", many, 0.1)):
        world = "craftax::Craftax-Classic-Symbolic-v1"
        row = kept_row(f"craftax-{reward}", world, reward, coverage=coverage, frequency=[[achieved]] * 5)
        rows.append(row | {"events": ["wood"]})
    assert [TABLE["beaten"](row, rows) for row in rows] == [[], [], ["pe", "icm"], [], ["random"], []]
