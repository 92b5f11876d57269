"""An experiment added from outside: every command takes it as one of its own, and the paper's verdicts stay theirs."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from extending.annex import EXPERIMENT
from made_up_rows import make_up
from tiny_runs import FLAGS, TINY

import ndigo
from ndigo.cli import main
from ndigo.errors import NdigoError
from ndigo.paper import plan
from ndigo.paper.experiment import EXPERIMENTS, Row, register
from ndigo.paper.experiments.across import all_claims
from ndigo.paper.plan import all_rows

TINY_CONFIG = ndigo.Config(**{**{name: value for name, value in TINY.items() if name != "preset"}, "learner_steps": 4})


@pytest.fixture
def annex(monkeypatch, tmp_path):
    """Registered for the test alone, with a recipe and a preset that take seconds."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plan, "EPISODES", 3)
    for preset in ("gpu", "cpu"):
        monkeypatch.setitem(ndigo.PRESETS, preset, TINY_CONFIG)
    register(EXPERIMENT)
    yield
    del EXPERIMENTS["annex"]


def said(capsys, *words: str) -> str:
    assert main([*words]) == 0, words
    return capsys.readouterr().out


@pytest.mark.slow
def test_every_command_takes_it(annex, monkeypatch, capsys):
    """But `play` and `view`, which stay until they are told to end, and `bench`, which times any world."""
    assert "flicker" in said(capsys, "worlds")
    assert "#########" in said(capsys, "worlds", "annex")
    assert "lamp" in said(capsys, "walk", "annex", "--episodes", "4", "--seconds", "0")
    said(capsys, "train", "annex", "--reward", "ndigo-1", "--out", "runs/a", *FLAGS, "--learner-steps", "4")
    for words in (["evaluate", "runs/a", "--episodes", "3"], ["report", "runs/a"]):
        out = said(capsys, *words)
        assert "lamp" in out
        assert "paper:" not in out  # which prints nothing of it
    assert "lamp" in said(capsys, "audit", "annex", "--episodes", "2", "--reward", "ndigo-1")
    said(capsys, "export", "runs/a", "--episodes-file", "a.npz")
    assert Path("a.npz").exists()
    compiled_above = dataclasses.replace(TINY_CONFIG, reward="ndigo-1")
    monkeypatch.setitem(ndigo.PRESETS, "cpu", compiled_above)
    words = ["discover", "annex", "--minutes", "0.001", "--episodes", "2", "--out", "runs/b"]
    assert "A lamp next door" in said(capsys, *words)


@pytest.mark.slow
def test_its_rows_are_planned_made_kept_and_reported(annex, capsys):
    assert all_rows()[-2:] == (Row("annex", "random"), Row("annex", "ndigo-1"))
    assert "annex-ndigo-1" in said(capsys, "reproduce", "--list", "--rows", "rows")
    said(capsys, "reproduce", "annex", "--reward", "ndigo-1", "--rows", "rows", "--minutes", "9")
    out = said(capsys, "report", "--paper", "--rows", "rows", "--out", "out", "--html", "page.html")
    assert f"1 of {len(all_rows())} rows are made by the recipe" in out
    assert {path.stem for path in Path("out").glob("*.png")} == {"annex-discovery-loss", "annex-tracking"}
    assert json.loads(Path("out/scores.json").read_text())["scores"] == {}  # nobody measured its reference agents
    page = Path("page.html").read_text()
    assert "annex: A lamp next door" in page
    assert "Missing: annex" not in page  # no claim of the paper waits for it


def test_the_papers_verdicts_are_the_same_with_it(annex, monkeypatch, capsys):
    monkeypatch.setattr("ndigo.commands.report._draw", lambda *_: [])  # the words are what is compared
    for row in all_rows():
        if row.experiment == "exp1":
            make_up(Path("rows"), row)
    with_it = said(capsys, "report", "--paper", "--full", "--rows", "rows", "--out", "out")
    verdicts = [line for line in with_it.splitlines() if line[:1].isdigit() and ". " in line[:4]]
    del EXPERIMENTS["annex"]
    without = said(capsys, "report", "--paper", "--full", "--rows", "rows", "--out", "out")
    assert verdicts == [line for line in without.splitlines() if line[:1].isdigit() and ". " in line[:4]]
    assert len(verdicts) == len(all_claims())
    register(EXPERIMENT)


def test_a_name_that_is_taken_is_refused(annex):
    with pytest.raises(NdigoError, match="already an experiment annex"):
        register(EXPERIMENT)
