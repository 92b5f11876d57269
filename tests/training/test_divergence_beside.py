"""Of runs side by side, one that diverges ends alone; the others do not notice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tiny_runs import TINY, TRUST, WORLD, numbers

import ndigo
from ndigo.api import create_run, resume_beside
from ndigo.errors import NdigoError
from ndigo.storage import checkpoint
from ndigo.storage.newest import at_one_step, fingerprint_of
from ndigo.storage.run_folder import RunFolder

RATES = {"a": 1e-3, "b": 2e-3, "c": 3e-3}
BAD = 1e38  # overflows within the first chunk


def train_beside(out: Path, told: list[tuple[Path, NdigoError]], **rates: float) -> dict[str, ndigo.Run]:
    for name, rate in rates.items():
        create_run(WORLD, "ndigo-1", out=out / name, is_beside=True, **{**TINY, "model_rate": rate})
    paths = [out / name for name in rates]
    runs = resume_beside(paths, trust=TRUST, quiet=True, on_diverged=lambda *both: told.append(both))
    return {run.path.name: run for run in runs}


@pytest.fixture(scope="module")
def all_good(tmp_path_factory) -> Path:
    out, told = tmp_path_factory.mktemp("good"), []
    train_beside(out, told, **RATES)
    assert told == []
    return out


@pytest.fixture(scope="module")
def one_bad(tmp_path_factory):
    out, told = tmp_path_factory.mktemp("bad"), []
    return out, told, train_beside(out, told, **RATES | {"b": BAD})


@pytest.mark.slow
def test_the_others_have_to_the_bit_the_numbers_of_a_pack_where_none_diverges(all_good, one_bad):
    out, _, runs = one_bad
    for name in ("a", "c"):
        assert runs[name].outcome == ndigo.api.Outcome(20, "finished")
        assert numbers(out / name) == numbers(all_good / name)
        ours, others = (newest(path / name) for path in (out, all_good))
        assert ours.keys() == others.keys()
        for key, array in ours.items():
            np.testing.assert_array_equal(array, others[key], err_msg=key)


def newest(run: Path) -> dict[str, np.ndarray]:
    return checkpoint.load(run / "checkpoints" / "step_20", fingerprint_of(RunFolder(run)))


@pytest.mark.slow
def test_the_one_that_diverged_is_told_of_once_and_writes_nothing_more(one_bad):
    out, told, runs = one_bad
    ((path, error),) = told
    assert path == out / "b"
    assert str(error).endswith("; there is no earlier checkpoint: mend the cause, and begin anew in another folder")
    assert "of seed 0 is not finite" in str(error)  # its own seed, not the lane of the program
    assert runs["b"].outcome == ndigo.api.Outcome(4, "diverged", str(error))
    assert numbers(out / "b") == []
    assert checkpoint.steps(out / "b" / "checkpoints") == []


@pytest.mark.slow
def test_where_all_diverge_each_says_so(tmp_path):
    told = []
    runs = train_beside(tmp_path, told, a=BAD, b=BAD / 2, c=BAD / 4)
    assert [run.outcome and run.outcome.why for run in runs.values()] == ["diverged"] * 3
    assert [path.name for path, _ in told] == ["a", "b", "c"]


@pytest.mark.slow
def test_runs_go_on_together_from_a_step_that_all_have(tmp_path):
    steps = {"a": (80, 60), "b": (), "c": (100, 80), "d": (8,), "e": (80, 60), "f": (100, 90)}
    for name, saved in steps.items():
        for step in saved:
            (tmp_path / name / "checkpoints" / f"step_{step}").mkdir(parents=True)
    groups = at_one_step([tmp_path / name for name in steps])
    # f has 100 in common with c, but no step with all of a, c and e.
    assert ["".join(path.name for path in group) for group in groups] == ["ace", "b", "d", "f"]
