"""The plain-Python world is the JAX world: the same words, the same actions, the same everything."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ndigo import EXPERIMENTS, make_world
from ndigo.errors import NdigoError
from ndigo.interop.numpy_world import MOVES, NumpyWorld
from ndigo.worlds import KINDS, Object, World, grid_world, read_layout

EPISODES, STEPS = 8, 400


def crowded_box() -> World:
    """Small rooms full of every kind, so that the agent meets all of them within a few steps."""
    drawing = "###########\n#AAA#BBB#C#\n#AAA BPB C#\n#AAA#BBB#C#\n### ### ###\n#DDD#EEE###\n#DDD EEE###\n###########"
    layout = read_layout(drawing, {"A": "a", "B": "b", "C": "c", "D": "d", "E": "e"})
    objects = [
        Object("noise", "white_noise", ("b",), blocks=True),
        Object("bouncing", "bouncing", ("a",)),
        Object("movable", "movable", ("c",)),
        Object("brownian", "brownian", ("d",)),
        Object("fixed", "fixed", ("e",)),
    ]
    return grid_world("crowded_box", layout, objects, view=7)


def nosy_actions(rng: np.random.Generator) -> np.ndarray:
    """Runs of one direction: reaches the rooms and bumps into things more often than a random walk."""
    return np.repeat(rng.integers(5, size=STEPS), rng.integers(1, 9, size=STEPS))[:STEPS]


WORLDS_TO_MATCH = {**{name: e.world for name, e in EXPERIMENTS.items()}, "crowded_box": crowded_box()}


@pytest.mark.parametrize("name", WORLDS_TO_MATCH)
def test_plain_python_world_equals_the_jax_world_step_by_step_under_injected_words(name):
    world = WORLDS_TO_MATCH[name]
    grid, truth_of = world.grid, world.truth
    assert grid is not None
    assert truth_of is not None

    def unroll(reset_words, words_t, a_t):
        def step(state, inputs):
            state = grid.step_from(inputs[0], state, inputs[1])
            return state, (world.observe(state), truth_of(state))

        start = grid.reset_from(reset_words)
        return (world.observe(start), truth_of(start)), jax.lax.scan(step, start, (words_t, a_t))[1]

    rng = np.random.default_rng(0)
    reset_words = rng.integers(2**32, size=(EPISODES, grid.num_reset_words), dtype=np.uint32)
    words_t = rng.integers(2**32, size=(EPISODES, STEPS, grid.num_step_words), dtype=np.uint32)
    a_t = np.stack([nosy_actions(rng) for _ in range(EPISODES)])
    first, rest = jax.tree.map(np.asarray, jax.jit(jax.vmap(unroll))(reset_words, words_t, jnp.asarray(a_t)))

    ours = NumpyWorld(world)
    for e in range(EPISODES):
        ours.reset_from(reset_words[e].tolist())
        frames = [(ours.observe(), ours.truth())]
        for t in range(STEPS):
            ours.step_from(words_t[e, t].tolist(), int(a_t[e, t]))
            frames.append((ours.observe(), ours.truth()))
        jax.tree.map(np.testing.assert_array_equal, frames[0], jax.tree.map(lambda x, e=e: x[e], first))
        stacked = jax.tree.map(lambda *xs: np.stack(xs), *frames[1:])
        jax.tree.map(np.testing.assert_array_equal, stacked, jax.tree.map(lambda x, e=e: x[e], rest))


def test_the_crowded_box_has_the_agent_meet_every_kind():
    """Otherwise the comparison above would pass without ever testing a meeting."""
    world, rng = NumpyWorld(WORLDS_TO_MATCH["crowded_box"]), np.random.default_rng(1)
    seen, num_bumps = np.zeros(5, bool), 0
    for _ in range(EPISODES):
        world.reset_from(rng.integers(2**32, size=world.num_reset_words).tolist())
        for a_t in nosy_actions(rng):
            before, movable = world.agent, world.truth().objects[2]
            world.step_from(rng.integers(2**32, size=world.num_step_words).tolist(), int(a_t))
            num_bumps += bool((world.truth().objects[2] != movable).any()) and world.agent == before
            seen |= world.observe()[2:5, 2:5, 1:].any(axis=(0, 1))  # within one cell of the agent
    assert seen.all()
    assert num_bumps > 3


def test_every_kind_of_object_has_a_plain_python_form():
    assert set(MOVES) == set(KINDS)


def test_an_observation_is_the_callers_to_write_on():
    world = NumpyWorld(make_world("maze"))
    world.reset_from([0] * world.num_reset_words)
    before = world.observe()
    world.observe()[:] = 9
    np.testing.assert_array_equal(world.observe(), before)


def test_a_world_without_a_map_gives_one_clear_line():
    full = make_world("maze")
    bare = World(
        name="bare", frame=full.frame, actions=full.actions, num_steps=1,
        reset=full.reset, step=full.step, observe=full.observe,
    )  # fmt: skip
    with pytest.raises(NdigoError, match="world 'bare' has no map; only grid worlds step in plain Python"):
        NumpyWorld(bare)
