"""What runs go on from, and what of their metrics must be there for it."""

from __future__ import annotations

import numpy as np
import pytest

from ndigo.errors import NdigoError
from ndigo.storage import checkpoint
from ndigo.storage.newest import fingerprint_of, metrics_of
from ndigo.storage.run_folder import RunFolder


@pytest.fixture
def run(tmp_path) -> RunFolder:
    """Lines of steps 1 to 3, and checkpoints of the last two."""
    folder = RunFolder.create(tmp_path / "run", {"config": {}})
    for step in (1, 2, 3):
        folder.append({"step": step})
        checkpoint.save(folder.checkpoints, step, {"x": np.zeros(3)}, fingerprint_of(folder))
    return folder


def cut(run: RunFolder, num_bytes: int) -> None:
    data = (run.path / "metrics.jsonl").read_bytes()
    (run.path / "metrics.jsonl").write_bytes(data[:num_bytes])


@pytest.mark.parametrize("num_bytes", [0, 10, -10])
def test_lines_that_end_before_a_good_checkpoint_are_lost(num_bytes, run):
    cut(run, num_bytes)
    message = r"^\S+/run/metrics\.jsonl has lost the line of step 3; the run cannot be continued$"
    with pytest.raises(NdigoError, match=message):
        metrics_of(run)


def test_a_file_of_metrics_that_is_gone_is_lost(run):
    (run.path / "metrics.jsonl").unlink()
    with pytest.raises(NdigoError, match=r"has lost the line of step 3"):
        metrics_of(run)


def test_lines_may_end_before_a_checkpoint_that_is_damaged_and_after_one_that_is_good(run):
    """A run that fell back to the checkpoint before has dropped the later lines, and one that rests saves none."""
    (run.checkpoints / "step_3" / "state.safetensors").write_bytes(b"")
    run.rewind(2)
    assert [line["step"] for line in metrics_of(run)] == [1, 2]
    run.append({"step": 3})
    run.append({"step": 4})
    assert [line["step"] for line in metrics_of(run)] == [1, 2, 3, 4]


def test_a_run_that_has_not_begun_has_lost_nothing(tmp_path):
    assert metrics_of(RunFolder.create(tmp_path / "run", {"config": {}})) == []
