"""The runner of the study on MiniGrid: its noisy tile is noise and nothing else, and what was run is not run again."""
# pyright: reportMissingImports=false

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PATH = Path(__file__).parents[2] / "studies" / "minigrid-ppo" / "run.py"
WORLD = "MiniGrid-MultiRoom-N2-S4-v0"


@pytest.fixture
def study() -> Any:
    spec = importlib.util.spec_from_file_location("minigrid_study", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_noisy_tile_is_one_piece_of_wall_of_a_new_colour_and_all_else_is_as_without(study):
    plain, noisy = (study.make_env(WORLD, tile) for tile in study.TILES)
    rng, colours = np.random.default_rng(0), []
    for seed in (3, None):
        plain.reset(seed=seed)
        noisy.reset(seed=seed)
        for _ in range(30):
            action = rng.integers(3)
            _, *answer = plain.step(action)
            _, *same = noisy.step(action)
            assert answer == same
            one, other = (env.unwrapped.grid.encode() for env in (plain, noisy))
            changed = {tuple(at) for at in np.argwhere((one != other).any(axis=-1))}
            assert changed <= {tuple(noisy.env.at)}
            np.testing.assert_array_equal(one[..., 0], other[..., 0])
            colours.append(other[(*noisy.env.at, 1)])
            if answer[1] or answer[2]:
                break
    assert len(set(colours)) == 6
    listed = set(study.frame().listed)
    assert {(2, colour, 0) for colour in range(6)} <= listed


def test_a_cell_is_written_whole_and_not_run_again(study, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(study, "NUM_ENVS", 2)
    monkeypatch.setattr(study, "ROLLOUT", 64)
    cell = study.Cell("nothing", "noisy", 0)
    study.run((WORLD, cell, 256, tmp_path, 1000))
    head, *lines = map(json.loads, (tmp_path / "nothing-noisy-0.jsonl").read_text().splitlines())
    assert head == {"world": WORLD, "bonus": "nothing", "tile": "noisy", "seed": 0, "total": 256}
    assert [line["steps"] for line in lines] == [128, 256]
    assert all(line["nats"] == 0 and line["solved"] <= line["episodes"] for line in lines)
    where = ["--bonus", "nothing", "--tile", "noisy", "--seeds", "0", "--world", WORLD, "--out", str(tmp_path)]
    study.main([*where, "--steps", "256"])
    assert "1 of 1 cells are there, 0 are run" in capsys.readouterr().out
    with pytest.raises(SystemExit, match=r"has 256 steps of .*, expected 512 of"):
        study.main([*where, "--steps", "512"])


def test_a_cell_that_was_killed_goes_on_from_its_save(study, tmp_path, monkeypatch):
    monkeypatch.setattr(study, "NUM_ENVS", 2)
    monkeypatch.setattr(study, "ROLLOUT", 64)
    monkeypatch.setattr(study, "SAVE_EVERY", 2)
    cell, save = study.Cell("nothing", "plain", 1), study.write_save

    def lines(name: str) -> list[dict[str, float]]:
        return [json.loads(line) for line in (tmp_path / name).read_text().splitlines()[1:]]

    def write_one_save(*args: Any) -> None:
        if study.newest_save(tmp_path, cell) is not None:
            raise KeyboardInterrupt
        save(*args)

    with monkeypatch.context() as patched:
        patched.setattr(study, "write_save", write_one_save)
        with pytest.raises(KeyboardInterrupt):
            study.train(WORLD, cell, 640, tmp_path, 1000)
    assert study.newest_save(tmp_path, cell).name == f"{cell.name}.save-256"
    before = lines(f"{cell.name}.part")
    assert [line["steps"] for line in before] == [128, 256, 384, 512]
    assert study.run((WORLD, cell, 640, tmp_path, 1000)) == f"{cell.name}: done"
    assert [path.name for path in tmp_path.iterdir()] == [f"{cell.name}.jsonl"]
    found = lines(f"{cell.name}.jsonl")
    assert [line["steps"] for line in found] == [128, 256, 384, 512, 640]
    assert found[:2] == before[:2]


def test_a_cell_whose_time_is_over_is_saved_and_not_done(study, tmp_path, monkeypatch):
    monkeypatch.setattr(study, "NUM_ENVS", 2)
    monkeypatch.setattr(study, "ROLLOUT", 64)
    cell = study.Cell("nothing", "plain", 0)
    assert "stopped" in study.run((WORLD, cell, 256, tmp_path, 0))
    assert [path.name for path in tmp_path.iterdir()] == [f"{cell.name}.part"]


def test_a_save_holds_the_curiosity_too(study, tmp_path, monkeypatch):
    monkeypatch.setattr(study, "NUM_ENVS", 2)
    cell = study.Cell("ndigo-1", "plain", 0)
    agent, curiosity = study.make_agent(WORLD, cell, None)
    curiosity.reset(np.zeros((2, 7, 7, 3), np.uint8))
    study.write_save(tmp_path, cell, agent, curiosity)
    _, again = study.make_agent(WORLD, cell, study.newest_save(tmp_path, cell))
    assert again is not curiosity
    assert again.clock == 1
    np.testing.assert_array_equal(again.believe(), curiosity.believe())
    assert np.abs(again.believe()).max() > 0
