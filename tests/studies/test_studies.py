"""What the studies' pages show is what their files say."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from reference.maps import distances, maze

from ndigo.api import load_trained
from ndigo.watching.recording import record_numbered

ROOT = Path(__file__).parents[2]
STUDIES = ROOT / "studies"


@pytest.mark.parametrize(
    ("study", "num_tables"), [("first-recipe", 2), ("two-cores", 2), ("first-maze", 1), ("recipe", 3)]
)
def test_the_tables_of_a_study_are_what_its_files_say(study, num_tables, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["table.py"])
    runpy.run_path(str(STUDIES / study / "table.py"), run_name="__main__")
    tables = capsys.readouterr().out.strip().split("\n\n")
    assert len(tables) == num_tables
    written = (STUDIES / study / "README.md").read_text()
    assert [table for table in tables if table not in written] == []


def test_how_far_an_agent_walks_is_the_furthest_of_its_cells():
    agent, layout = ROOT / "results/agents/exp5-ndigo-2.safetensors", maze()
    away = distances(layout.free, layout.start)
    walks = record_numbered(load_trained(agent).agent(), 0, 0, 20).agent
    furthest = sorted(max(away[int(r), int(c)] for r, c in walk) for walk in walks)
    command = [sys.executable, STUDIES / "first-maze" / "table.py", agent]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed == f"{agent}: {int((furthest[9] + furthest[10]) / 2)}\n"
    assert furthest[10] > 1  # a walk


def test_every_study_has_a_question():
    pages = [folder / "README.md" for folder in STUDIES.iterdir() if folder.is_dir()]
    assert [str(page) for page in pages if "**Question.**" not in page.read_text()] == []
