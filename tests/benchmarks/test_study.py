"""The studies printed in docs/results.md are what their files say."""

import subprocess
import sys
from pathlib import Path

import pytest
from reference.maps import distances, maze

from ndigo.api import load_trained
from ndigo.watching.recording import record_numbered

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("script", "num_tables"), [("study.py", 2), ("two_cores.py", 2), ("maze.py", 1)])
def test_the_studies_in_the_docs_are_what_their_files_say(script, num_tables):
    command = [sys.executable, ROOT / "benchmarks" / script]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    written = (ROOT / "docs" / "results.md").read_text()
    tables = printed.strip().split("\n\n")
    assert len(tables) == num_tables
    for table in tables:
        assert table in written


def test_how_far_an_agent_walks_is_the_furthest_of_its_cells():
    agent, layout = ROOT / "results/agents/exp5-ndigo-2.safetensors", maze()
    away = distances(layout.free, layout.start)
    walks = record_numbered(load_trained(agent).subject(), 0, 0, 20).agent
    furthest = sorted(max(away[int(r), int(c)] for r, c in walk) for walk in walks)
    command = [sys.executable, ROOT / "benchmarks" / "maze.py", agent]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed == f"{agent}: {int((furthest[9] + furthest[10]) / 2)}\n"
    assert furthest[10] > 20  # a walk worth the name, far out of the first two rooms
