"""Our worlds beside the slow simulator of `tests/reference/`, cell by cell under the same random words."""

import numpy as np
import pytest
from reference.episodes import recorded
from reference.simulator import SIMULATORS
from rollouts import grid_of, replay, world_named

from ndigo.paper.experiments import EXPERIMENTS


def test_every_experiment_has_a_reference_simulator():
    assert set(SIMULATORS) == set(EXPERIMENTS)


@pytest.mark.parametrize("name", SIMULATORS)
def test_world_reads_as_many_random_words_as_the_reference(name):
    grid, simulator = grid_of(EXPERIMENTS[name].world), SIMULATORS[name]()
    assert (grid.num_reset_words, grid.num_step_words) == (simulator.num_reset_words, simulator.num_step_words)


@pytest.mark.parametrize("name", SIMULATORS)
def test_agent_objects_and_views_equal_the_reference_at_every_step(name):
    expected = recorded(name)
    ours = replay(
        world_named(EXPERIMENTS[name].world_name), expected.reset_words, expected.step_words, expected.actions
    )
    np.testing.assert_array_equal(ours.truth.agent, expected.agent)
    np.testing.assert_array_equal(ours.truth.objects, expected.objects)
    np.testing.assert_array_equal(ours.observations, expected.observations)


@pytest.mark.parametrize("name", SIMULATORS)
def test_rooms_are_the_reference_maps_rooms(name):
    """Of every free cell, its room or none."""
    map, layout = SIMULATORS[name]().map, grid_of(world_named(EXPERIMENTS[name].world_name)).layout
    for row, col in np.argwhere(layout.is_free).tolist():
        homes = [room for room, members in map.rooms.items() if (row, col) in members]
        number = int(layout.room_of[row, col])
        assert homes == ([layout.rooms[number]] if number >= 0 else [])


@pytest.mark.parametrize("view", [1, 3, 7, 9])
@pytest.mark.parametrize("name", ["exp3", "exp5"])
def test_other_view_sizes_equal_the_reference_too(name, view):
    expected = recorded(name, view, num_episodes=4)
    world = world_named(EXPERIMENTS[name].world_name, view)
    ours = replay(world, expected.reset_words, expected.step_words, expected.actions)
    np.testing.assert_array_equal(ours.truth.objects, expected.objects)
    np.testing.assert_array_equal(ours.observations, expected.observations)


@pytest.mark.parametrize("name", SIMULATORS)
def test_recorded_episodes_come_next_to_every_object(name):
    """The comparison is worth what its episodes reach."""
    episodes = recorded(name)
    gap = np.abs(episodes.objects - episodes.agent[:, :, None]).sum(axis=-1)
    assert (gap.min(axis=(0, 1)) == 1).all()


def test_recorded_maze_episodes_push_the_movable_object():
    movable = recorded("exp5").objects[:, :, -1]
    assert (movable[:, 1:] != movable[:, :-1]).any(axis=-1).sum() > 10
