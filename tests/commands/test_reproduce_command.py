"""`ndigo reproduce` on a recipe so small that a CPU makes a row of it in seconds."""

from __future__ import annotations

import dataclasses
import json
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
from ndigo.paper.experiments import EXPERIMENTS, Row
from ndigo.paper.measured import compared, measured
from ndigo.paper.plan import all_rows, departures, find_rows, recipe
from ndigo.paper.rows import load_row, save_row
from ndigo.scale.note import Note, write_note
from ndigo.types import Truth

SMALL = ndigo.Config(**{**{k: v for k, v in TINY.items() if k != "preset"}, "learner_steps": 8})  # two chunks
ROW = Row("exp1", "ndigo-1")
WORDS = ["reproduce", "exp1", "--reward", "ndigo-1", "--rows", "rows", "--runs", "runs"]


def where(state) -> Truth:
    lit = jnp.stack([0, state.lit])
    return Truth(agent=jnp.stack([0, state.door]), objects=lit[None])


@pytest.fixture
def small_recipe(tmp_path, monkeypatch):
    """Experiment 1 is three doors with a light behind one of them, which compiles faster than a map."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(ndigo.PRESETS, "gpu", SMALL)
    monkeypatch.setattr(plan, "EPISODES", 5)
    monkeypatch.setattr(plan, "SHIPS_AGENT", (ROW,))
    doors = dataclasses.replace(custom_world.world, truth=where, objects=("light",), map_shape=(1, 3))
    experiment = dataclasses.replace(EXPERIMENTS["exp1"], discovers=("light",))
    vars(experiment)["world"] = doors
    monkeypatch.setitem(EXPERIMENTS, "exp1", experiment)


def test_a_row_is_paused_resumed_kept_and_compared(small_recipe, tmp_path, capsys):
    assert main([*WORDS, "--minutes", "0.00001"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(
        "exp1-ndigo-1: 2 seeds, 8 learner steps, 96 world steps per seed, then 5 greedy episodes per seed\n"
    )
    assert "paused at step 4, saved in runs/rows/exp1-ndigo-1; the same command goes on from there" in out
    assert not (tmp_path / "rows").exists()
    assert main(["reproduce", "--list", "--rows", "rows", "--runs", "runs"]) == 0
    assert "begun: step 4" in capsys.readouterr().out

    assert main(WORDS) == 0
    out = capsys.readouterr().out
    assert "from step 4 on" in out
    assert "at the pace it has had" in out
    assert "kept as rows/exp1-ndigo-1; there was none to compare with" in out
    assert sorted(os.listdir("rows/exp1-ndigo-1")) == ["config.json", "metrics.jsonl.gz", "result.json"]
    assert list(find_rows(tmp_path / "rows")) == [ROW]

    # What the row holds is what the run's last checkpoint does, over all its seeds.
    row = load_row(tmp_path / "rows" / "exp1-ndigo-1")
    run = ndigo.open_run("runs/rows/exp1-ndigo-1")
    expected = np.asarray(run.evaluate(5, 1_000_000).discovery_loss, float).mean(axis=1)
    np.testing.assert_allclose(row.result["evaluation"]["discovery_loss"], expected, rtol=1e-4)
    assert (row.result["learner_steps"], row.result["world_steps"]) == (8, 96)
    assert row.agent is not None
    assert ndigo.load(row.agent).config == run.config
    assert row.agent == tmp_path / "agents" / "exp1-ndigo-1.safetensors"
    tracked = np.array(row.result["tracking"]["steps"])
    visits = np.array(row.result["evaluation"]["visits"])
    np.testing.assert_allclose(tracked[:, :, 0], 5 * visits, atol=0.1)  # age 0: in view

    # Asked for again, it is done already, and stands beside the one that is kept.
    assert main(WORDS) == 0
    out = capsys.readouterr().out
    assert "nothing is left to train" in out
    assert "ok: all 4 means lie within the shipped result's 95% intervals" in out

    assert main(["reproduce", "--list", "--rows", "rows", "--runs", "runs"]) == 0
    assert "1 of 38 rows done" in capsys.readouterr().out
    assert main(["reproduce", "--list", "--rows", "rows", "--runs", "runs", "--json"]) == 0
    states = {state["row"]: state for state in json.loads(capsys.readouterr().out)["states"]}
    assert len(states) == 38
    assert states["exp1-ndigo-1"]["minutes"] == pytest.approx(row.result["seconds"] / 60)
    assert {name for name, state in states.items() if state["state"] == "done"} == {"exp1-ndigo-1"}
    assert main(["reproduce", "--list", "--rows", "nowhere"]) == 0
    assert "no row is done: there is no folder nowhere here" in capsys.readouterr().out

    # A recipe that changed since has no part in the run that was begun, nor in the row.
    ndigo.PRESETS["gpu"] = dataclasses.replace(SMALL, gamma=0.9)
    assert main(WORDS) == 2
    assert "was begun with gamma 0.99, now it is 0.9: move that folder away first" in capsys.readouterr().err
    assert find_rows(tmp_path / "rows") == {}
    assert main(["reproduce", "--list", "--rows", "rows"]) == 0
    assert "not the recipe: gamma 0.99" in capsys.readouterr().out


def test_a_trial_is_marked_and_counts_as_no_row(small_recipe, tmp_path, capsys):
    assert main([*WORDS, "--seeds", "3", "--minutes", "5", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "a trial, not the recipe: it never counts as a row" in out
    assert "in runs/trials/exp1-ndigo-1-gpu-seeds-3" in out
    # Nor does it where someone puts it among the rows.
    made = contents(ROW)
    made["settings"]["config"]["seeds"] = 3
    save_row(tmp_path / "rows" / ROW.name, **made)
    assert departures(ROW, made["settings"]["config"]) == {"seeds": 3}
    assert find_rows(tmp_path / "rows") == {}


def test_means_outside_the_shipped_interval_are_named(tmp_path, capsys):
    shipped = measured(ROW, make_up(tmp_path / "a", ROW, lambda metric, name: 100.0 if metric == "visits" else None))
    # Ten seeds evenly between 99 and 101: their mean's interval is 99.53 to 100.5.
    new = measured(ROW, make_up(tmp_path / "b", ROW, lambda metric, name: 100.3 if name == "fixed" else 100.6))
    text = compared(new, shipped)
    assert "visits of noise: 100.6, shipped 100 (99.53 to 100.5)" in text
    assert "visits of fixed: 100.3" not in text
    assert "by chance alone" in text


def test_the_plan_has_every_row_once_in_its_order_and_one_recipe():
    assert len(all_rows()) == len(set(all_rows())) == 38
    assert [c.name for c in all_rows()[:3]] == ["exp1-ndigo-4", "exp1-icm", "exp1-pe"]
    assert list(dict.fromkeys(c.experiment for c in all_rows())) == ["exp1", "exp2", "exp3", "exp4", "exp5"]
    assert [c.reward for c in all_rows() if c.experiment == "exp5"][:3] == ["ndigo-5", "icm", "pe"]
    differing = {
        f.name
        for c in all_rows()
        for f in dataclasses.fields(recipe(c))
        if getattr(recipe(c), f.name) != getattr(ndigo.PRESETS["gpu"], f.name)
    }
    assert differing <= {"world", "reward"}
    assert plan.EPISODES >= 100


def test_a_row_that_waits_in_a_sweeps_queue_is_listed_as_missing(tmp_path, monkeypatch, capsys):
    """A sweep's rows have a folder, with the note of their job, before they have a run."""
    monkeypatch.chdir(tmp_path)
    write_note(tmp_path / "runs" / "rows" / ROW.name, Note("queued", "slurm", 0.0))
    assert main(["reproduce", "--list", "--json", "--rows", "rows", "--runs", "runs"]) == 0
    states = json.loads(capsys.readouterr().out)["states"]
    assert {line["state"] for line in states} == {"missing"}


