"""Many copies at once: every frame, and every reset, is what the raw world would have given."""

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import FlattenObservation, NormalizeObservation, RecordEpisodeStatistics, RecordVideo

import ndigo.interop.gymnasium  # noqa: F401 (registers)
from ndigo import EXPERIMENTS, frames
from ndigo.errors import NdigoError
from ndigo.interop.vector import WorldVectorEnv
from ndigo.worlds import World

NUM_ENVS = 4


def make(num_envs=NUM_ENVS, **options) -> WorldVectorEnv:
    envs = gymnasium.make_vec("ndigo/FiveRooms-v0", num_envs=num_envs, **options)
    assert isinstance(envs, WorldVectorEnv)
    return envs


def counting_world(num_steps: int = 3) -> World:
    """Not a grid: its state and observation are the steps taken in the episode, a fixture that shows any slip."""
    exp1 = EXPERIMENTS["exp1"].world
    return World(
        name="counting", frame=frames.bits(exp1.channels[:1], 1), actions=("stay", "go"), num_steps=num_steps,
        reset=lambda key: jax.numpy.int32(0),
        step=lambda key, state, a_t: state + a_t,
        observe=lambda state: state.astype(jax.numpy.uint8).reshape(1, 1, 1),
    )  # fmt: skip


def test_make_vec_gives_our_own_environment_and_says_how_it_resets():
    envs = make(num_envs=64, experiment=1)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    o_0, infos = envs.reset(seed=0)
    assert envs.observation_space.contains(o_0)
    assert o_0.shape == (64, 5, 5, 3)
    assert infos["objects"].shape == (64, 2, 2)
    assert len(np.unique(infos["objects"][:, 0], axis=0)) > 16  # the copies differ


def frames_of(envs: WorldVectorEnv, num_steps: int):
    """What copy 0 shows, and whether it is truncated, step by step; the agent always goes."""
    shown, over = [envs.reset(seed=0)[0][0].item()], [False]
    for _ in range(num_steps):
        o_t, _, _, truncations, infos = envs.step(np.array([1, 1]))
        shown.append((o_t[0].item(), infos["final_obs"][0].item()) if "final_obs" in infos else o_t[0].item())
        over.append(bool(truncations[0]))
    return shown, over


def test_next_step_mode_shows_the_last_frame_then_the_first():
    shown, over = frames_of(WorldVectorEnv(counting_world(num_steps=3), num_envs=2), num_steps=8)
    assert shown == [0, 1, 2, 3, 0, 1, 2, 3, 0]
    assert over == [False, False, False, True, False, False, False, True, False]


def test_same_step_mode_shows_the_first_frame_and_keeps_the_last_in_final_obs():
    envs = WorldVectorEnv(counting_world(num_steps=3), num_envs=2, autoreset_mode="SameStep")
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    shown, over = frames_of(envs, num_steps=7)
    assert shown == [0, 1, 2, (0, 3), 1, 2, (0, 3), 1]
    assert over == [False, False, False, True, False, False, True, False]


def test_disabled_mode_leaves_the_reset_to_the_caller():
    envs = WorldVectorEnv(counting_world(num_steps=3), num_envs=2, autoreset_mode=AutoresetMode.DISABLED)
    assert frames_of(envs, num_steps=3) == ([0, 1, 2, 3], [False, False, False, True])
    with pytest.raises(gymnasium.error.ResetNeeded):
        envs.step(np.array([1, 1]))
    assert frames_of(envs, num_steps=1) == ([0, 1], [False, False])


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_walls_seen_are_the_walls_around_the_agents_that_info_tells(name):
    """Across two resets, so an observation paired with another episode's truth would show."""
    world = EXPERIMENTS[name].world
    assert world.grid is not None
    padded = np.pad(~world.grid.layout.is_free, 2, constant_values=True)
    envs = WorldVectorEnv(world, NUM_ENVS, max_episode_steps=20, autoreset_mode="SameStep")
    o_t, infos = envs.reset(seed=0)
    rng = np.random.default_rng(0)

    def check(frames, where):
        for o, (row, col), objects in zip(frames, where["agent"], where["objects"], strict=True):
            np.testing.assert_array_equal(o[..., 0], padded[row : row + 5, col : col + 5])
            for n, (r, c) in enumerate(objects):
                expected = np.zeros((5, 5))
                if max(abs(r - row), abs(c - col)) <= 2:
                    expected[r - row + 2, c - col + 2] = 1
                np.testing.assert_array_equal(o[..., 1 + n], expected)

    for _ in range(45):
        check(o_t, infos)
        o_t, _, _, truncations, infos = envs.step(rng.integers(5, size=NUM_ENVS))
        if truncations.any():
            check(infos["final_obs"], infos["final_info"])
            assert (infos["agent"] == world.grid.layout.start).all()


