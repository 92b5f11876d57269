"""What the studies' pages show is what their files say."""

import re
import runpy
import sys
from pathlib import Path

import pytest

from ndigo.paper.experiments import EXPERIMENTS

ROOT = Path(__file__).parents[2]
STUDIES = ROOT / "studies"


@pytest.mark.parametrize(
    ("study", "num_tables"),
    [("first-recipe", 2), ("two-cores", 3), ("first-maze", 1), ("recipe", 4), ("two-objects", 1)],
)
def test_the_tables_of_a_study_are_what_its_files_say(study, num_tables, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["table.py"])
    runpy.run_path(str(STUDIES / study / "table.py"), run_name="__main__")
    tables = capsys.readouterr().out.strip().split("\n\n")
    assert len(tables) == num_tables
    written = (STUDIES / study / "README.md").read_text()
    assert [table for table in tables if table not in written] == []


def test_every_study_has_a_question():
    pages = [folder / "README.md" for folder in STUDIES.iterdir() if folder.is_dir()]
    assert [str(page) for page in pages if "**Question.**" not in page.read_text()] == []


def test_the_results_page_and_the_readme_say_what_the_study_measured(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["table.py"])
    runs = runpy.run_path(str(STUDIES / "recipe" / "table.py"))["read_runs"]()["w100-32k"]
    results, readme = (" ".join((ROOT / name).read_text().split()) for name in ("docs/results.md", "README.md"))
    for experiment, name, reward in (("exp1", "fixed", "ndigo-4"), ("exp2", "fixed", "ndigo-4")):
        first = f"{runs[experiment].per_seed('first_visit', name).mean():.0f}"
        paper = EXPERIMENTS[experiment].printed.text("first_visit", reward, name).split(" ")[0]
        worst = f"{runs[experiment].per_seed('frequency', name).min():.0f}% of episodes"
        known = f"{runs[experiment].discovery_loss().mean():.2f} nats"
        assert f"yes: step {first}, the paper {paper} | {worst} | {known}" in results
        share = f"{runs[experiment].per_seed('frequency', name).mean():.0f}%"
        assert re.search(rf"found in {share}( of episodes)?, at step {first}; the paper: {paper}", readme)
    maze = runs["exp5"]
    first = f"{maze.per_seed('first_visit', 'movable').mean():.0f}"
    assert (maze.per_seed("frequency", "movable") == 100).all()
    assert f"last room at step {first}" in results
    assert f"in every episode, at step {first}" in readme
    for text, x in {
        "in view for {:.0f} of 400 steps": runs["exp1"].per_seed("visits", "fixed"),
        "in view for {:.0f} steps, where the paper has 1.4": runs["exp1"].per_seed("visits", "noise"),
        "The noise is in view for {:.0f} steps": runs["exp2"].per_seed("visits", "noise"),
        "movable object for {:.0f} steps": maze.per_seed("visits", "movable"),
        "walls pay {:.2f} nats": maze.reward_c[-1, :, maze.channels.index("walls")],
    }.items():
        assert text.format(x.mean()) in results
