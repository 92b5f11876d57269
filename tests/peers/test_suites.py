"""Other people's suites, themselves: their worlds trained, evaluated and reported from the command line."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ndigo.cli import main
from ndigo.paper.experiments import find_world

SMALL = {
    "preset": "cpu",
    "seeds": 2,
    "num-ahead": 2,
    "belief-size": 8,
    "num-filters": 2,
    "num-features": 8,
    "predictor-hidden": 8,
    "head-hidden": 8,
    "batch": 4,
    "window": 6,
    "actors": 2,
    "round-steps": 24,
    "updates-per-round": 2,
    "replay-steps": 192,
    "learner-steps": 8,
    "rounds-per-chunk": 2,
    "chunks-per-evaluation": 2,
    "evaluation-episodes": 2,
}
FLAGS = [word for name, value in SMALL.items() for word in (f"--{name}", str(value))]
# Each world: its packages, the names that visits are counted of, and the channels.
WORLDS = {
    "gymnasium::MiniGrid-Empty-5x5-v0": ("gymnasium minigrid", ["goal"], ["object", "colour", "state"]),
    "gymnasium::FrozenLake-v1": ("gymnasium", [], ["number"]),
    "gymnax::Breakout-MinAtar": ("gymnax", [], [f"channel{i}" for i in range(4)]),
    "navix::Navix-Empty-5x5-v0": ("navix", ["goal"], ["entity", "colour", "state"]),
    "xminigrid::XLand-MiniGrid-R1-9x9": ("xminigrid", ["goal"], ["tile", "colour"]),
    "craftax::Craftax-Classic-Symbolic-v1": ("craftax", 22, ["blocks", "mobs", "numbers"]),
}


def need(packages: str) -> None:
    for package in packages.split():
        pytest.importorskip(package, exc_type=ImportError)


def said(capsys: Any, *words: str) -> str:
    capsys.readouterr()
    assert main(list(words)) == 0
    return capsys.readouterr().out


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", WORLDS)
def test_a_suite_is_trained_evaluated_and_reported_by_name(name, tmp_path, capsys):
    packages, events, channels = WORLDS[name]
    need(packages)
    run = tmp_path / "run"
    told = said(capsys, "train", name, "--reward", "ndigo-1", "--task-weight", "1", "--out", str(run), *FLAGS)
    assert "places: " in told
    assert "task return: " in told
    assert "finished at step 8" in told
    settings = json.loads((run / "config.json").read_text())
    assert settings["world"]["channels"] == channels
    in_view = settings["world"]["in_view"]
    assert len(in_view) == events if isinstance(events, int) else in_view == events
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert len(lines) == 2
    assert np.isfinite(lines[-1]["learning"]["reward_c"]).all()
    assert np.shape(lines[-1]["evaluation"]["model_loss_c"]) == (2, len(channels))
    found = json.loads(said(capsys, "evaluate", str(run), "--episodes", "3", "--json"))
    again = json.loads(said(capsys, "evaluate", str(run), "--episodes", "3", "--json"))
    assert found == again
    assert min(found["coverage"]) >= 1
    assert max(found["episode_steps"]) <= settings["world"]["num_steps"]
    assert found["channels"] == channels
    assert "places in " in said(capsys, "evaluate", str(run), "--episodes", "2")
    assert "model loss" in said(capsys, "report", str(run), "--formats", "png")
    assert list(run.glob("*.png"))


def test_a_run_of_the_host_goes_on_with_new_episodes(tmp_path, capsys):
    need("gymnasium minigrid")
    run = tmp_path / "run"
    name = "gymnasium::MiniGrid-Empty-5x5-v0"
    said(capsys, "train", name, "--out", str(run), "--minutes", "0.0001", *FLAGS)
    assert "finished at step 8" in said(capsys, "train", "--resume", str(run))
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [4, 8]
    episodes = [np.sum(line["acting"]["episodes"]) for line in lines]
    assert episodes[0] <= episodes[1]  # the tally goes on, too


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("gymnasium::Pendulum-v1", "expected a Discrete space"),
        ("gymnasium::CartPole-v1", "fit no frame by themselves: hand over a frame"),
        ("gymnasium::MiniGrid-Emty-5x5-v0", "nearest: MiniGrid-Empty-5x5-v0"),
        ("navix::Navix-Empty-5x5", "nearest: Navix-Empty-5x5-v0"),
        ("craftax::Craftax-Symbolic", "nearest: Craftax-Symbolic-v1"),
        ("xminigrid::XLand-MiniGrid-R1-9x8", "nearest: XLand-MiniGrid-R1-9x9"),
        ("gymnax::Breakout", "unknown gymnax environment 'Breakout'"),
    ],
)
def test_a_wrong_name_is_one_line_and_exit_2(name, says, capsys, tmp_path):
    need(f"{name.partition('::')[0]} minigrid")
    assert main(["train", name, "--out", str(tmp_path / "run")]) == 2
    told = capsys.readouterr().err
    assert says in told
    assert len(told.strip().splitlines()) == 1
    assert not (tmp_path / "run").exists()


def test_cart_pole_learns_its_task_with_a_frame_of_its_own(tmp_path):
    """Its own observations have no bounds: the frame gives them. One update's worth of rows has its numbers."""
    need("gymnasium")
    import gymnasium

    import ndigo
    from ndigo import frames
    from ndigo.interop.suites import from_gymnasium

    high = [4.8, 4.0, 0.42, 4.0]
    frame = frames.vector(4, low=[-x for x in high], high=high, names=("x", "v", "angle", "spin"))
    world = from_gymnasium(lambda: gymnasium.make("CartPole-v1"), frame=frame, num_envs=2)
    settings: dict[str, Any] = {name.replace("-", "_"): value for name, value in SMALL.items() if name != "actors"}
    run = ndigo.train(world, "task", out=tmp_path / "run", quiet=True, **settings)
    assert run.config.actors == 2
    found = run.evaluate(2)
    np.testing.assert_array_equal(found.task_return, found.episode_steps)  # it pays 1 for each step
    assert (np.asarray(found.episode_steps) > 5).all()


