"""What `ndigo sweep --on slurm` does before Slurm is asked; tests/peers has the engine itself."""

from __future__ import annotations

import json
import shutil
import types

import pytest
from sweep_files import write_sweep

from ndigo.errors import NdigoError
from ndigo.scale import slurm
from ndigo.scale.engine import Asked
from ndigo.scale.sweep import read_sweep


class NoExecutor:
    """In place of submitit's, which makes its folder where it is handed a job."""

    def __init__(self, **options: object):
        pass

    def update_parameters(self, **takes: object) -> None:
        pass


def test_rows_that_all_run_elsewhere_need_no_job_and_no_folder_of_an_earlier_command(tmp_path, monkeypatch):
    monkeypatch.setattr(slurm, "load_extra", lambda *names: types.SimpleNamespace(AutoExecutor=NoExecutor))
    monkeypatch.setattr(shutil, "which", lambda name: name)
    sweep = read_sweep(write_sweep(tmp_path / "sweep.toml"), tmp_path / "rows")
    work = slurm.launch(sweep, [], Asked())
    assert work.is_over()
    assert json.loads((tmp_path / "rows" / slurm.FOLDER / slurm.JOBS).read_bytes()) == {}


@pytest.mark.parametrize("text", ["5", '{"a": 3}', "{", "[" * 20_000])
def test_a_list_of_jobs_that_is_damaged_is_one_line(text, tmp_path, monkeypatch):
    monkeypatch.setattr(slurm, "load_extra", lambda *names: types.SimpleNamespace(AutoExecutor=NoExecutor))
    monkeypatch.setattr(shutil, "which", lambda name: name)
    sweep = read_sweep(write_sweep(tmp_path / "sweep.toml"), tmp_path / "rows")
    jobs = tmp_path / "rows" / slurm.FOLDER / slurm.JOBS
    jobs.parent.mkdir(parents=True)
    jobs.write_text(text)
    with pytest.raises(NdigoError, match=r"jobs\.json is damaged"):
        slurm.launch(sweep, sweep.rows, Asked())
