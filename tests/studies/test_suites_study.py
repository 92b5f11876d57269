"""The runner of studies/suites, on worlds so small that a row takes seconds."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stream_worlds import corridor_to_goal, counting
from tiny_runs import TINY

STUDY = Path(__file__).parents[2] / "studies" / "suites" / "run.py"


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


def test_a_row_is_stopped_by_its_minutes_resumed_and_kept_once(study, tmp_path, capsys):
    small = {**TINY, "round_steps": 12, "num_filters": 2}
    row = study.Row("corridor-ndigo-1", corridor_to_goal, "ndigo-1", small)
    runs, kept = tmp_path / "runs", tmp_path / "kept"
    run = study.train(row, runs, minutes=1e-6)
    assert run.outcome.why == "time"
    began = run.outcome.step
    assert began < TINY["learner_steps"]
    study.work([row], runs, kept, minutes=10, total=10)
    told = json.loads((kept / "corridor-ndigo-1.json").read_text())
    assert told["step"] == TINY["learner_steps"]
    assert told["episodes"] == study.EPISODES
    assert np.shape(told["greedy"]["coverage"]) == (TINY["seeds"],)
    assert (np.array(told["greedy"]["coverage"]) >= 1).all()
    before = (kept / "corridor-ndigo-1.json").stat().st_mtime_ns
    other = study.Row("other", counting, "pe", small)
    study.work([row, other], runs, kept, minutes=10, total=0)
    said = capsys.readouterr().out
    assert "corridor-ndigo-1: kept already" in said
    assert "other: not begun" in said
    assert (kept / "corridor-ndigo-1.json").stat().st_mtime_ns == before
    assert not (runs / "other").exists()