def test_craftax_frames_say_what_the_observation_says():
    """Tiles and numbers, back into the suite's own floats: nothing but the light's shade is lost."""
    need("craftax")
    world = find_world("craftax::Craftax-Classic-Symbolic-v1")
    state = jax.jit(world.reset)(jax.random.key(0))
    frame = jax.device_get(world.observe(state))
    env = importlib.import_module("craftax.craftax_env").make_craftax_env_from_name(
        "Craftax-Classic-Symbolic-v1", auto_reset=False
    )
    theirs = np.asarray(jax.jit(env.reset)(jax.random.key(0), env.default_params)[0])
    blocks, mobs = frame["blocks"][..., 0], frame["mobs"][..., 0]
    num_blocks = len(importlib.import_module("craftax.craftax_classic.constants").BlockType)
    ones = np.concatenate(
        [np.eye(num_blocks + 1)[blocks][..., 1:], np.eye(5)[mobs][..., 1:]],
        axis=-1,
    )
    np.testing.assert_array_equal(np.concatenate([ones.ravel(), frame["numbers"]]), theirs)


@pytest.mark.parametrize("name", ["navix::Navix-DoorKey-5x5-v0", "xminigrid::XLand-MiniGrid-R1-9x9"])
def test_the_true_last_frame_of_an_episode_is_seen(name):
    """A random walk to a last frame: the world stays there until it is reset, and only a termination is terminal."""
    need(name.partition("::")[0])
    world = find_world(name)
    assert world.ends is not None
    ends: Any = world.ends

    @jax.jit
    def walk(key: Any) -> Any:
        def body(carry: Any) -> Any:
            state, key, t = carry
            key, key_step, key_a = jax.random.split(key, 3)
            a = jax.random.randint(key_a, (), 0, world.num_actions)
            return world.step(key_step, state, a), key, t + 1

        first = world.reset(key), key, jnp.int32(0)
        state, _, t = jax.lax.while_loop(lambda c: ~ends(c[0])[0], body, first)
        return ends(state), t, world.observe(state)

    (is_last, _), t, o = walk(jax.random.key(1))
    assert is_last
    assert 1 <= t <= world.num_steps
    assert world.frame.wrong(np.asarray(o)[None]) is None


def test_peers_are_named_in_the_extras():
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    for package in ("gymnax", "navix", "xminigrid", "craftax", "minigrid"):
        assert f'"{package}>=' in text
