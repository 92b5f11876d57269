"""Other people's suites, themselves: their worlds trained, evaluated and reported from the command line."""

from __future__ import annotations

import functools
import importlib
import json
import re
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ndigo.cli import main
from ndigo.errors import NdigoError
from ndigo.gate import check_world
from ndigo.interop import finding
from ndigo.interop.finding import find_world
from ndigo.interop.suites import from_navix, suite_world

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
# Each world: the names that visits are counted of, and the channels. Craftax has a file of its own.
WORLDS = {
    "gymnasium::MiniGrid-Empty-5x5-v0": (["goal"], ["object", "colour", "state"]),
    "gymnasium::FrozenLake-v1": ([], ["number"]),
    "gymnasium::CartPole-v1": ([], ["numbers"]),
    "gymnasium::Blackjack-v1": ([], ["part0", "part1", "part2"]),
    "gymnax::Breakout-MinAtar": ([], [f"channel{i}" for i in range(4)]),
    "navix::Navix-Empty-5x5-v0": (["goal"], ["entity", "colour", "state"]),
    "xminigrid::MiniGrid-Empty-5x5": (["goal"], ["tile", "colour"]),
}
EPISODES = ["--episodes", str(SMALL["evaluation-episodes"])]  # as in training: one program measures all


@pytest.fixture
def made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One world of a name on the device serves every command, and so do the programs that were traced for it."""
    of_device = functools.cache(suite_world)
    monkeypatch.setattr(
        finding, "suite_world", lambda name: (suite_world if name.startswith("gymnasium") else of_device)(name)
    )


def said(capsys: Any, *words: str) -> str:
    capsys.readouterr()
    assert main(list(words)) == 0
    return capsys.readouterr().out


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.usefixtures("made_once")
def test_a_suite_is_trained_evaluated_and_reported_by_name(name, tmp_path, capsys):
    events, channels = WORLDS[name]
    run = tmp_path / "run"
    told = said(capsys, "train", name, "--reward", "ndigo-1", "--task-weight", "1", "--out", str(run), *FLAGS)
    assert "places: " in told
    assert "task return: " in told
    assert "finished at step 8" in told
    settings = json.loads((run / "config.json").read_text())
    assert settings["world"]["channels"] == channels
    assert settings["world"]["in_view"] == events
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert len(lines) == 2
    assert np.isfinite(lines[-1]["learning"]["reward_c"]).all()
    assert np.shape(lines[-1]["evaluation"]["model_loss_c"]) == (2, len(channels))
    found = json.loads(said(capsys, "evaluate", str(run), *EPISODES, "--json"))
    again = json.loads(said(capsys, "evaluate", str(run), *EPISODES, "--json"))
    assert found == again
    assert min(found["coverage"]) >= 1
    assert max(found["episode_steps"]) <= settings["world"]["num_steps"]
    assert found["channels"] == channels
    assert "places in " in said(capsys, "evaluate", str(run), *EPISODES)
    assert "model loss" in said(capsys, "report", str(run), "--formats", "png")
    assert list(run.glob("*.png"))
    page, film = tmp_path / "page.html", tmp_path / "film.gif"
    told = said(capsys, "export", str(run), "--html", str(page), "--gif", str(film), "--episodes", "1")
    assert "film.gif: " in told
    assert film.stat().st_size > 0
    assert page.stat().st_size > 0


def test_a_run_of_the_host_goes_on_with_new_episodes(tmp_path, capsys):
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
        ("gymnasium::MiniGrid-Emty-5x5-v0", "nearest: MiniGrid-Empty-5x5-v0"),
        ("navix::Navix-Empty-5x5", "nearest: Navix-Empty-5x5-v0"),
        ("craftax::Craftax-Symbolic", "nearest: Craftax-Symbolic-v1"),
        ("xminigrid::XLand-MiniGrid-R1-9x8", "nearest: XLand-MiniGrid-R1-9x9"),
        ("gymnax::Breakout", "unknown gymnax environment 'Breakout'"),
    ],
)
def test_a_wrong_name_is_one_line_and_exit_2(name, says, capsys, tmp_path):
    assert main(["train", name, "--out", str(tmp_path / "run")]) == 2
    told = capsys.readouterr().err
    assert says in told
    assert len(told.strip().splitlines()) == 1
    assert not (tmp_path / "run").exists()


def test_cart_pole_learns_its_task_with_a_frame_of_its_own(tmp_path):
    """A frame with bounds of one's own, and a channel per number. One update's worth of rows has its numbers."""
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


def test_a_minigrid_view_is_drawn_as_minigrid_draws_it():
    """Its own picture of the view, a tile per cell: the same cells are walls, in views unlike their mirrors."""
    import gymnasium

    from ndigo.interop.suites.minigrid_view import read_image
    from ndigo.watching.frame_pictures import WALL, painter_of

    world = find_world("gymnasium::MiniGrid-MultiRoom-N6-v0")
    env = gymnasium.make("MiniGrid-MultiRoom-N6-v0")
    observation, _ = env.reset(seed=3)
    num_lopsided = 0
    for action in (0, 2, 2, 1, 2):
        observation, *_ = env.step(action)
        picture = np.asarray(painter_of(world.frame).seen(read_image(observation)))
        theirs: Any = env.unwrapped
        tiles = theirs.get_pov_render(tile_size=8).reshape(7, 8, 7, 8, 3).swapaxes(1, 2)
        is_wall = (tiles == tiles[..., :1, :1, :1]).all(axis=(2, 3, 4)) & (tiles[..., 4, 4, 0] > 0)  # one grey all over
        num_lopsided += bool((is_wall != is_wall.T).any())
        np.testing.assert_array_equal((picture == np.array(WALL)).all(axis=-1), is_wall)
    assert num_lopsided >= 3


@pytest.mark.filterwarnings("ignore:.*out of date")
def test_no_minigrid_shows_a_tile_that_is_not_listed():
    """Every world of MiniGrid's own, from its start on; class 0 is any other tile."""
    import gymnasium

    from ndigo.interop.suites.gymnasium import make_by_id
    from ndigo.interop.suites.spaces import frame_of

    importlib.import_module("minigrid")  # registers them
    ids = [id_ for id_ in gymnasium.registry if id_.startswith("MiniGrid-") and "WFC" not in id_]
    assert len(ids) > 50
    for id_ in ids:
        env = make_by_id(id_)
        env.action_space.seed(0)
        shown = [env.reset(seed=0)[0]]
        frame, read = frame_of(id_, env.observation_space, lambda shown=shown: shown[0])
        for _ in range(30):
            observation, _, is_terminal, is_cut, _ = env.step(env.action_space.sample())
            shown.append(observation)
            if is_terminal or is_cut:
                break
        env.close()
        assert (frame.class_of(np.stack([read(o) for o in shown])) > 0).all(), id_  # type: ignore[attr-defined]


