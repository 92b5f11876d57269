"""The studies printed in docs/results.md are what their files say."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("script", ["study.py", "two_cores.py"])
def test_the_studies_in_the_docs_are_what_their_files_say(script):
    command = [sys.executable, ROOT / "benchmarks" / script]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    written = (ROOT / "docs" / "results.md").read_text()
    tables = printed.strip().split("\n\n")
    assert len(tables) == 2
    for table in tables:
        assert table in written
