"""Runs in worlds whose episodes end by themselves: what the commands print of them, and what they refuse."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from tiny_runs import train_tiny

import ndigo
from ndigo.cli import main
from ndigo.commands import export

STREAM = "stream_worlds:corridor_to_goal"
TRUST = ["--trust", "stream_worlds"]
SHORT: dict[str, Any] = {"round_steps": 24, "learner_steps": 8}


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> ndigo.Run:
    return train_tiny(tmp_path_factory.mktemp("corridor") / "run", "ndigo-1", STREAM, **SHORT)


@pytest.fixture(scope="module")
def task_run(tmp_path_factory) -> ndigo.Run:
    return train_tiny(tmp_path_factory.mktemp("task") / "run", "task", STREAM, **SHORT)


def printed(capsys: Any, *words: str) -> str:
    capsys.readouterr()
    assert main([*words]) == 0
    return capsys.readouterr().out


def test_json_has_the_rewards_name_beside_what_it_pays_per_step(run, capsys):
    found = json.loads(printed(capsys, "evaluate", str(run.path), "--episodes", "3", "--json", *TRUST))
    assert found["reward"] == "ndigo-1"
    np.testing.assert_allclose(found["reward_per_step"], np.asarray(run.evaluate(3).reward).mean(axis=1))


def test_a_figure_of_a_world_without_a_map_is_refused_before_anything_is_recorded(run, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(export, "record_numbered", lambda *_: pytest.fail("it records"))
    outputs = ["--figure", str(tmp_path / "a.png"), "--episodes-file", str(tmp_path / "a.npz")]
    assert main(["export", str(run.path), *outputs, *TRUST]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "a figure shows maps, and stream_worlds:corridor_to_goal has none" in err
    assert list(tmp_path.iterdir()) == []
