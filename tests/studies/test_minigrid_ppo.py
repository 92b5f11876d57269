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
