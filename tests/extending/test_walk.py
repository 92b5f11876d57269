"""One of each from outside, at once: world, object, reward, predictor and likelihood. Every command takes them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tiny_runs import FLAGS

from ndigo.cli import main
from ndigo.storage.episodes import load_episodes

WORLD, REWARD = "extending.patrol:world", "extending.e3b:reward"
TRUST = ["--trust", "extending.patrol", "--trust", "extending.e3b"]


@pytest.fixture(scope="module")
def run(made, tmp_path_factory):
    """Trained once by the ordinary command, for the others to look at."""
    out = str(tmp_path_factory.mktemp("walk") / "run")
    words = ["--reward", REWARD, "--predictor", "linear", "--likelihood", "unsure", "--out", out]
    assert main(["train", WORLD, *FLAGS, *words, "--learner-steps", "8"]) == 0
    return out


def said(capsys, *words: str) -> str:
    assert main([*words]) == 0, words
    return capsys.readouterr().out


@pytest.mark.slow
def test_every_command_takes_them(run, tmp_path, monkeypatch, capsys):
    """But `play` and `view`, which stay until they are told to end, `bench`, and those that are for experiments."""
    monkeypatch.chdir(tmp_path)
    lines = [json.loads(line) for line in (Path(run) / "metrics.jsonl").read_text().splitlines()]
    assert lines[-1]["learning"]["model_loss"] < lines[0]["learning"]["model_loss"]  # the predictor learns
    assert "patrolling" in said(capsys, "worlds", WORLD)
    assert "guard" in said(capsys, "evaluate", run, "--episodes", "3", *TRUST)
    assert "guard" in said(capsys, "report", run, *TRUST)
    said(capsys, "export", run, "--episodes-file", "run.npz", *TRUST)
    episodes = load_episodes(Path("run.npz"))
    assert episodes.meta["objects"][0]["kind"] == "patrolling"
    assert (episodes.reward[:, :-1] > 0).all()  # E3B pays every step
    assert episodes.ahead.any()
    assert main(["audit", run, "--reward", "ndigo-1", "--episodes", "2", *TRUST]) == 2  # its exact pay is nobody's
    assert "likelihood unsure: only categorical and mixture can be audited" in capsys.readouterr().err
