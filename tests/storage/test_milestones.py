"""Milestones: which steps are kept, what is removed, and that one knows its own step."""

from __future__ import annotations

import numpy as np
import pytest

from ndigo.errors import NdigoError
from ndigo.storage import milestones

SETTINGS = {"config": {"world": "exp1", "reward": "pe", "seeds": 1}, "reward": "pe"}


def keep(run, step, value=0.0):
    milestones.keep(run, step, {".learner.params.w": np.full((2, 3), value, np.float32)}, SETTINGS)


def test_the_first_step_of_each_slot_is_kept_and_later_ones_go_when_a_run_is_taken_back(tmp_path):
    for step in (40, 120, 160, 210, 480, 510):
        keep(tmp_path, step, step)
    assert milestones.steps(tmp_path) == [120, 210, 510]
    np.testing.assert_array_equal(milestones.load(tmp_path, 210)[".w"], [[210.0] * 3])
    keep(tmp_path, 240)
    assert milestones.steps(tmp_path) == [120, 210]


def test_only_names_that_are_ours_are_removed_and_nothing_there_ends_a_run(tmp_path):
    folder = tmp_path / "milestones"
    (folder / ".step_5.safetensors.tmp").mkdir(parents=True)
    (folder / "step_900.safetensors").mkdir()
    for name in (".step_mine.tmp", ".step_7.safetensors.tmp", "step_10x.safetensors", "notes"):
        (folder / name).touch()
    keep(tmp_path, 100)
    left = sorted(path.name for path in folder.iterdir())
    assert left == [
        *(".step_5.safetensors.tmp", ".step_mine.tmp", "notes"),
        *("step_100.safetensors", "step_10x.safetensors", "step_900.safetensors"),
    ]


def test_a_milestone_under_another_steps_name_is_refused(tmp_path):
    keep(tmp_path, 100)
    milestones.path_of(tmp_path, 100).rename(milestones.path_of(tmp_path, 200))
    with pytest.raises(NdigoError, match=r"step_200.safetensors is not what its name says: it is of step 100"):
        milestones.load(tmp_path, 200)


def test_a_milestone_that_cannot_be_written_is_left_out(tmp_path):
    (tmp_path / "milestones").write_text("in the way")
    keep(tmp_path, 100)
    assert milestones.steps(tmp_path) == []
