"""Laws of every world in the registry, over thousands of steps a draw."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rollouts import Frames, frame, grid_of, scattered, world_named

from ndigo.worlds import WORLDS, GridState, make_world
from ndigo.worlds.objects import Placed

SEEDS = st.integers(0, 2**31 - 1)
# From a walker that turns at every step to one that crosses a room and leans on its walls.
PERSISTENCE = st.sampled_from([0.0, 0.5, 0.9])
every_world = pytest.mark.parametrize("name", WORLDS)
some_draws = settings(max_examples=5, deadline=None, derandomize=True)


def cells_of(frames: Frames) -> np.ndarray:
    """[B, T+1, 1+N, 2]: the agent, then the objects."""
    return np.concatenate([frames.truth.agent[:, :, None], frames.truth.objects], axis=2)


@every_world
@given(seed=SEEDS, persistence=PERSISTENCE)
@some_draws
def test_nothing_is_ever_in_a_wall(name, seed, persistence):
    is_free = grid_of(world_named(name)).layout.is_free
    row, col = np.moveaxis(cells_of(scattered(world_named(name), seed, persistence)), -1, 0)
    assert is_free[row, col].all()


@every_world
@given(seed=SEEDS, persistence=PERSISTENCE)
@some_draws
def test_objects_stay_in_the_room_they_started_in(name, seed, persistence):
    truth = scattered(world_named(name), seed, persistence).truth
    grid = grid_of(world_named(name))
    row, col = np.moveaxis(np.asarray(truth.objects), -1, 0)
    rooms = grid.layout.room_of[row, col]
    assert (rooms == rooms[:, :1]).all()
    for n, thing in enumerate(grid.objects):
        assert {grid.layout.rooms[i] for i in np.unique(rooms[..., n])} <= set(thing.rooms)


@every_world
@given(seed=SEEDS, persistence=PERSISTENCE)
@some_draws
def test_a_cell_holds_one_thing(name, seed, persistence):
    cells = cells_of(scattered(world_named(name), seed, persistence))
    for i in range(cells.shape[2]):
        for j in range(i):
            assert (cells[:, :, i] != cells[:, :, j]).any(axis=-1).all()


@every_world
@given(seed=SEEDS, persistence=PERSISTENCE)
@some_draws
def test_agent_moves_as_told_or_stays(name, seed, persistence):
    frames = scattered(world_named(name), seed, persistence)
    asked = np.array([(0, 0), (-1, 0), (1, 0), (0, 1), (0, -1)])[frames.actions]
    done = np.diff(frames.truth.agent, axis=1)
    assert ((done == asked).all(axis=-1) | (done == 0).all(axis=-1)).all()


@pytest.mark.parametrize("view", [1, 3, 5, 7, 9])
@every_world
def test_view_equals_a_naive_crop_of_the_painted_map(name, view):
    """From every free cell, with the objects anywhere at all."""
    world = world_named(name, view)
    grid = grid_of(world)
    rng = np.random.default_rng(view)
    agents = np.argwhere(grid.layout.is_free)
    objects = rng.choice(agents, (len(agents), len(world.objects)))

    @jax.jit
    @jax.vmap
    def observe(agent, cells):
        return world.observe(GridState(agent=agent, objects=tuple(Placed(cell=cell) for cell in cells)))

    o_t = observe(agents @ [grid.stride, 1], objects @ [grid.stride, 1])
    is_wall = np.pad(~grid.layout.is_free, view, constant_values=True)
    for agent, cells, o in zip(agents, objects, np.asarray(o_t), strict=True):
        top, left = agent + view - view // 2
        painted = np.zeros((*is_wall.shape, world.shape[-1]), np.uint8)
        painted[..., 0] = is_wall
        for n, (r, c) in enumerate(cells):
            painted[r + view, c + view, 1 + n] = 1
        np.testing.assert_array_equal(o, painted[top : top + view, left : left + view])


@every_world
def test_object_channel_is_one_hot_or_empty(name):
    world = world_named(name)
    o_t = scattered(world_named(name), 0, 0.5).observations
    assert o_t.dtype == np.uint8
    assert o_t.shape[2:] == world.shape
    assert [channel.kind for channel in world.channels] == ["binary"] + ["one_hot"] * len(world.objects)
    assert set(np.unique(o_t[..., 1:].sum(axis=(2, 3)))) == {0, 1}
    assert o_t.max() == 1


@every_world
def test_eager_jitted_and_vmapped_agree(name):
    world = world_named(name)

    def step(key, state, a_t):
        state = world.step(key, state, a_t)
        return state, frame(world, state)

    jitted, vmapped = jax.jit(step), jax.jit(jax.vmap(step, (0, None, None)))
    state = jax.jit(world.reset)(jax.random.key(0))
    for t, a_t in enumerate([1, 3, 0]):
        keys = jax.random.split(jax.random.key(t), 2)
        eager = [step(key, state, jnp.int32(a_t)) for key in keys]
        copies = jax.device_get(vmapped(keys, state, a_t))
        for i, (key, expected) in enumerate(zip(keys, eager, strict=True)):
            jax.tree.map(np.testing.assert_array_equal, jitted(key, state, a_t), expected)
            of_copy = jax.tree.map(lambda x, i=i: x[i], copies)
            jax.tree.map(np.testing.assert_array_equal, of_copy, expected)
        state, _ = eager[0]


@every_world
def test_episode_length_is_the_papers_unless_told_otherwise(name):
    assert make_world(name).num_steps == 400
    assert make_world(name, num_steps=25).num_steps == 25


@every_world
def test_same_key_gives_the_same_episode_and_another_key_another(name):
    world = world_named(name)
    start = jax.jit(lambda key: frame(world, world.reset(key))[0].objects)
    starts = [np.asarray(start(jax.random.key(seed))) for seed in (0, 0, 1)]
    assert (starts[0] == starts[1]).all()
    assert (starts[0] != starts[2]).any()
