"""Every registered world has an id, and so has yours."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from ndigo.errors import NdigoError
from ndigo.interop.gymnasium import id_of, register
from ndigo.worlds import WORLDS, make_world


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


def test_a_name_that_is_no_world_is_one_clear_error():
    with pytest.raises(NdigoError, match="nearest: maze"):
        gymnasium.make("ndigo/World-v0", world="maz")
