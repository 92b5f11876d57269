"""How each kind of object moves, by hand on a small map with the random words chosen."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference.maps import DOWN, LEFT, RIGHT, UP, Cell
from rollouts import grid_of, state_at

from ndigo.worlds import ACTIONS, GridState, Object, World, grid_world, read_layout
from ndigo.worlds.objects import below

STAY, GO_UP, GO_DOWN, GO_RIGHT, GO_LEFT = range(len(ACTIONS))
DIRECTIONS = (UP, DOWN, RIGHT, LEFT)
# A 3x4 room behind a door at (2, 3), and the start's room.
DRAWING = """
#########
###rrrr##
#sP rrr##
#ss#rrrr#
#########
"""
ROOM = [(1, 3), (1, 4), (1, 5), (1, 6), (2, 4), (2, 5), (2, 6), (3, 4), (3, 5), (3, 6), (3, 7)]


def small_world(kind: str, blocks: bool | None = None) -> World:
    layout = read_layout(DRAWING, {"s": "start", "r": "room"})
    return grid_world("small", layout, [Object("it", kind, ("room",), blocks=blocks)])


def place(world: World, agent: Cell, cell: Cell, direction: Cell | None = None) -> GridState:
    return state_at(world, agent, cell, direction=None if direction is None else DIRECTIONS.index(direction))


def word_for(choice: int, num_options: int) -> int:
    """A random word that picks option `choice` of `num_options`."""
    return ((2 * choice + 1) << 31) // num_options


def after(
    world: World, state: GridState, actions: list[int], words: list[int] | None = None
) -> list[tuple[Cell, Cell]]:
    """(agent, object) after each action."""
    assert world.truth is not None
    step, places = jax.jit(grid_of(world).step_from), []
    for t, a_t in enumerate(actions):
        state = step(jnp.array([] if words is None else [words[t]], jnp.uint32), state, a_t)
        truth = world.truth(state)
        places.append((tuple(truth.agent.tolist()), tuple(truth.objects[0].tolist())))
    return places


@pytest.mark.parametrize("n", [1, 2, 3, 47, 48, 144, 2**16 - 1])
def test_uniform_choice_is_the_floor_of_the_scaled_word(n):
    words = np.random.default_rng(n).integers(2**32, size=2000, dtype=np.uint32)
    words[:4] = 0, 1, 2**32 - 1, 2**31
    np.testing.assert_array_equal(below(jnp.asarray(words), n), [int(word) * n >> 32 for word in words])


def test_fixed_object_blocks_the_agent_and_stays():
    world = small_world("fixed")
    assert after(world, place(world, (2, 2), (2, 4)), [GO_RIGHT, GO_RIGHT, STAY]) == [((2, 3), (2, 4))] * 3


def test_bouncing_object_reverses_at_a_wall_within_the_step():
    world = small_world("bouncing")
    objects = [it for _, it in after(world, place(world, (3, 1), (1, 5), RIGHT), [STAY] * 7)]
    assert objects == [(1, 6), (1, 5), (1, 4), (1, 3), (1, 4), (1, 5), (1, 6)]


def test_bouncing_object_reverses_at_a_door():
    world = small_world("bouncing")
    objects = [it for _, it in after(world, place(world, (3, 1), (2, 5), LEFT), [STAY] * 4)]
    assert objects == [(2, 4), (2, 5), (2, 6), (2, 5)]


def test_bouncing_object_reverses_at_the_agent():
    world = small_world("bouncing")
    assert after(world, place(world, (2, 4), (2, 6), LEFT), [STAY] * 3) == [
        ((2, 4), (2, 5)),
        ((2, 4), (2, 6)),
        ((2, 4), (2, 5)),
    ]


def test_agent_moves_before_the_objects_do():
    world = small_world("bouncing")
    # The agent takes the cell the object was about to enter; the object turns round.
    assert after(world, place(world, (2, 3), (2, 5), LEFT), [GO_RIGHT]) == [((2, 4), (2, 6))]
    # The agent runs into an object that leaves only afterwards.
    assert after(world, place(world, (2, 3), (2, 4), RIGHT), [GO_RIGHT]) == [((2, 3), (2, 5))]


def test_bouncing_object_between_two_walls_stays_for_ever():
    world = small_world("bouncing")
    assert [it for _, it in after(world, place(world, (3, 1), (1, 3), UP), [STAY] * 3)] == [(1, 3)] * 3


def test_bouncing_object_between_wall_and_agent_waits_until_it_leaves():
    world = small_world("bouncing")
    start = place(world, (1, 4), (1, 3), LEFT)
    assert after(world, start, [STAY, STAY, GO_DOWN]) == [((1, 4), (1, 3)), ((1, 4), (1, 3)), ((2, 4), (1, 4))]


def test_brownian_object_takes_the_drawn_direction():
    world = small_world("brownian")
    for i, (dr, dc) in enumerate(DIRECTIONS):
        moved = after(world, place(world, (3, 1), (2, 5)), [STAY], [word_for(i, 4)])
        assert moved == [((3, 1), (2 + dr, 5 + dc))]


@pytest.mark.parametrize(
    ("agent", "cell", "direction"),
    [((3, 1), (1, 5), UP), ((3, 1), (2, 4), LEFT), ((2, 4), (2, 5), LEFT)],
    ids=["wall", "door", "agent"],
)
def test_brownian_object_stays_where_its_way_is_blocked(agent, cell, direction):
    world = small_world("brownian")
    assert after(world, place(world, agent, cell), [STAY], [word_for(DIRECTIONS.index(direction), 4)]) == [
        (agent, cell)
    ]


def test_white_noise_never_blocks_the_agent():
    world = small_world("white_noise")
    others = [cell for cell in ROOM if cell != (2, 4)]
    for i, cell in enumerate(others):
        moved = after(world, place(world, (2, 3), (2, 4)), [GO_RIGHT], [word_for(i, len(others))])
        assert moved == [((2, 4), cell)]


def test_white_noise_that_is_told_to_block_does():
    world = small_world("white_noise", blocks=True)
    assert after(world, place(world, (2, 3), (2, 4)), [GO_RIGHT], [word_for(0, len(ROOM))]) == [((2, 3), ROOM[0])]


def test_movable_object_is_still_until_bumped():
    world = small_world("movable")
    words = np.random.default_rng(0).integers(2**32, size=5).tolist()
    actions = [STAY, GO_UP, GO_DOWN, STAY, GO_LEFT]
    assert {it for _, it in after(world, place(world, (2, 3), (2, 4)), actions, words)} == {(2, 4)}


def test_bumped_movable_object_jumps_to_another_free_cell_and_the_agent_stays():
    world = small_world("movable")
    for agent, push in (((2, 3), GO_RIGHT), ((1, 4), GO_DOWN), ((2, 5), GO_LEFT)):  # from the door, from in the room
        others = [cell for cell in ROOM if cell not in (agent, (2, 4))]
        for i, cell in enumerate(others):
            moved = after(world, place(world, agent, (2, 4)), [push], [word_for(i, len(others))])
            assert moved == [(agent, cell)]
