"""Milestones of a run: the first checkpoint after 100, 200, 500, 1,000 ... learner steps, for its first seed."""

from __future__ import annotations

import numpy as np

from ndigo.storage import milestones

SETTINGS = {"reward": "ndigo-1"}


def arrays(step: int) -> dict[str, np.ndarray]:
    return {".learner.params.x": np.array([[step, 1], [step, 2]], np.float32), ".replay": np.zeros(3)}


def test_the_first_step_after_each_round_number_is_kept(tmp_path):
    for step in range(64, 2500, 64):
        milestones.keep(tmp_path, step, arrays(step), SETTINGS)
    assert milestones.steps(tmp_path) == [128, 256, 512, 1024, 2048]
    kept = milestones.load(tmp_path, 512)
    np.testing.assert_array_equal(kept[".x"], [[512, 1]])  # of the first seed alone
    assert list(kept) == [".x"]


def test_a_run_that_is_taken_back_forgets_what_came_after(tmp_path):
    for step in (128, 256, 512):
        milestones.keep(tmp_path, step, arrays(step), SETTINGS)
    milestones.keep(tmp_path, 192, arrays(192), SETTINGS)
    assert milestones.steps(tmp_path) == [128]
    milestones.keep(tmp_path, 320, arrays(320), SETTINGS)
    assert milestones.steps(tmp_path) == [128, 320]


def test_a_milestone_that_cannot_be_written_is_left_out(tmp_path):
    (tmp_path / "milestones").write_text("in the way")
    milestones.keep(tmp_path, 128, arrays(128), SETTINGS)
    assert milestones.steps(tmp_path) == []
