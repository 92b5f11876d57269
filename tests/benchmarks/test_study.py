"""The study printed in docs/results.md is what its files say."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_recipe_study_in_the_docs_is_what_its_files_say():
    command = [sys.executable, ROOT / "benchmarks" / "study.py"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    written = (ROOT / "docs" / "results.md").read_text()
    tables = printed.split("\n\n")
    assert len(tables) == 2
    for table in tables:
        assert table in written
