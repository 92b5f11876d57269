"""Runs in worlds whose episodes end by themselves: what the commands print of them, and what they refuse."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
from stream_worlds import corridor_to_goal
from tiny_runs import FLAGS, TINY, train_tiny

import ndigo
from ndigo.api import create_run, open_run
from ndigo.cli import main
from ndigo.commands import export
from ndigo.errors import NdigoError

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


def test_what_has_no_split_is_not_shown_as_zero_per_channel(task_run, capsys):
    words = ["evaluate", str(task_run.path), "--episodes", "3"]
    found = json.loads(printed(capsys, *words, "--json", *TRUST))
    assert "reward_c" not in found
    assert np.shape(found["model_loss_c"]) == (2, 5)  # the model predicts whatever is paid
    assert "reward_c" not in task_run.metrics()[-1]["evaluation"]
    table = printed(capsys, *words, *TRUST).partition("channel")[2].splitlines()
    assert table[0].split() == ["model", "loss"]


def test_a_figure_of_a_world_without_a_map_is_refused_before_anything_is_recorded(run, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(export, "record_numbered", lambda *_: pytest.fail("it records"))
    outputs = ["--figure", str(tmp_path / "a.png"), "--episodes-file", str(tmp_path / "a.npz")]
    assert main(["export", str(run.path), *outputs, *TRUST]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "a figure shows maps, and stream_worlds:corridor_to_goal has none" in err
    assert list(tmp_path.iterdir()) == []


def test_world_steps_are_the_steps_that_were_taken_not_the_resets_between(tmp_path):
    """Every episode has one step: of two slots of an actor, one is a step and one a reset."""
    at_once = dataclasses.replace(
        corridor_to_goal(), name="at once", num_steps=2, ends=lambda s: (s.t >= 1, s.t >= 1), place=lambda s: s.cell
    )
    changes = SHORT | {"rounds_per_chunk": 1}
    lines = train_tiny(tmp_path / "run", "pe", at_once, **changes).metrics()
    num_slots = 2 * 24  # of two actors, 24 in each round
    assert [line["world_steps"] for line in lines] == [n * num_slots // 2 for n in (1, 2, 3, 4)]


def test_a_dry_run_says_that_its_count_has_resets(capsys):
    words = ["train", STREAM, *FLAGS, "--round-steps", "24", "--dry-run", "--json"]
    sizes = json.loads(printed(capsys, *words))["sizes"]
    assert sizes["world steps and resets, per seed"] == 20 // 2 * 2 * 24
    assert "world steps, per seed" not in sizes


MEANT_BY_NOBODY = [
    ("task", {"task_weight": 1.0}, "reward task is the task itself: leave out --task-weight and --curiosity-weight"),
    ("task", {"curiosity_weight": 0.0}, "reward task is the task itself: leave out --task-weight and "),
    ("ndigo-1", {"curiosity_weight": 0.0}, "nothing to learn from: --curiosity-weight and --task-weight are both 0"),
    ("random", {"task_weight": 1.0}, "reward random learns no policy, so no task: leave out --task-weight"),
]


@pytest.mark.parametrize(("reward", "weights", "message"), MEANT_BY_NOBODY)
def test_weights_that_nobody_can_mean_are_refused(reward, weights, message, tmp_path, capsys):
    words = [word for name, x in weights.items() for word in (f"--{name.replace('_', '-')}", str(x))]
    for more in ([], ["--dry-run"]):
        out = ["--out", str(tmp_path / "run")]
        assert main(["train", STREAM, "--reward", reward, *FLAGS, *words, *more, *(out if not more else [])]) == 2
        told = capsys.readouterr().err
        assert told.startswith(f"ndigo: {message}")
        assert told.count("\n") == 1
    with pytest.raises(NdigoError):
        train_tiny(tmp_path / "run", reward, STREAM, **weights)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("reward", "weights"),
    [
        ("task", {"curiosity_weight": 0.1}),
        ("ndigo-1", {"curiosity_weight": 0.0, "task_weight": 1.0}),
        ("ndigo-1", {"curiosity_weight": -1.0}),
        ("random", {}),
    ],
)
def test_weights_that_can_be_meant_are_not(reward, weights, tmp_path):
    settings = {**TINY, **SHORT, **weights}
    create_run(STREAM, reward, out=tmp_path / "run", **settings)
    assert open_run(tmp_path / "run", trust=("stream_worlds",)).config.reward == reward
