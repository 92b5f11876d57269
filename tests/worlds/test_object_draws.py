"""What objects draw at random follows the described distributions: chi-square on the real worlds."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import jax
import numpy as np
import pytest
from reference.maps import Cell, five_rooms, maze, neighbours
from rollouts import state_at, world_named
from scipy.stats import chisquare

from ndigo.worlds import ACTIONS, GridState, Object, World, grid_world, read_layout

STAY = ACTIONS.index("stay")


@cache
def drawn(world: World, which: int) -> Any:
    """The cell of object `which` one step later, for each key: compiled once for all states."""
    truth = world.truth
    assert truth is not None
    return jax.jit(jax.vmap(lambda key, state, a_t: truth(world.step(key, state, a_t)).objects[which], (0, None, None)))


def next_cells(world: World, state: GridState, a_t: int, num_samples: int, which: int = 0) -> Counter[Cell]:
    """Where object `which` is one real, randomly drawn step later."""
    cells = drawn(world, which)(jax.random.split(jax.random.key(7), num_samples), state, a_t)
    return Counter((int(r), int(c)) for r, c in np.asarray(cells))


def assert_uniform(counts: Counter[Cell], cells: list[Cell]) -> None:
    assert set(counts) <= set(cells)
    assert chisquare([counts[cell] for cell in cells]).pvalue > 1e-3


def test_pushed_movable_object_jumps_uniformly_to_the_other_cells_of_its_room():
    world, room = world_named("maze"), maze().rooms["room5"]
    # The agent pushes from the door at first, then from inside; the other objects lie anywhere.
    for agent, pushed in (((2, 6), (2, 5)), ((2, 5), (2, 4))):
        state = state_at(world, agent, (8, 8), (18, 20), (8, 20), (3, 15), pushed)
        others = [cell for cell in room if cell not in (agent, pushed)]
        assert_uniform(next_cells(world, state, ACTIONS.index("left"), 20_000, which=4), others)


@pytest.mark.parametrize("agent", [(9, 9), (15, 9), (14, 5), (17, 16)])
def test_white_noise_is_uniform_over_its_room_less_the_agents_cell(agent):
    world = world_named("fixed_and_noise")
    state = state_at(world, agent, (2, 5), (16, 4))
    cells = [cell for cell in five_rooms().rooms["lower"] if cell != agent]
    assert len(cells) == (48 if agent == (9, 9) else 47)
    assert_uniform(next_cells(world, state, STAY, 100_000, which=1), cells)


def test_white_noise_forgets_where_it_was():
    """Along one long run, pairs of successive cells are as frequent as independence says."""
    world = world_named("fixed_and_noise")
    assert world.truth is not None
    truth = world.truth

    @jax.jit
    def run(key):
        def step(state, key):
            state = world.step(key, state, STAY)
            return state, truth(state).objects[1]

        return jax.lax.scan(step, world.reset(key), jax.random.split(key, 200_000))[1]

    cells = np.asarray(run(jax.random.key(1))) @ [19, 1]
    _, number = np.unique(cells, return_inverse=True)
    pairs = np.bincount(48 * number[:-1] + number[1:], minlength=48 * 48)
    assert chisquare(pairs).pvalue > 1e-3


@pytest.mark.parametrize(
    ("agent", "cell", "stays"),
    [((9, 9), (2, 9), 0), ((9, 9), (1, 9), 1), ((9, 9), (4, 9), 1), ((9, 9), (1, 2), 3), ((2, 8), (2, 9), 1)],
    ids=["free", "wall", "door", "corner", "agent"],
)
def test_brownian_moves_are_uniform_and_blocked_ones_are_stays(agent, cell, stays):
    world = world_named("brownian_and_fixed")
    state = state_at(world, agent, cell, (16, 4))
    num_samples = 40_000
    counts = next_cells(world, state, STAY, num_samples)
    room = five_rooms().rooms["upper"]
    expected = {way: num_samples / 4 for way in neighbours(cell) if way in room and way != agent}
    assert len(expected) == 4 - stays
    if stays:
        expected[cell] = stays * num_samples / 4
    assert set(counts) == set(expected)
    assert chisquare([counts[c] for c in expected], list(expected.values())).pvalue > 1e-3


@pytest.mark.parametrize(
    ("name", "which", "rooms"),
    [
        ("fixed_and_noise", 0, ["upper"]),
        ("fixed_and_noise", 1, ["lower"]),
        ("fixed_anywhere", 0, ["upper", "left", "right"]),
        ("bouncing", 1, ["lower"]),
        ("brownian_and_fixed", 0, ["upper"]),
    ],
)
def test_object_starts_uniformly_over_every_cell_of_its_rooms(name, which, rooms):
    world = world_named(name)
    assert world.truth is not None
    truth = world.truth
    starts = jax.jit(jax.vmap(lambda key: truth(world.reset(key)).objects[which]))
    cells = np.asarray(starts(jax.random.split(jax.random.key(0), 100_000)))
    expected = [cell for room in rooms for cell in five_rooms().rooms[room]]
    assert len(expected) == 48 * len(rooms)
    assert_uniform(Counter((int(r), int(c)) for r, c in cells), expected)


def test_object_in_the_agents_room_starts_anywhere_but_on_the_agent():
    layout = read_layout("#####\n#aaa#\n#aPa#\n#####", {"a": "a"})
    world = grid_world("one room", layout, [Object("it", "fixed", ("a",))], view=3)
    truth = world.truth
    assert truth is not None
    cells = jax.jit(jax.vmap(lambda key: truth(world.reset(key)).objects[0]))(jax.random.split(jax.random.key(0), 2000))
    counts = Counter((int(r), int(c)) for r, c in np.asarray(cells))
    assert_uniform(counts, [(1, 1), (1, 2), (1, 3), (2, 1), (2, 3)])


def test_bouncing_directions_are_uniform_and_independent_of_the_cell():
    world = world_named("bouncing")
    states = jax.jit(jax.vmap(world.reset))(jax.random.split(jax.random.key(0), 100_000))
    first, second = (np.asarray(p.direction) for p in states.objects[:2])
    assert chisquare(np.bincount(4 * first + second, minlength=16)).pvalue > 1e-3
    _, number = np.unique(np.asarray(states.objects[0].cell), return_inverse=True)
    assert chisquare(np.bincount(4 * number + first, minlength=4 * 48)).pvalue > 1e-3
