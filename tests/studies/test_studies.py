"""What the studies' pages show is what their files say."""

import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STUDIES = ROOT / "studies"


@pytest.mark.parametrize(
    ("study", "num_tables"),
    [("first-recipe", 2), ("two-cores", 2), ("first-maze", 1), ("recipe", 3), ("two-objects", 1)],
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
