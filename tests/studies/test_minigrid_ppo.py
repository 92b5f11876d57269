"""The table of the study on MiniGrid is arithmetic on the lines of its runs."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest

TABLE = runpy.run_path(str(Path(__file__).parents[2] / "studies" / "minigrid-ppo" / "table.py"))


def write(folder: Path, bonus: str, seed: int, solved: list[int]) -> None:
    """Ten rollouts of 100 steps, of 4 episodes each; the pay is the number of the rollout."""
    head = {"world": "a world", "bonus": bonus, "tile": "plain", "seed": seed, "total": 1000}
    lines = [{"steps": 100 * (t + 1), "episodes": 4, "solved": n, "nats": t} for t, n in enumerate(solved)]
    text = "".join(json.dumps(line) + "\n" for line in (head, *lines))
    (folder / f"{bonus}-plain-{seed}.jsonl").write_text(text)


def test_a_run_counts_by_its_last_tenth_and_seed_by_seed(tmp_path):
    write(tmp_path, "pe", 0, [4] * 9 + [1])
    write(tmp_path, "pe", 1, [0] * 9 + [3])
    write(tmp_path, "nothing", 0, [0] * 10)
    runs = TABLE["read"](tmp_path)
    assert [TABLE["solved_at_end"](run) for run in runs["pe", "plain"]] == pytest.approx([0.25, 0.75])
    assert TABLE["table"](runs).splitlines()[2:] == [
        "| nothing | plain | 0 | 9.000 |",
        "| pe | plain | 25, 75 | 9.000 |",
    ]
    TABLE["draw"](runs, tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_a_cell_that_is_not_done_says_how_far_it_is_and_half_a_line_is_left_out(tmp_path):
    write(tmp_path, "pe", 0, [0] * 9 + [2])
    write(tmp_path, "pe", 1, [4] * 4)
    part = (tmp_path / "pe-plain-1.jsonl").rename(tmp_path / "pe-plain-1.part")
    part.write_text(part.read_text() + '{"steps": 500, "epis')
    (tmp_path / "pe-plain-2.part").write_text('{"world": "a world", "bonus": "pe", "tile": "plain", "total": 1000}\n')
    rows = TABLE["table"](TABLE["read"](tmp_path)).splitlines()
    assert rows[2:] == ["| pe | plain | 50, 100 (after 40% of the steps) | 6.000 |"]


def test_the_curve_is_the_share_of_the_last_rollouts_episodes_that_were_solved(tmp_path):
    write(tmp_path, "pe", 0, [1, 0, 4, 2, 0, 0, 3, 4])
    (run,) = TABLE["read"](tmp_path)["pe", "plain"]
    expected = [1 / 4, 1 / 8, 4 / 8, 6 / 8, 2 / 8, 0, 3 / 8, 7 / 8]
    assert TABLE["solved_lately"](run, num=2).tolist() == pytest.approx(expected)
