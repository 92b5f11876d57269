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
            _, *told = plain.step(action)
            _, *same = noisy.step(action)
            assert told == same
            one, other = (env.unwrapped.grid.encode() for env in (plain, noisy))
            changed = {tuple(at) for at in np.argwhere((one != other).any(axis=-1))}
            assert changed <= {tuple(noisy.env.at)}
            np.testing.assert_array_equal(one[..., 0], other[..., 0])
            colours.append(other[(*noisy.env.at, 1)])
            if told[1] or told[2]:
                break
    assert len(set(colours)) == 6
    listed = set(study.frame().listed)
    assert {(2, colour, 0) for colour in range(6)} <= listed


def test_a_cell_is_written_whole_and_not_run_again(study, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(study, "NUM_ENVS", 2)
    monkeypatch.setattr(study, "ROLLOUT", 64)
    cell = study.Cell("nothing", "noisy", 0)
    study.run((WORLD, cell, 256, tmp_path))
    head, *lines = map(json.loads, (tmp_path / "nothing-noisy-0.jsonl").read_text().splitlines())
    assert head == {"world": WORLD, "bonus": "nothing", "tile": "noisy", "seed": 0, "total": 256}
    assert [line["steps"] for line in lines] == [128, 256]
    assert all(line["nats"] == 0 and line["solved"] <= line["episodes"] for line in lines)
    where = ["--bonus", "nothing", "--tile", "noisy", "--seeds", "0", "--world", WORLD, "--out", str(tmp_path)]
    study.main([*where, "--steps", "256"])
    assert "1 of 1 cells are there, 0 are run" in capsys.readouterr().out
    with pytest.raises(SystemExit, match=r"has 256 steps of .*, expected 512 of"):
        study.main([*where, "--steps", "512"])