def test_the_page_about_your_world_makes_the_worlds_of_suites_that_it_shows():
    """NAVIX's view is of 7 by 7 cells, the wall beside the agent among them; the ball of the goal lies in a room."""
    page = (Path(__file__).parents[2] / "docs" / "your-world.md").read_text()
    _, snippet = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    made: dict[str, Any] = {}
    exec(snippet, made)
    corridor, rooms, (tile, colour) = made["corridor"], made["rooms"], made["ball"]
    assert corridor.num_steps == 270
    assert corridor.shape == (7, 7, 3)
    for world in (corridor, rooms):
        check_world(world)
        assert world.events == ("goal",)
        assert world.task_reward is not None
    state = jax.jit(rooms.reset)(jax.random.key(0))
    grid = np.asarray(state.inner.state.grid)
    assert (grid == [tile, colour]).all(axis=-1).sum() == 1


@pytest.mark.parametrize("id_", ["MemoryChain-bsuite", "MetaMaze-misc", "GaussianBandit-misc", "SimpleBandit-bsuite"])
def test_a_gymnax_id_whose_space_is_odd_is_a_world_all_the_same(id_):
    """The first three leave the bounds they declare; the last shows a constant."""
    check_world(find_world(f"gymnax::{id_}"))


def test_rooms_by_name_have_no_task(capsys, tmp_path):
    words = ["xminigrid::XLand-MiniGrid-R1-9x9", "--task-weight", "1", "--out", str(tmp_path / "run")]
    assert main(["train", *words]) == 2
    assert "has no task reward; curiosity alone can be trained in it" in capsys.readouterr().err


def test_navix_pictures_are_no_tiles():
    navix = importlib.import_module("navix")
    with pytest.raises(NdigoError, match=r"its observations \(56, 56, 3\) are not symbolic ones"):
        from_navix(navix.make("Navix-KeyCorridorS3R3-v0", observation_fn=navix.observations.rgb))


@pytest.mark.parametrize("view", ["symbolic", "symbolic_first_person"])
@pytest.mark.parametrize("id_", ["KeyCorridorS3R3", "DoorKey-5x5", "Dynamic-Obstacles-5x5", "LavaGapS5"])
def test_no_navix_shows_a_tile_that_is_not_listed(id_, view):
    navix = importlib.import_module("navix")
    world = from_navix(navix.make(f"Navix-{id_}-v0", observation_fn=getattr(navix.observations, view)))

    def body(state: Any, drawn: Any) -> Any:
        state = world.step(drawn[0], state, drawn[1])
        return state, world.observe(state)

    @jax.jit
    def play(key: Any) -> Any:
        key_reset, key_step, key_a = jax.random.split(key, 3)
        a_t = jax.random.randint(key_a, (world.num_steps,), 0, world.num_actions)
        return jax.lax.scan(body, world.reset(key_reset), (jax.random.split(key_step, world.num_steps), a_t))[1]

    o_t = jax.vmap(play)(jax.random.split(jax.random.key(0), 16))
    assert (world.frame.class_of(o_t) > 0).all()  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["navix::Navix-DoorKey-5x5-v0", "xminigrid::XLand-MiniGrid-R1-9x9"])
def test_the_true_last_frame_of_an_episode_is_seen(name):
    """A random walk to a last frame: the world stays there until it is reset, and only a termination is terminal."""
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
