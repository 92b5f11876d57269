"""Settings side by side: the numbers of separate runs, in folders like any other's; mistakes in one line."""

from __future__ import annotations

import dataclasses
import shutil
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from sweep_files import write_sweep
from tiny_runs import CHUNK, TINY, TRUST, WORLD, numbers, train_tiny

import ndigo
from ndigo.api import create_run, resume_beside
from ndigo.config import VARIED, Config, varied_values
from ndigo.errors import NdigoError
from ndigo.scale import local, ray
from ndigo.scale.engine import Asked
from ndigo.scale.job import train_rows
from ndigo.scale.note import read_note
from ndigo.scale.sweep import read_sweep
from ndigo.scale.vary import packs, varied
from ndigo.storage import checkpoint
from ndigo.storage.run_folder import RunFolder, runs_in
from ndigo.storage.saving import Clock

OTHER = {"model_rate": 1e-3, "gamma": 0.9, "lambda_": 0.5, "first_epsilon": 0.5, "last_rate": 0.5}


def learned(line: dict) -> np.ndarray:
    """What a line says of learning, in order."""
    return np.concatenate([np.ravel(value) for value in line["learning"].values()])


def create_tiny(path, **changes) -> None:
    create_run(WORLD, "ndigo-1", out=path, is_beside=True, **{**TINY, **changes})


@pytest.fixture(scope="module")
def beside(tmp_path_factory):
    """Two settings in one program, stopped after a chunk; then one goes a chunk ahead, and both go on together."""
    out = tmp_path_factory.mktemp("beside")
    for name, changes in (("a", {}), ("b", OTHER)):
        create_tiny(out / name, **changes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Clock, "is_over", lambda clock: True)
        both = resume_beside(runs_in(out), trust=TRUST, quiet=True)
        assert [run.outcome for run in both] == [ndigo.api.Outcome(CHUNK, "time")] * 2
        ndigo.resume(out / "a", trust=TRUST, quiet=True)
    assert checkpoint.steps(out / "a" / "checkpoints") == [2 * CHUNK, CHUNK]
    resume_beside(runs_in(out), trust=TRUST, quiet=True)
    return out


@pytest.mark.slow
def test_settings_side_by_side_have_the_numbers_of_separate_runs(finished, beside, tmp_path):
    alone = {"a": finished.path, "b": train_tiny(tmp_path / "b", **OTHER).path}
    for name, path in alone.items():
        together, apart = numbers(beside / name), numbers(path)
        assert [line["step"] for line in together] == [line["step"] for line in apart]
        for ours, others in zip(together, apart, strict=True):
            np.testing.assert_allclose(learned(ours), learned(others), rtol=1e-3, atol=1e-5)
    # They are not one run twice: model_rate, the first number, is another.
    assert abs(learned(numbers(beside / "a")[-1])[0] - learned(numbers(beside / "b")[-1])[0]) > 1e-2


def test_each_of_them_is_a_run_like_any_other(beside):
    for name, gamma in (("a", ndigo.PRESETS["cpu"].gamma), ("b", 0.9)):
        run = ndigo.open_run(beside / name, trust=TRUST)
        assert run.config.gamma == gamma
        assert run.trained().num_seeds == 2
        assert ndigo.resume(beside / name, trust=TRUST, quiet=True).outcome == ndigo.api.Outcome(20, "finished")


def test_runs_that_have_no_step_in_common_go_on_one_after_the_other(beside, tmp_path):
    shutil.copytree(beside / "a", tmp_path / "a")
    shutil.copytree(beside / "b", tmp_path / "b")
    checkpoint.remove_after(tmp_path / "b" / "checkpoints", 16)
    shutil.rmtree(tmp_path / "a" / "checkpoints" / "step_16")
    runs = resume_beside(runs_in(tmp_path), trust=TRUST, quiet=True)
    assert [run.outcome for run in runs] == [ndigo.api.Outcome(20, "finished")] * 2
    assert checkpoint.steps(tmp_path / "a" / "checkpoints") == [20]  # of which nothing is trained again
    assert checkpoint.steps(tmp_path / "b" / "checkpoints") == [20, 16]
    np.testing.assert_allclose(
        learned(numbers(tmp_path / "b")[-1]), learned(numbers(beside / "b")[-1]), rtol=1e-3, atol=1e-5
    )


