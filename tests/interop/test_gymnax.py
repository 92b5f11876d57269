"""gymnax 1.0's interface: a PureJaxRL-style scan, held against the raw world stepped by hand."""

import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ndigo import EXPERIMENTS, frames
from ndigo.interop.gymnax import GymnaxParams, GymnaxWorld
from ndigo.worlds import World

NUM_ENVS, STEPS, EPISODE = 3, 70, 30


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_vmapped_scan_over_resets_equals_the_raw_world_stepped_by_hand(name):
    raw = EXPERIMENTS[name].world
    env, params = GymnaxWorld(raw), GymnaxParams(max_steps_in_episode=EPISODE)
    key_reset, key_act, key_step = jax.random.split(jax.random.key(0), 3)
    reset_keys = jax.random.split(key_reset, NUM_ENVS)
    step_keys = jax.random.split(key_step, (STEPS, NUM_ENVS))
    a_t = jax.random.randint(key_act, (STEPS, NUM_ENVS), 0, env.num_actions)

    @jax.jit
    def rollout():
        def env_step(runner, inputs):
            _, states = runner
            keys, actions = inputs
            o_t, states, reward, terminated, truncated, info = jax.vmap(env.step, in_axes=(0, 0, 0, None))(
                keys, states, actions, params
            )
            return (o_t, states), (o_t, reward, terminated, truncated, info)

        runner = jax.vmap(env.reset, in_axes=(0, None))(reset_keys, params)
        return runner[0], jax.lax.scan(env_step, runner, (step_keys, a_t))[1]

    o_0, (o_t, reward, terminated, truncated, info) = jax.tree.map(np.asarray, rollout())

    step, reset, observe = jax.jit(raw.step), jax.jit(raw.reset), jax.jit(raw.observe)
    for n in range(NUM_ENVS):
        state = reset(reset_keys[n])
        np.testing.assert_array_equal(o_0[n], observe(state))
        for t in range(STEPS):
            key_move, key_again = jax.random.split(step_keys[t, n])
            state = step(key_move, state, a_t[t, n])
            np.testing.assert_array_equal(info["final_observation"][t, n], observe(state))
            if (t + 1) % EPISODE == 0:
                state = reset(key_again)
            np.testing.assert_array_equal(o_t[t, n], observe(state))
    ends = (np.arange(1, STEPS + 1) % EPISODE == 0)[:, None].repeat(NUM_ENVS, axis=1)
    np.testing.assert_array_equal(truncated, ends)
    np.testing.assert_array_equal(info["truncated"], ends)
    assert not terminated.any()
    assert not info["terminated"].any()
    assert not reward.any()
    assert reward.dtype == np.float32


def test_the_default_episode_is_the_worlds_and_params_may_be_left_out():
    env = GymnaxWorld(EXPERIMENTS["exp1"].world)
    assert env.default_params.max_steps_in_episode == 400
    _, state = env.reset(jax.random.key(0))

    def step(state, key):
        _, state, _, _, truncated, _ = env.step(key, state, jnp.int32(0))
        return state, truncated

    state, truncated = jax.lax.scan(step, state, jax.random.split(jax.random.key(1), 401))
    assert np.flatnonzero(truncated).tolist() == [399]
    assert state.time == 1


def test_spaces_describe_what_the_world_gives_and_takes():
    env = GymnaxWorld(EXPERIMENTS["exp5"].world)
    params = env.default_params
    o_0, _ = env.reset(jax.random.key(0), params)
    box, actions = env.observation_space(params), env.action_space(params)
    assert (box.shape, box.dtype) == (o_0.shape, o_0.dtype)
    assert box.contains(o_0)
    assert not box.contains(o_0 + 2)
    assert set(np.unique(box.sample(jax.random.key(0)))) == {0, 1}
    drawn = jax.vmap(actions.sample)(jax.random.split(jax.random.key(0), 200))
    assert set(drawn.tolist()) == set(range(env.num_actions))
    assert actions.contains(4)
    assert not actions.contains(5)
    assert env.name == "maze"


def test_where_gymnax_is_in_use_the_spaces_are_its_own(monkeypatch):
    """Its wrappers check `isinstance(space, gymnax.environments.spaces.Box)`."""
    gymnax_spaces = types.SimpleNamespace(Box=lambda *args: ("gymnax box", *args), Discrete=lambda n: ("gymnax", n))
    monkeypatch.setitem(__import__("sys").modules, "gymnax.environments.spaces", gymnax_spaces)
    env = GymnaxWorld(EXPERIMENTS["exp1"].world)
    assert env.action_space(env.default_params) == ("gymnax", 5)
    assert env.observation_space(env.default_params) == ("gymnax box", 0, 1, (5, 5, 3), jnp.uint8)


def world_of(frame: frames.Frame) -> World:
    """Shows zeros for ever."""
    return World(
        name="still", frame=frame, actions=("stay",), num_steps=2,
        reset=lambda key: jnp.int32(0), step=lambda key, state, a_t: state, observe=lambda state: frames.empty(frame),
    )  # fmt: skip


TILES, NUMBERS = frames.tiles((200, 3), 2), frames.vector(3, low=0, high=9)
PIXELS = frames.pixels(4, 4, 3, patch=2, codebook=np.zeros((1, 2, 2, 3), np.uint8))


@pytest.mark.parametrize(
    ("frame", "dtype", "inside", "outside"),
    [
        (TILES, np.uint8, [[[199, 2]] * 2] * 2, [[[0, 3]] * 2] * 2),
        (NUMBERS, np.float32, [-1e9, 0.5, 1e9], [np.nan] * 3),
        (PIXELS, np.uint8, np.full((4, 4, 3), 255), np.full((4, 4, 3), 256)),
    ],
)
def test_each_kind_of_frame_has_its_space(frame, dtype, inside, outside):
    """Tiles by layer: 200 values and 3. Numbers may lie beyond the frame's low and high."""
    box = GymnaxWorld(world_of(frame)).observation_space()
    assert (box.shape, box.dtype) == (np.shape(inside), dtype)
    assert box.contains(np.array(inside))
    assert not box.contains(np.array(outside))
    drawn = jax.vmap(box.sample)(jax.random.split(jax.random.key(0), 300))
    assert drawn.dtype == dtype
    assert box.contains(drawn)
    if frame is TILES:
        assert set(np.unique(drawn[..., 1])) == {0, 1, 2}
        assert drawn[..., 0].max() > 127


def test_a_join_has_a_space_under_each_name():
    env = GymnaxWorld(world_of(frames.join(map=TILES, pocket=NUMBERS)))
    space = env.observation_space()
    assert {name: part.shape for name, part in space.spaces.items()} == {"map": (2, 2, 2), "pocket": (3,)}
    o_0, state = env.reset(jax.random.key(0))
    assert space.contains(o_0)
    assert space.contains(space.sample(jax.random.key(0)))
    assert not space.contains(o_0 | {"map": o_0["map"] + 3})
    assert env.step(jax.random.key(1), state, jnp.int32(0))[0].keys() == o_0.keys()