def test_the_list_is_of_what_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for words, num_rows in ((["exp5"], 8), (["exp5", "--reward", "pe"], 1)):
        assert main(["reproduce", *words, "--list"]) == 0
        assert capsys.readouterr().out.count("  missing") == num_rows
    assert main(["reproduce", "exp9", "--list"]) == 2


def test_all_walks_the_missing_rows_of_the_plan(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for row in all_rows()[2:]:
        make_up(tmp_path / "rows", row, device="cpu")
    assert main(["reproduce", "--all", "--rows", "rows", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert [line.split(":")[0] for line in out.splitlines() if line.startswith("[")] == [
        "[1/2] exp1-ndigo-4",
        "[2/2] exp1-icm",
    ]
    assert "about 60 s on cpu (as its experiment's shipped rows took)" in out
    assert out.endswith("in all: 2 rows, about 2 min one after the other\n")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "64")
    assert main(["reproduce", "--all", "--rows", "rows", "--dry-run"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 64


def test_one_round_is_timed_for_all_rows_of_a_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    timed = []
    seconds = 1.0 * ndigo.PRESETS["gpu"].updates_per_round  # one second per learner step
    monkeypatch.setattr("ndigo.commands.reproduce.time_round", lambda *what: timed.append(what) or seconds)
    assert main(["reproduce", "exp1", "--learner-steps", "600", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert len(timed) == 1
    assert out.count("about 10 min on cpu") == 8
    assert out.count("(as exp1-ndigo-4, timed here)") == 7
    assert out.endswith("in all: 8 rows, about 80 min one after the other\n")


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
