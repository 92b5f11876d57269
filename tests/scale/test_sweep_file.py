"""What a sweep's file asks for: its rows, their names, and one line for every mistake."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sweep_files import write_sweep

from ndigo.config import PRESETS
from ndigo.errors import NdigoError
from ndigo.paper.plan import all_rows, job_of, recipe
from ndigo.scale.sweep import MOVE_AWAY, read_sweep, refuse_other_settings, row_name


def sweep_of(text: str, tmp_path: Path):
    file = tmp_path / "rates.toml"
    file.write_text(text)
    return read_sweep(file)


def test_a_grid_is_every_combination_and_each_of_a_list_is_combined_with_it(tmp_path):
    sweep = sweep_of(
        'preset = "gpu"\nworld = "exp2"\nlambda = 1\n'
        "[grid]\nseed = [0, 1]\nmodel_rate = [1e-3, 2e-3]\n"
        '[[rows]]\nreward = "pe"\n[[rows]]\nreward = "icm"\nbatch = 8\n',
        tmp_path,
    )
    # 2 rows x 2 seeds x 2 rates, the last varying fastest.
    found = [(r.config.reward, r.config.batch, r.config.seed, r.config.model_rate) for r in sweep.rows]
    gpu = PRESETS["gpu"].batch
    assert found == [
        ("pe", gpu, 0, 1e-3),
        ("pe", gpu, 0, 2e-3),
        ("pe", gpu, 1, 1e-3),
        ("pe", gpu, 1, 2e-3),
        ("icm", 8, 0, 1e-3),
        ("icm", 8, 0, 2e-3),
        ("icm", 8, 1, 1e-3),
        ("icm", 8, 1, 2e-3),
    ]
    assert {(r.config.world, r.config.lambda_, r.config.probe_rate) for r in sweep.rows} == {
        ("exp2", 1.0, PRESETS["gpu"].probe_rate)
    }
    assert sweep.rows[5].name == "icm-batch-8-seed-0-model-rate-0.002"
    assert sweep.rows[5].path == Path("runs/rates/icm-batch-8-seed-0-model-rate-0.002").absolute()


def test_a_row_keeps_its_folder_when_the_sweep_grows(tmp_path):
    few = sweep_of('preset = "cpu"\n[grid]\nseed = [0, 1]\n', tmp_path)
    more = sweep_of('preset = "cpu"\n[grid]\nseed = [7, 1, 0]\n', tmp_path)
    assert {row.path for row in few.rows} < {row.path for row in more.rows}


def test_a_file_without_rows_is_one_row_named_by_world_and_reward(tmp_path):
    sweep = sweep_of('preset = "cpu"\nworld = "maze"\nreward = "pe"\nout = "elsewhere"\n', tmp_path)
    assert [(row.name, row.path) for row in sweep.rows] == [("maze-pe", Path("elsewhere/maze-pe").absolute())]


def test_the_files_that_the_documentation_prints_are_read(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "scale.md").read_text()
    printed, papers = re.findall(r"^```toml\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    first = sweep_of(printed, tmp_path).rows[0]
    assert first.path == Path("runs/rates/ndigo-4-model-rate-0.001").absolute()
    assert len(sweep_of(papers, tmp_path).rows) == 38


def test_the_papers_rows_are_those_of_reproduce_in_the_same_folders(tmp_path):
    sweep = sweep_of('preset = "gpu"\nrows = "paper"\nout = "runs/rows"\n', tmp_path)
    assert [(row.name, row.config) for row in sweep.rows] == [(row.name, recipe(row)) for row in all_rows()]
    made_by_reproduce = job_of(all_rows()[3], Path("runs"))
    assert (sweep.rows[3].config, sweep.rows[3].path) == (made_by_reproduce.config, made_by_reproduce.path.absolute())


@pytest.mark.parametrize(
    ("own", "name"),
    [
        ({"reward": "ndigo-4", "world": "exp1"}, "exp1-ndigo-4"),
        ({"seed": 3, "world": "my_module:make_world"}, "my-module-make-world-seed-3"),
        ({"world": "../../etc:passwd"}, "etc-passwd"),  # no name leads out of the sweep's folder
        ({"last_epsilon": 1e-07}, "last-epsilon-1e-07"),
        ({"model_rate": 1e16}, "model-rate-1e16"),
        ({"curiosity_weight": -0.1}, "curiosity-weight-minus0.1"),
    ],
)
def test_names_are_made_of_what_a_path_can_hold(own, name):
    assert row_name(own) == name


def test_what_engines_take_is_handed_on_in_their_own_words(tmp_path):
    sweep = sweep_of(
        'preset = "cpu"\n[ray]\nnum_gpus = 0.5\n[slurm]\ntimeout_min = 90\nslurm_partition = "a"\n', tmp_path
    )
    assert sweep.takes == {"ray": {"num_gpus": 0.5}, "slurm": {"timeout_min": 90, "slurm_partition": "a"}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'preset = "cpu"\nbacth = 3\n',
            r"unknown setting in \S+/rates.toml: 'bacth'; nearest: batch; ndigo train --help-all lists all \d+$",
        ),
        ('preset = "cpu"\n[grid]\nsed = [0]\n', r"unknown setting in \S+: 'sed'; nearest: seed; "),
        ('preset = "cpu"\n[[rows]]\nrewrd = "pe"\n', r"unknown setting in \S+: 'rewrd'; nearest: reward; "),
        ('preset = "cpu"\nbatch = "many"\n', r"\S+/rates.toml: batch 'many': must be a whole number"),
        ('preset = "cpu"\nbatch = 2.5\n', r"batch 2.5: must be a whole number"),
        ('preset = "cpu"\nbatch = true\n', r"batch True: must be a whole number"),
        ('preset = "cpu"\ngamma = "high"\n', r"gamma 'high': must be a number"),
        ('preset = "cpu"\nreward = 4\n', r"reward 4: must be text"),
        ('preset = "cpu"\n[grid]\nseed = 3\n', r"seed = 3 in \[grid\] must be a list of values"),
        ('preset = "cpu"\n[grid]\nseed = []\n', r"seed = \[\] in \[grid\] must be a list of values"),
        ('preset = "cpu"\n[grid]\nbatch = [8, 0]\n', r"\S+/rates.toml, row batch-0: batch 0: must be at least 1"),
        ('preset = "cpu"\n[grid]\nseed = [1, 1]\n', r"has two rows seed-1"),
        ('preset = "cpu"\n[grid]\nseed = [1]\n[[rows]]\nseed = 2\n', r"seed stands in \[grid\] and in \[\[rows\]\]"),
        (
            'preset = "cpu"\nseed = 1\n[[rows]]\nseed = 1\n[[rows]]\nreward = "ndigo-2"\n',
            r"seed-1 and ndigo-2 are the same",
        ),
        ('preset = "cpu"\n[grid]\ngamma = [1, 1.0]\n', r"rows gamma-1 and gamma-1.0 are the same run"),
        ('preset = "cpu"\n[grdi]\nseed = [0]\n', r"unknown table in \S+: 'grdi'; nearest: grid; known: grid, "),
        ('preset = "cpu"\n[[row]]\nseed = 0\n', r"unknown table in \S+: 'row'; nearest: rows; known: "),
        ('preset = "cpu"\nseed = [0, 1]\n', r"seed = \[0, 1\] must be one value; a list of them stands under \[grid\]"),
        ('preset = "cpu"\ngrid = 3\n', r"grid = 3 must be a table, under \[grid\]"),
        ('preset = "cpu"\nrows = 3\n', r"rows must be a list of tables, each under \[\[rows\]\]"),
        ('preset = "cup"\n', r"unknown preset in \S+: 'cup'; nearest: cpu; known: cpu, gpu, paper"),
        ("preset = [1]\n", r"unknown preset in \S+: '\[1\]'; known: "),
        ('preset = "cpu"\nout = 3\n', r"out = 3 must be text, the folder of the rows"),
        ('preset = "cpu"\nout = ""\n', r"out = '' must be text, the folder of the rows"),
        ('preset = "cpu"\nout = "a\\nb"\n', r"out = 'a\\nb' must be text, the folder of the rows"),
        (f'preset = "cpu"\ntask_weight = 1{"0" * 400}\n', r"task_weight 100000000\.\.\.: must be at most 1e\+30"),
        (
            'preset = "cpu"\n[grid]\n' + "".join(f"{n} = {[*range(1, 60)]}\n" for n in ("seed", "batch", "window")),
            r"rates.toml has 205,379 rows; at most 10,000 can be looked after",
        ),
        ('preset = "cpu"\ngamma = nan\n', r"gamma nan: must lie between 0 and 1"),
        ('preset = "cpu"\n[grid]\nseed = [[1]]\n', r"row seed-1: seed \[1\]: must be a whole number"),
        (f"x = {'[' * 5000}\n", r"is not TOML: "),
        ("seed = 3\n", r"names no preset; write preset = \"gpu\" or \"cpu\" above its tables"),
        ("seed = = 3\n", r"\S+/rates.toml is not TOML: it cannot be read from line 1, column 8 on"),
    ],
)
def test_a_mistake_is_one_line(text, message, tmp_path):
    with pytest.raises(NdigoError, match=message) as error:
        sweep_of(text, tmp_path)
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(NdigoError, match=r"none.toml cannot be read: No such file"):
        read_sweep(tmp_path / "none.toml")


def test_a_folder_with_a_run_of_other_settings_is_refused_by_the_first_that_differs(finished, tmp_path):
    file = write_sweep(tmp_path / "sweep.toml")
    (row,) = read_sweep(file).rows
    refuse_other_settings(finished.path, row.config, MOVE_AWAY)
    refuse_other_settings(tmp_path / "nothing", row.config, MOVE_AWAY)
    (other,) = read_sweep(write_sweep(file, seed=5)).rows
    with pytest.raises(NdigoError, match=r"was begun with seed 0, now it is 5: move that folder away, or give"):
        refuse_other_settings(finished.path, other.config, MOVE_AWAY)
