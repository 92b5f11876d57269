"""The worlds through Gymnasium's front door, judged by Gymnasium's own checks."""

import dataclasses
import subprocess
import sys

import gymnasium
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import RecordEpisodeStatistics, RecordVideo

import ndigo.interop.gymnasium
from ndigo.errors import NdigoError
from ndigo.interop.gymnasium import WorldEnv
from ndigo.worlds import ACTIONS, make_world

ENVIRONMENTS = [("ndigo/FiveRooms-v0", {"experiment": e}) for e in (1, 2, 3, 4)] + [("ndigo/Maze-v0", {})]
every_environment = pytest.mark.parametrize(("name", "options"), ENVIRONMENTS)
UP, RIGHT = ACTIONS.index("up"), ACTIONS.index("right")


@every_environment
@pytest.mark.parametrize("render_mode", [None, "rgb_array", "ansi"])
def test_gymnasiums_checker_finds_nothing_to_say(name, options, render_mode):
    env = gymnasium.make(name, render_mode=render_mode, **options)
    check_env(env.unwrapped, skip_render_check=render_mode is not None)  # it would make every other mode in turn
    env.close()


@every_environment
def test_an_episode_is_400_steps_without_reward_and_ends_by_truncation(name, options):
    env = gymnasium.make(name, **options)
    env.action_space.seed(0)
    env.reset(seed=0)
    for t in range(1, 401):
        o_t, reward, terminated, truncated, info = env.step(env.action_space.sample())
        assert (reward, terminated, truncated) == (0.0, False, t == 400)
        assert env.observation_space.contains(o_t)
        assert set(info) == {"agent", "objects"}


@every_environment
def test_a_seed_decides_the_episode_and_the_ones_after_it(name, options):
    def two_episodes(seed):
        env = gymnasium.make(name, **options)
        frames = []
        for s in (seed, None):
            frames += [env.reset(seed=s)[1]["objects"], *(env.step(t % 5)[4]["objects"] for t in range(150))]
        return np.stack(frames)

    np.testing.assert_array_equal(two_episodes(3), two_episodes(3))
    assert (two_episodes(3) != two_episodes(4)).any()


def test_a_seeded_reset_forgets_the_words_drawn_ahead():
    env = gymnasium.make("ndigo/FiveRooms-v0", experiment=1)

    def noise_path():
        env.reset(seed=7)
        return [env.step(0)[4]["objects"][1].tolist() for _ in range(50)]

    assert noise_path() == noise_path()


def test_info_tells_where_the_agent_is_after_a_walk():
    env = gymnasium.make("ndigo/FiveRooms-v0", experiment=1)
    _, info = env.reset(seed=0)
    assert info["agent"].tolist() == [9, 9]
    for action in (UP, UP, RIGHT):
        _, _, _, _, info = env.step(action)
    assert info["agent"].tolist() == [7, 10]
    assert info["objects"].shape == (2, 2)


def test_max_episode_steps_shortens_the_episode():
    env = gymnasium.make("ndigo/Maze-v0", max_episode_steps=3)
    env.reset(seed=0)
    assert [env.step(0)[3] for _ in range(3)] == [False, False, True]


@every_environment
def test_pictures_and_text_come_from_render(name, options, monkeypatch):
    image_env = gymnasium.make(name, render_mode="rgb_array", **options)
    image_env.reset(seed=0)
    image = image_env.render()
    assert isinstance(image, np.ndarray)
    rows, cols = (21, 25) if name == "ndigo/Maze-v0" else (19, 19)
    assert image.shape == (16 * rows, 16 * cols, 3)
    monkeypatch.delenv("NO_COLOR", raising=False)
    text_env = gymnasium.make(name, render_mode="ansi", **options)
    text_env.reset(seed=0)
    text = text_env.render()
    assert isinstance(text, str)
    assert len(text.split("\n")) == rows
    assert text.count("@") == 1
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" in text
    assert "\x1b" not in str(text_env.render())


def test_record_video_writes_an_episode(tmp_path):
    env = gymnasium.make("ndigo/FiveRooms-v0", experiment=3, render_mode="rgb_array", max_episode_steps=8)
    env = RecordVideo(env, str(tmp_path / "videos"), disable_logger=True)
    env.reset(seed=0)
    while not env.step(env.action_space.sample())[3]:
        pass
    env.close()
    (video,) = tmp_path.glob("videos/*.mp4")
    assert video.stat().st_size > 1000