def test_runs_whose_common_checkpoint_is_damaged_are_named(beside, tmp_path):
    for name in "ab":
        shutil.copytree(beside / name, tmp_path / name)
        (tmp_path / name / "checkpoints" / "step_16" / "manifest.json").write_text("")
        (tmp_path / name / "checkpoints" / "step_20" / "manifest.json").write_text("")
    with pytest.raises(NdigoError, match=r"have no good checkpoint of one step: continue each alone, as ndigo train "):
        resume_beside(runs_in(tmp_path), trust=TRUST, quiet=True)


def test_runs_that_the_memory_does_not_hold_together_train_in_halves(beside, monkeypatch):
    asked = []

    def continue_runs(runs, *_, **__):
        asked.append("".join(folder.path.name for folder, _ in runs))
        if len(runs) > 1:
            raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 9 bytes")
        return [ndigo.api.Outcome(20, "finished")]

    monkeypatch.setattr("ndigo.api.continue_runs", continue_runs)
    runs = resume_beside(runs_in(beside), trust=TRUST, quiet=True)
    assert asked == ["ab", "a", "b"]
    assert [run.outcome for run in runs] == [ndigo.api.Outcome(20, "finished")] * 2


def test_runs_in_a_world_that_the_host_steps_train_one_after_the_other(beside, monkeypatch):
    asked, real = [], ndigo.api.open_run

    def open_run(path, **records):
        run = real(path, **records)
        return dataclasses.replace(run, world=dataclasses.replace(run.world, host=object()))

    def continue_runs(runs, *_, **__):
        asked.append("".join(folder.path.name for folder, _ in runs))
        return [ndigo.api.Outcome(20, "finished")]

    monkeypatch.setattr("ndigo.api.open_run", open_run)
    monkeypatch.setattr("ndigo.api.continue_runs", continue_runs)
    resume_beside(runs_in(beside), trust=TRUST, quiet=True)
    assert asked == ["a", "b"]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["model_rate=1e-3,2e-3"], ["model-rate-0.001", "model-rate-0.002"]),
        (["--model-rate=1e-3"], ["model-rate-0.001"]),
        (["lambda=0.5", "gamma=0.9,0.99"], ["lambda-0.5-gamma-0.9", "lambda-0.5-gamma-0.99"]),
    ],
)
def test_every_combination_has_a_name(words, names):
    made = varied(words, Config())
    assert list(made) == names
    assert {config.batch for config in made.values()} == {Config().batch}


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("gama=0.9", "unknown setting that can be varied 'gama'; nearest: gamma; known: agent_rate, .*"),
        ("batch=8,16", "unknown setting that can be varied \\(a sweep varies any\\) 'batch'; known: "),
        ("gamma=x", "--vary gamma=x: 'x' is no number; write NAME=VALUE,VALUE"),
        ("gamma", "--vary gamma: '' is no number; write NAME=VALUE,VALUE"),
        ("gamma=0.9,0.9", "--vary gamma=0.9,0.9: has a value twice"),
        ("gamma=2", "gamma 2.0: must lie between 0 and 1"),
    ],
)
def test_what_cannot_be_varied_is_one_line(word, message):
    with pytest.raises(NdigoError, match=f"^{message}"):
        varied([word], Config())


def test_a_setting_that_is_varied_twice_is_one_line():
    with pytest.raises(NdigoError, match=r"^--vary gamma=0\.8: gamma is varied twice$"):
        varied(["gamma=0.9", "gamma=0.8"], Config())


def test_runs_that_one_program_cannot_train_are_named(tmp_path):
    create_tiny(tmp_path / "a")
    create_tiny(tmp_path / "b", batch=8)
    with pytest.raises(
        NdigoError, match=r"/a and \S+/b cannot train side by side: batch is 4 and 8; what may differ: "
    ):
        resume_beside(runs_in(tmp_path), trust=TRUST, quiet=True)


def test_lanes_are_setting_after_setting_each_with_its_seeds():
    made = [
        Config(seeds=2, gamma=gamma, last_rate=0.5, last_model_rate=last) for gamma, last in ((0.8, None), (0.9, 0.1))
    ]
    values = varied_values(made)
    assert values.keys() == {"gamma", "last_model_rate"}
    np.testing.assert_allclose(values["gamma"], [0.8, 0.8, 0.9, 0.9], rtol=1e-6)
    np.testing.assert_allclose(values["last_model_rate"], [0.5, 0.5, 0.1, 0.1], rtol=1e-6)  # None: as last_rate
    assert varied_values(made[:1]) == {}


def test_every_setting_that_can_vary_is_a_number_of_the_config():
    assert {str(field.type) for field in dataclasses.fields(Config) if field.name in VARIED} == {
        "float",
        "float | None",
    }


