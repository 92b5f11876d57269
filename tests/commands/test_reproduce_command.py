"""`ndigo reproduce` on a recipe so small that a CPU makes a cell of it in seconds."""

from __future__ import annotations

import dataclasses
import os

import custom_world
import jax.numpy as jnp
import numpy as np
import pytest
from made_up_rows import contents, make_up
from tiny_runs import TINY

import ndigo
from ndigo.cli import main
from ndigo.paper import plan
from ndigo.paper.experiments import EXPERIMENTS
from ndigo.paper.measured import compared, find_cells, measured
from ndigo.paper.plan import CELLS, Cell, departures, recipe
from ndigo.paper.rows import load_cell, save_cell
from ndigo.types import Truth

SMALL = ndigo.Config(**{**{k: v for k, v in TINY.items() if k != "preset"}, "learner_steps": 8})  # two chunks
CELL = Cell("exp1", "ndigo-1")
WORDS = ["reproduce", "exp1", "--reward", "ndigo-1", "--cells", "cells", "--runs", "runs"]


def where(state) -> Truth:
    lit = jnp.stack([0, state.lit])
    return Truth(agent=jnp.stack([0, state.door]), objects=lit[None], agent_room=jnp.int32(0), object_rooms=lit[:1])


@pytest.fixture
def small_recipe(tmp_path, monkeypatch):
    """Experiment 1 is three doors with a light behind one of them, which compiles faster than a map."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(ndigo.PRESETS, "gpu", SMALL)
    monkeypatch.setattr(plan, "EPISODES", 5)
    doors = dataclasses.replace(custom_world.world, truth=where, objects=("light",), map_shape=(1, 3))
    experiment = dataclasses.replace(EXPERIMENTS["exp1"], discovers=("light",))
    vars(experiment)["world"] = doors
    monkeypatch.setitem(EXPERIMENTS, "exp1", experiment)


def test_a_cell_is_paused_resumed_kept_and_compared(small_recipe, tmp_path, capsys):
    assert main([*WORDS, "--minutes", "0.00001"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(
        "exp1-ndigo-1: 2 seeds, 8 learner steps, 96 world steps a seed, then 5 greedy episodes a seed\n"
    )
    assert "paused at step 4, saved in runs/cells/exp1-ndigo-1; the same command goes on from there" in out
    assert not (tmp_path / "cells").exists()
    assert main(["reproduce", "--list", "--cells", "cells", "--runs", "runs"]) == 0
    assert "begun: step 4" in capsys.readouterr().out

    assert main(WORDS) == 0
    out = capsys.readouterr().out
    assert "from step 4 on" in out
    assert "at the pace it has had" in out
    assert "kept as cells/exp1-ndigo-1; there was none to compare with" in out
    assert sorted(os.listdir("cells/exp1-ndigo-1")) == ["config.json", "metrics.jsonl.gz", "result.json"]
    assert list(find_cells(tmp_path / "cells")) == [CELL]

    # What the cell holds is what the run's last checkpoint does, over all its seeds.
    cell = load_cell(tmp_path / "cells" / "exp1-ndigo-1")
    run = ndigo.open_run("runs/cells/exp1-ndigo-1")
    expected = np.asarray(run.evaluate(5, 1_000_000).discovery_loss, float).mean(axis=1)
    np.testing.assert_allclose(cell.result["evaluation"]["discovery_loss"], expected, rtol=1e-4)
    assert (cell.result["learner_steps"], cell.result["world_steps"]) == (8, 96)
    assert cell.agent is not None
    assert ndigo.load(cell.agent).config == run.config
    assert cell.agent == tmp_path / "agents" / "exp1-ndigo-1.safetensors"
    tracked = np.array(cell.result["tracking"]["steps"])
    visits = np.array(cell.result["evaluation"]["visits"])
    np.testing.assert_allclose(tracked[:, :, 0], 5 * visits, atol=0.1)  # age 0: in view

    # Asked for again, it is done already, and stands beside the one that is kept.
    assert main(WORDS) == 0
    out = capsys.readouterr().out
    assert "nothing is left to train" in out
    assert "ok: all 4 means lie within the shipped result's 95% intervals" in out

    assert main(["reproduce", "--list", "--cells", "cells", "--runs", "runs"]) == 0
    assert "1 of 36 cells done" in capsys.readouterr().out

    # A recipe that changed since has no part in the run that was begun, nor in the cell.
    ndigo.PRESETS["gpu"] = dataclasses.replace(SMALL, gamma=0.9)
    assert main(WORDS) == 2
    assert "was begun with gamma 0.99, now it is 0.9: move that folder away first" in capsys.readouterr().err
    assert find_cells(tmp_path / "cells") == {}
    assert main(["reproduce", "--list", "--cells", "cells"]) == 0
    assert "not the recipe: gamma 0.99" in capsys.readouterr().out


def test_a_trial_is_marked_and_counts_as_no_cell(small_recipe, tmp_path, capsys):
    assert main([*WORDS, "--seeds", "3", "--minutes", "5", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "a trial, not the recipe: it never counts as a cell" in out
    assert "in runs/trials/exp1-ndigo-1-gpu-seeds-3" in out
    # Nor does it where someone puts it among the cells.
    made = contents(CELL)
    made["settings"]["config"]["seeds"] = 3
    save_cell(tmp_path / "cells" / CELL.name, **made)
    assert departures(CELL, made["settings"]["config"]) == {"seeds": 3}
    assert find_cells(tmp_path / "cells") == {}


def test_means_outside_the_shipped_interval_are_named(tmp_path, capsys):
    shipped = measured(CELL, make_up(tmp_path / "a", CELL, lambda metric, name: 100.0 if metric == "visits" else None))
    # Ten seeds evenly between 99 and 101: their mean's interval is 99.53 to 100.5.
    new = measured(CELL, make_up(tmp_path / "b", CELL, lambda metric, name: 100.3 if name == "fixed" else 100.6))
    text = compared(new, shipped)
    assert "visits of noise: 100.6, shipped 100 (99.53 to 100.5)" in text
    assert "visits of fixed: 100.3" not in text
    assert "by chance alone" in text


def test_the_plan_has_every_cell_once_in_its_order_and_one_recipe():
    assert len(CELLS) == len(set(CELLS)) == 36
    assert [c.name for c in CELLS[:3]] == ["exp1-ndigo-4", "exp1-icm", "exp1-pe"]
    assert list(dict.fromkeys(c.experiment for c in CELLS)) == ["exp1", "exp4", "exp2", "exp3", "exp5"]
    assert [c.reward for c in CELLS if c.experiment == "exp5"][:3] == ["ndigo-5", "icm", "pe"]
    differing = {
        f.name
        for c in CELLS
        for f in dataclasses.fields(recipe(c))
        if getattr(recipe(c), f.name) != getattr(ndigo.PRESETS["gpu"], f.name)
    }
    assert differing <= {"world", "reward"}
    assert plan.EPISODES >= 100


def test_all_walks_the_missing_cells_of_the_plan(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for cell in CELLS[2:]:
        make_up(tmp_path / "cells", cell, device="cpu")
    assert main(["reproduce", "--all", "--cells", "cells", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert [line.split(":")[0] for line in out.splitlines() if line.startswith("[")] == [
        "[1/2] exp1-ndigo-4",
        "[2/2] exp1-icm",
    ]
    assert "about 1.0 min on cpu (as its experiment's shipped cells took)" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name an experiment"),
        (["exp9"], "unknown experiment 'exp9'"),
        (["exp1", "--reward", "ndigo-5"], "unknown reward of exp1 'ndigo-5'"),
        (["--reward", "pe"], "--reward pe: name its experiment too"),
        (["exp1", "--all"], "--all walks every experiment"),
        (["exp1", "--minutes", "0"], "--minutes 0.0: must be above 0"),
        (["exp1", "--reward", "pe", "--preset", "cup"], "unknown preset 'cup'"),
        (["exp1", "--reward", "pe", "--seeds", "0"], "seeds 0: must be at least 1"),
    ],
)
def test_bad_input_gets_one_line_and_code_2(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", *words]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"ndigo: {message}")
    assert os.listdir(tmp_path) == []
