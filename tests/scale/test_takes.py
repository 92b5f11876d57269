"""What a sweep's file may ask of an engine without the user's word."""

from __future__ import annotations

import pytest

from ndigo.errors import NdigoError
from ndigo.scale.sweep import read_sweep
from ndigo.scale.takes import check_takes


def sweep_of(table, tmp_path):
    file = tmp_path / "rates.toml"
    file.write_text(f'preset = "cpu"\n{table}\n')
    return read_sweep(file)


def test_sizes_times_and_places_are_taken(tmp_path):
    table = '[ray]\nnum_gpus = 0.5\nresources = {fast = 1}\n[slurm]\ntimeout_min = 9\nslurm_partition = "a"\n'
    sweep = sweep_of(table + 'cluster = "local"\nslurm_exclusive = true', tmp_path)
    for engine in ("local", "ray", "slurm"):
        check_takes(sweep, engine, ())


@pytest.mark.parametrize(
    ("engine", "line"),
    [
        ("slurm", 'slurm_setup = ["touch here"]'),
        ("slurm", 'slurm_srun_args = ["--prolog=here"]'),
        ("slurm", 'slurm_additional_parameters = {wrap = "touch here"}'),
        ("slurm", 'local_setup = ["touch here"]'),
        ("ray", 'runtime_env = {worker_process_setup_hook = "here.run"}'),
    ],
)
def test_what_can_run_commands_needs_the_users_word(engine, line, tmp_path):
    sweep = sweep_of(f"[{engine}]\n{line}", tmp_path)
    with pytest.raises(NdigoError, match=rf"in \[{engine}\] is none of the words .* add --trust {engine}$"):
        check_takes(sweep, engine, ("mine",))
    check_takes(sweep, engine, (engine,))
    check_takes(sweep, "local", ())  # where nobody reads the table


def test_a_text_of_two_lines_is_refused_as_the_second_would_be_a_command(tmp_path):
    sweep = sweep_of('[slurm]\nslurm_partition = "a\\ntouch here"', tmp_path)
    with pytest.raises(NdigoError, match=r"slurm_partition = 'a\\ntouch here' in \[slurm\] must be a number, or text"):
        check_takes(sweep, "slurm", ())


def test_a_word_that_is_misspelt_is_told_the_nearest(tmp_path):
    with pytest.raises(NdigoError, match=r"num_gpu in \[ray\] is none of .* \(nearest: num_gpus\)"):
        check_takes(sweep_of("[ray]\nnum_gpu = 1", tmp_path), "ray", ())