def test_a_sweep_packs_rows_that_differ_in_what_can_vary_and_are_at_one_step(tmp_path):
    tables = "[grid]\nbatch = [4, 8]\ngamma = [0.8, 0.9, 0.99]\n"
    sweep = read_sweep(write_sweep(tmp_path / "sweep.toml", tables, pack=2), tmp_path / "rows")
    assert sweep.pack == 2
    (sweep.rows[0].path / "checkpoints" / "step_4").mkdir(parents=True)
    made = [[row.name for row in pack] for pack in packs(sweep.rows, sweep.pack, 1)]
    assert made == [
        ["batch-4-gamma-0.8"],
        ["batch-4-gamma-0.9", "batch-4-gamma-0.99"],
        ["batch-8-gamma-0.8", "batch-8-gamma-0.9"],
        ["batch-8-gamma-0.99"],
    ]


@pytest.mark.parametrize(
    ("asked", "places", "sizes"),
    [
        (None, 1, [4, 4, 1]),  # on one GPU
        (None, 3, [3, 3, 3]),  # never fewer packs than places
        (None, 4, [2, 2, 2, 2, 1]),
        (None, 256, [1] * 9),
        (1, 1, [1] * 9),
        (6, 8, [6, 3]),
    ],
)
def test_rows_pack_themselves_unless_the_file_says_how_many(asked, places, sizes, tmp_path):
    pack = {} if asked is None else {"pack": asked}
    tables = f"[grid]\ngamma = {[0.9 + i / 100 for i in range(9)]}\n"
    sweep = read_sweep(write_sweep(tmp_path / "sweep.toml", tables, **pack), tmp_path / "rows")
    assert sweep.pack == asked
    made = packs(sweep.rows, sweep.pack, places)
    assert [len(pack) for pack in made] == sizes
    assert [row for pack in made for row in pack] == list(sweep.rows)


def test_rows_that_differ_in_more_than_can_vary_do_not_pack(tmp_path):
    sweep = read_sweep(write_sweep(tmp_path / "sweep.toml", "[grid]\nseed = [0, 1, 2, 3]\n"), tmp_path / "rows")
    assert [len(pack) for pack in packs(sweep.rows, sweep.pack, 1)] == [1] * 4


def test_rows_pack_themselves_on_gpus_and_not_on_the_cpu(tmp_path, monkeypatch):
    sweep = read_sweep(write_sweep(tmp_path / "sweep.toml", "[grid]\ngamma = [0.8, 0.9, 0.99]\n"), tmp_path / "rows")
    made = []
    monkeypatch.setattr(local, "Pool", lambda packs, slots: made.append(packs) or SimpleNamespace(**NO_POOL))
    for gpus in ([], ["0"], ["0", "1"]):
        monkeypatch.setattr(local, "visible_gpus", lambda gpus=gpus: gpus)
        local.launch(sweep, sweep.rows, Asked())
    assert [[len(pack) for pack in packs] for packs in made] == [[1, 1, 1], [3], [1, 1, 1]]


def test_a_ray_cluster_has_as_many_places_as_tasks_fit_on_its_gpus():
    for gpus, each, places in ((8, 1, 8), (8, 0.5, 16), (3, 2, 1), (8, 0, 0)):
        assert ray._places({"GPU": float(gpus), "CPU": 64.0}, {"num_gpus": each}) == places


NO_POOL = {"is_over": None, "stop": None, "kill": None}


def test_a_pack_that_is_no_number_is_one_line(tmp_path):
    with pytest.raises(NdigoError, match=r"pack = 0 must be a whole number of rows, from 1 to 1000$"):
        read_sweep(write_sweep(tmp_path / "sweep.toml", pack=0))


def test_rows_of_a_pack_are_trained_and_noted_each_in_its_folder(beside, tmp_path, monkeypatch):
    """Of rows that are done already: what a job does around the training."""
    rows = read_sweep(write_sweep(tmp_path / "sweep.toml", "[grid]\ngamma = [0.8, 0.9]\n"), tmp_path / "rows").rows
    asked = []
    monkeypatch.setattr("ndigo.api.resume_beside", lambda paths, **_: asked.append(paths) or [done_run(paths[0])])
    assert train_rows(rows, "local") == 20
    assert asked == [[row.path for row in rows]]
    for row in rows:
        found = read_note(row.path)
        assert found is not None
        assert found[0].state == "done"
        assert RunFolder(row.path).settings()["config"]["gamma"] == row.config.gamma


def done_run(path):
    return SimpleNamespace(path=path, outcome=ndigo.api.Outcome(20, "finished"))