def test_an_episode_is_400_steps_in_every_copy_and_the_next_one_differs():
    envs = make(experiment=1)
    _, first = envs.reset(seed=0)
    for t in range(1, 802):
        _, rewards, terminations, truncations, infos = envs.step(np.zeros(NUM_ENVS, int))
        assert not rewards.any()
        assert not terminations.any()
        assert truncations.tolist() == [t in (400, 801)] * NUM_ENVS
        if t == 400:
            np.testing.assert_array_equal(infos["objects"][:, 0], first["objects"][:, 0])  # a fixed object
        if t == 401:
            assert (infos["objects"][:, 0] != first["objects"][:, 0]).any()


def test_a_seed_decides_everything():
    def frames(seed):
        envs = make(experiment=4, max_episode_steps=5)
        o_0, _ = envs.reset(seed=seed)
        steps = [envs.step(np.full(NUM_ENVS, t % 5)) for t in range(12)]
        return np.stack([o_0, *(s[0] for s in steps)]), np.stack([s[4]["objects"] for s in steps])

    for ours, again in zip(frames(5), frames(5), strict=True):
        np.testing.assert_array_equal(ours, again)
    assert (frames(5)[1] != frames(6)[1]).any()


def test_max_episode_steps_passes_through_make_vec():
    envs = gymnasium.make_vec("ndigo/Maze-v0", num_envs=2, max_episode_steps=2)
    envs.reset(seed=0)
    assert [envs.step(np.array([0, 0]))[3].all() for _ in range(5)] == [False, True, False, False, True]


@pytest.mark.parametrize(("mode", "ends"), [("NextStep", [5, 12]), ("SameStep", [5, 11])])
def test_record_episode_statistics_counts_every_step(mode, ends):
    envs = RecordEpisodeStatistics(make(experiment=2, max_episode_steps=6, autoreset_mode=mode))
    envs.reset(seed=0)
    infos = [envs.step(envs.action_space.sample())[4] for _ in range(14)]
    assert [i for i, info in enumerate(infos) if "episode" in info] == ends
    for i in ends:
        assert infos[i]["episode"]["l"].tolist() == [6] * NUM_ENVS
        assert infos[i]["episode"]["r"].tolist() == [0.0] * NUM_ENVS


def test_gymnasiums_observation_wrappers_take_the_default_mode():
    envs = FlattenObservation(make(experiment=1))
    assert envs.reset(seed=0)[0].shape == (NUM_ENVS, 75)
    assert NormalizeObservation(make(experiment=1)).reset(seed=0)[0].dtype == np.float32


def test_record_video_writes_a_tiled_episode(tmp_path):
    envs = RecordVideo(
        make(experiment=3, render_mode="rgb_array", max_episode_steps=6),
        str(tmp_path / "videos"), disable_logger=True, video_length=5,
    )  # fmt: skip
    envs.reset(seed=0)
    for _ in range(8):
        envs.step(envs.action_space.sample())
    envs.close()
    sizes = [video.stat().st_size for video in tmp_path.glob("videos/*.mp4")]
    assert len(sizes) == 2  # of the first two episodes, by Gymnasium's schedule
    assert min(sizes) > 1000


def test_every_copy_is_drawn():
    envs = make(experiment=1, render_mode="ansi")
    envs.reset(seed=0)
    frames = envs.render()
    assert frames is not None
    assert [str(frame).count("@") for frame in frames] == [1] * NUM_ENVS


def test_observations_can_be_written_on():
    envs = make(experiment=1)
    envs.reset(seed=0)[0][:] = 1
    envs.step(np.zeros(NUM_ENVS, int))[0][:] = 1


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([0, 0, 0, 5], "actions 0 to 5: an action is 0 to 4"),
        ([0, 0, 0, -1], "actions -1 to 0: an action is 0 to 4"),
        ([0, 0, 0], r"actions int64\[3\]: need 4 whole numbers"),
        ([0.0, 1.0, 2.0, 3.0], r"actions float64\[4\]: need 4 whole numbers"),
    ],
)
def test_bad_actions_give_one_clear_line(actions, message):
    envs = make(experiment=1)
    envs.reset(seed=0)
    with pytest.raises(NdigoError, match=message):
        envs.step(np.array(actions))


def test_what_cannot_be_done_is_said():
    envs = make(experiment=1)
    with pytest.raises(gymnasium.error.ResetNeeded, match="step before reset"):
        envs.step(np.zeros(NUM_ENVS, int))
    with pytest.raises(NdigoError, match="reset_mask"):
        envs.reset(options={"reset_mask": np.ones(NUM_ENVS, bool)})
    with pytest.raises(NdigoError, match="num_envs 0"):
        WorldVectorEnv(counting_world(), num_envs=0)
    with pytest.raises(NdigoError, match="max_episode_steps 0"):
        WorldVectorEnv(counting_world(), num_envs=1, max_episode_steps=0)
    with pytest.raises(NdigoError, match=r"unknown autoreset_mode 'SameStepp'.*nearest: SameStep"):
        WorldVectorEnv(counting_world(), num_envs=1, autoreset_mode="SameStepp")
    with pytest.raises(NdigoError, match="render_mode 'ansi': known: none, since world 'counting' has neither a map"):
        WorldVectorEnv(counting_world(), num_envs=1, render_mode="ansi")
