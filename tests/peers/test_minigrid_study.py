"""The runner of the study on MiniGrid: its noisy tile is noise and nothing else, and what was run is not run again."""
# pyright: reportMissingImports=false

from __future__ import annotations

import importlib.util
import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

if tuple(map(int, version("navix").split(".")[:2])) < (0, 12):
    pytest.skip("NAVIX 0.12 needs Python 3.12; older ones show other tiles", allow_module_level=True)

PATH = Path(__file__).parents[2] / "studies" / "minigrid-ppo" / "run.py"
WORLD = "Navix-KeyCorridorS3R3-v0"


@pytest.fixture(scope="module")
def study() -> Any:
    spec = importlib.util.spec_from_file_location("minigrid_study", PATH)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def walks(study) -> dict[str, Any]:
    """By tile, random walks of 32 streams with the same keys and actions: frames, events and whether it is over."""
    a_t = jax.random.randint(jax.random.key(1), (270, 32), 0, 7)
    keys = jax.random.split(jax.random.key(0), (271, 32))

    def walk(is_noisy: Any) -> Any:
        world = study.make_world(WORLD, is_noisy)

        def step(state: Any, x: Any) -> Any:
            state = jax.vmap(world.step)(x[0], state, x[1])
            return state, (jax.vmap(world.observe)(state), jax.vmap(world.happens)(state), jax.vmap(world.ends)(state))

        return jax.lax.scan(step, jax.vmap(world.reset)(keys[0]), (keys[1:], a_t))[1]

    both = jax.jit(jax.vmap(walk))(jnp.array([False, True]))
    return {tile: jax.tree.map(lambda x, lane=lane: np.asarray(x[lane]), both) for lane, tile in enumerate(study.TILES)}


def test_the_noisy_tile_is_one_piece_of_wall_of_a_new_colour_and_all_else_is_as_without(study, walks):
    (o, happens, ends), (o_noisy, happens_noisy, ends_noisy) = walks["plain"], walks["noisy"]
    np.testing.assert_array_equal(happens, happens_noisy)
    np.testing.assert_array_equal(ends, ends_noisy)
    np.testing.assert_array_equal(o[..., [0, 2]], o_noisy[..., [0, 2]])
    is_changed = o[..., 1] != o_noisy[..., 1]
    assert (is_changed.sum((-1, -2)) <= 1).all()
    assert (o[is_changed][:, 0] == 2).all()
    assert (o[is_changed][:, 1] == 5).all()  # grey, as every other piece of wall
    colours = np.bincount(o_noisy[is_changed][:, 1], minlength=6)
    assert colours[5] == 0
    np.testing.assert_allclose(colours[:5] / colours.sum(), 0.2, atol=0.03)


def test_every_tile_that_is_shown_is_listed(study, walks):
    frame = study.frame()
    assert min(frame.class_of(o).min() for o, *_ in walks.values()) > 0


def test_nobody_reaches_the_goal_but_through_the_locked_door_and_no_one_opens_it_without_the_key(walks):
    _, happens, (is_last, is_terminal) = walks["plain"]
    key, door, goal = (np.maximum.accumulate(happens[..., i], 0) for i in range(3))
    assert key.any()
    assert (key >= door).all()
    assert (door >= goal).all()
    first = is_last.argmax(0)
    np.testing.assert_array_equal(is_terminal[first, np.arange(32)], goal[first, np.arange(32)])
    assert (first[~goal[first, np.arange(32)]] == 269).all()


def test_a_key_that_is_carried_stands_in_the_agents_cell(walks):
    o, happens, _ = walks["plain"]
    has_key = happens[..., 0]
    np.testing.assert_array_equal(o[:, :, 6, 3, 0] == 5, has_key)


def test_a_cell_is_written_whole_and_not_run_again(study, tmp_path, capsys):
    where = ["--reward", "nothing", "--tile", "noisy", "--seeds", "0", "--world", WORLD, "--out", str(tmp_path)]
    study.main([*where, "--envs", "8", "--steps", "2048"])
    head, *lines = map(json.loads, (tmp_path / "nothing-noisy-0.jsonl").read_text().splitlines())
    assert {"world": WORLD, "reward": "nothing", "tile": "noisy", "seed": 0, "total": 2048}.items() <= head.items()
    assert [line["steps"] for line in lines] == [1024, 2048]
    assert all(line["nats"] == 0 and line["solved"] <= line["key"] <= line["episodes"] for line in lines)
    study.main([*where, "--envs", "8", "--steps", "2048"])
    assert "nothing: all 1 cells are there" in capsys.readouterr().out
    with pytest.raises(SystemExit, match=r"has 2048 steps of .*, expected 4096 of"):
        study.main([*where, "--steps", "4096"])
