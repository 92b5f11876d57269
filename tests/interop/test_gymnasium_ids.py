"""Every registered world has an id, and so has yours."""

import gymnasium
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from ndigo import frames
from ndigo.errors import NdigoError
from ndigo.interop.gymnasium import WorldEnv, id_of, register
from ndigo.interop.vector import WorldVectorEnv
from ndigo.worlds import WORLDS, World, make_world


@pytest.mark.parametrize("name", WORLDS)
def test_every_registered_world_is_made_by_its_id_alone_and_many_at_once(name):
    env, many = gymnasium.make(id_of(name)), gymnasium.make_vec(id_of(name), num_envs=2)
    world = make_world(name)
    assert env.observation_space.shape == many.single_observation_space.shape == world.shape
    _, info = env.reset(seed=0)
    assert info["objects"].shape == (len(world.objects), 2)
    for t in range(1, world.num_steps + 1):
        *_, truncated, _ = env.step(t % world.num_actions)
        assert truncated == (t == world.num_steps)


def test_a_world_that_is_registered_later_gets_its_id_when_asked(monkeypatch):
    monkeypatch.setitem(WORLDS, "small_maze", lambda **options: make_world("maze", **{"view": 3, **options}))
    register()
    try:
        assert gymnasium.make("ndigo/SmallMaze-v0").reset()[0].shape[:2] == (3, 3)
        assert gymnasium.make("ndigo/SmallMaze-v0", view=7).reset()[0].shape[:2] == (7, 7)
        assert gymnasium.make_vec("ndigo/SmallMaze-v0", num_envs=1, view=7).reset()[0].shape[1:3] == (7, 7)
    finally:
        del gymnasium.registry["ndigo/SmallMaze-v0"]


def test_a_world_may_be_handed_over_as_a_record():
    world = make_world("maze", view=3)
    assert gymnasium.make("ndigo/World-v0", world=world).reset()[0].shape == (3, 3, 6)
    assert gymnasium.make_vec("ndigo/World-v0", num_envs=2, world=world).reset()[0].shape == (2, 3, 3, 6)
    with pytest.raises(NdigoError, match=r"^view: for a world by name; world 'maze' is a record, made already"):
        gymnasium.make("ndigo/World-v0", world=world, view=5)


def test_a_world_without_a_map_keeps_its_laws_through_gymnasium():
    """Three doors: the agent's is known from its actions, and the light stays behind one of them."""
    env = gymnasium.make("ndigo/World-v0", world="custom_world:world")
    check_env(env.unwrapped, skip_render_check=True)
    generator, lit = np.random.default_rng(0), set()
    for seed in range(12):
        o_t, info = env.reset(seed=seed)
        door, shown, is_over = 0, [], False
        while not is_over:
            assert np.flatnonzero(o_t[0, 0, :3]).tolist() == [door]
            shown.append((door, int(o_t[0, 0, 3])))
            action = int(generator.integers(3))
            door = (door + (0, 1, -1)[action]) % 3
            o_t, reward, terminated, is_over, info = env.step(action)
            assert (reward, terminated, info) == (0.0, False, {})
        assert len(shown) == 12
        bright = {door for door, light in shown if light}
        assert not bright & {door for door, light in shown if not light}
        lit |= bright
    assert lit == {0, 1, 2}


def counting_world():
    """Shows the step, as a tile of each of two layers and as a number."""
    frame = frames.join(map=frames.tiles((4, 3), 1, 2), pocket=frames.vector(2, low=0, high=9, bins=10))
    return World(
        name="counting",
        frame=frame,
        actions=("stay", "go"),
        num_steps=5,
        reset=lambda key: jnp.int32(0),
        step=lambda key, t, a_t: t + a_t,
        observe=lambda t: {
            "map": jnp.stack([t % 4, t % 3]).astype(jnp.uint8) * jnp.ones((1, 2, 1), jnp.uint8),
            "pocket": jnp.array([1.0, 10.0]) * t,
        },
    )


@pytest.mark.filterwarnings("ignore:.*Box observation space m")  # a number of a frame may be any
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_frames_of_other_kinds_are_shown_as_they_are_in_spaces_that_hold_them(mode):
    world = counting_world()
    env, many = WorldEnv(world), WorldVectorEnv(world, 2, autoreset_mode=mode)
    check_env(env, skip_render_check=True)
    env.reset(seed=0)
    many.reset(seed=0)
    assert isinstance(env.observation_space, gymnasium.spaces.Dict)
    assert env.observation_space["map"] == gymnasium.spaces.Box(0, np.array([[[3, 2], [3, 2]]]), (1, 2, 2), np.uint8)
    for t in range(1, 5):
        o_t, *_ = env.step(1)
        os_t, *_ = many.step([1, 0])
        assert o_t["map"].tolist() == [[[t % 4, t % 3]] * 2]
        assert o_t["pocket"].tolist() == [t, 10 * t]
        assert os_t["pocket"].tolist() == [[t, 10 * t], [0, 0]]
        assert many.observation_space.contains(os_t)
    os_t, _, _, truncated, infos = many.step([1, 0])
    assert truncated.all()
    final = infos["final_obs"][0] if mode == "SameStep" else {"pocket": os_t["pocket"][0]}
    assert final["pocket"].tolist() == [5, 50]


def test_a_name_that_is_no_world_is_one_clear_error():
    with pytest.raises(NdigoError, match="nearest: maze"):
        gymnasium.make("ndigo/World-v0", world="maz")
