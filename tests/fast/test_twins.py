"""A plain run uses no twin, and its numbers are those of a fast one but for rounding."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import jax
import numpy as np
from tiny_runs import numbers, train_tiny

from ndigo.fast.twins import FAST
from ndigo.storage import checkpoint
from ndigo.storage.newest import fingerprint_of
from ndigo.storage.run_folder import RunFolder
from ndigo.training import twins


def outcome(run: Path):
    """What the run told of each chunk, and all that its last checkpoint holds."""
    state = checkpoint.load(run / "checkpoints" / "step_20", fingerprint_of(RunFolder(run)))
    return json.loads(json.dumps(numbers(run))), state


def test_a_plain_run_has_the_numbers_of_a_fast_one_and_uses_none_of_its_functions(finished, tmp_path, monkeypatch):
    def unused(*_, **__):
        raise AssertionError("a plain run came here")

    names = [field.name for field in dataclasses.fields(FAST)]
    monkeypatch.setattr(twins, "FAST", dataclasses.replace(FAST, **dict.fromkeys(names, unused)))
    plain, fast = outcome(train_tiny(tmp_path / "plain", plain=True).path), outcome(finished.path)
    for ours, theirs in zip(*map(jax.tree.leaves, (plain, fast)), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-4)