def test_record_episode_statistics_counts_400_steps_and_no_reward():
    env = RecordEpisodeStatistics(gymnasium.make("ndigo/FiveRooms-v0", experiment=4))
    env.reset(seed=0)
    info = {}
    for _ in range(400):
        _, _, _, _, info = env.step(env.action_space.sample())
    assert (info["episode"]["l"], info["episode"]["r"]) == (400, 0.0)


def test_sync_vector_mode_works_beside_our_own():
    envs = gymnasium.make_vec("ndigo/FiveRooms-v0", num_envs=3, vectorization_mode="sync", experiment=2)
    o_t, infos = envs.reset(seed=0)
    assert o_t.shape == (3, 5, 5, 3)
    assert infos["agent"].tolist() == [[9, 9]] * 3


def test_a_map_whose_step_was_replaced_is_stepped_by_the_new_one():
    """Down and right change places: the copy in plain Python, which follows the map, would not know."""
    world = make_world("fixed_and_noise")
    swapped = jnp.array([0, 1, 3, 2, 4])
    turned = dataclasses.replace(world, step=lambda key, state, a_t: world.step(key, state, swapped[a_t]))
    walked = []
    for one in (world, turned):
        env = WorldEnv(one)
        env.reset(seed=0)
        walked.append([env.step(a)[4]["agent"].tolist() for a in ([2, 3, 3] if one is turned else [3, 2, 2])])
    assert walked[0] == walked[1]
    assert walked[0][0] != walked[0][1]


def test_an_environment_can_be_made_again_from_its_spec():
    spec = gymnasium.make("ndigo/FiveRooms-v0", experiment=3).spec
    assert spec is not None
    again = gymnasium.make(type(spec).from_json(spec.to_json()))
    assert again.observation_space.shape == (5, 5, 4)


def test_the_name_with_its_module_needs_no_import():
    code = "import gymnasium; print(gymnasium.make('ndigo.interop.gymnasium:ndigo/Maze-v0').reset(seed=0)[0].shape)"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("(5, 5, 6)\n", "")


def test_registering_twice_is_harmless():
    ndigo.interop.gymnasium.register()
    assert "ndigo/Maze-v0" in gymnasium.registry


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("FiveRooms", {"experiment": 5}, "experiment 5: ndigo/FiveRooms-v0 has 1, 2, 3, 4; Experiment 5 is ndigo/Maze"),
        ("FiveRooms", {"experiment": 0}, "experiment 0: ndigo/FiveRooms-v0 has 1, 2, 3, 4"),
        ("FiveRooms", {"experiment": "exp1"}, "experiment 'exp1': ndigo/FiveRooms-v0 has 1, 2, 3, 4"),
        ("FiveRooms", {"view": 4}, "view 4: the side of the agent's view must be odd"),
        ("Maze", {"view": -1}, "view -1: the side of the agent's view must be odd"),
        ("Maze", {"view": 5.0}, "view 5.0: the side of the agent's view must be an odd whole number"),
    ],
)
def test_a_bad_option_gives_one_clear_line(name, options, message):
    for make in (gymnasium.make, gymnasium.make_vec):
        with pytest.raises(NdigoError, match=message) as raised:
            make(f"ndigo/{name}-v0", **options)
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize("action", [-1, 5])
def test_an_action_out_of_range_is_refused(action):
    env = gymnasium.make("ndigo/FiveRooms-v0", disable_env_checker=True)
    env.reset(seed=0)
    with pytest.raises(NdigoError, match=f"action {action}: an action is 0 to 4"):
        env.step(action)


def test_an_unknown_render_mode_is_refused():
    with pytest.raises(NdigoError, match="render_mode 'hologram': known: rgb_array, ansi"):
        WorldEnv(make_world("maze"), render_mode="hologram")


def test_a_wider_view_shows_more():
    env = gymnasium.make("ndigo/FiveRooms-v0", view=9)
    o_t, _ = env.reset(seed=0)
    assert o_t.shape == (9, 9, 3)
    assert o_t[2:7, 2:7, 0].sum() == 0  # the centre room
    assert o_t[1, :, 0].tolist() == [1, 1, 1, 1, 0, 1, 1, 1, 1]  # the upper door, between walls
