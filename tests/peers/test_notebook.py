"""The notebook of the first hour, from top to bottom, as it stands."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from notebook_cells import cells, run_cells

FOUR_MINUTES = 240


@pytest.mark.timeout(900)
def test_every_cell_runs_and_shows_what_it_promises(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    began = time.monotonic()
    shown = run_cells(cells("code"))
    print(f"the notebook took {time.monotonic() - began:.0f} s of {FOUR_MINUTES}")
    _, _, run, plot, last, player, mine, doors = shown
    assert repr(run).startswith("Run(runs/exp1-ndigo-4-")
    assert run._repr_html_().count("<tr>") >= 6
    assert plot._repr_png_().startswith(b"\x89PNG")
    assert last["step"] > 0
    assert "<iframe" in player._repr_html_()
    assert "three_doors" in repr(mine)
    assert doors.episodes.seen is not None
