"""5 rooms: its geometry, and what a random walker and a camper see there."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference.maps import five_rooms
from reference.random_walk import Seen, meets_fixed, meets_noise, noise_in_view
from rollouts import grid_of, walkers, world_named

from ndigo.evaluation.visits import in_view
from ndigo.worlds import ACTIONS

MAP = five_rooms()


def test_map_has_48_cells_a_room_and_225_in_all():
    layout = grid_of(world_named("fixed_and_noise")).layout
    assert layout.shape == (19, 19)
    assert layout.is_free.sum() == 4 * 48 + 25 + 8 == 225
    assert {room: len(layout.cells_of(room)) for room in layout.rooms} == {
        "upper": 48,
        "lower": 48,
        "left": 48,
        "right": 48,
        "centre": 25,
    }
    assert layout.start == (9, 9)


def test_map_looks_the_same_from_every_side():
    is_free = grid_of(world_named("fixed_and_noise")).layout.is_free
    np.testing.assert_array_equal(is_free, np.rot90(is_free))
    np.testing.assert_array_equal(is_free, is_free[:, ::-1])


def test_rooms_are_the_described_trapezia():
    layout = grid_of(world_named("fixed_and_noise")).layout
    assert {room: layout.cells_of(room) for room in layout.rooms} == MAP.rooms
    assert {(int(r), int(c)) for r, c in np.argwhere(layout.is_free)} == MAP.free


@cache
def exact(which: str) -> Seen:
    return meets_fixed(MAP, MAP.rooms["upper"]) if which == "fixed" else meets_noise(MAP, "lower")


@pytest.mark.parametrize(("which", "visits", "error", "first"), [("fixed", 20.3, 0.3, 318), ("noise", 21.2, 0.2, 237)])
def test_walkers_exact_figures_are_those_the_map_was_recovered_with(which, visits, error, first):
    assert exact(which).count == pytest.approx(visits, abs=3 * error)
    assert exact(which).first == pytest.approx(first, abs=3 * 2.2)  # sd 130-145 over 4,000 episodes


@pytest.mark.parametrize(("n", "which"), [(0, "fixed"), (1, "noise")])
def test_random_walker_sees_an_object_as_often_and_as_soon_as_its_markov_chain_says(n, which):
    sampled = walkers(world_named("fixed_and_noise"))
    for values, expected in ((sampled.count[:, n], exact(which).count), (sampled.first[:, n], exact(which).first)):
        assert abs(values.mean() - expected) < 3 * values.std() / len(values) ** 0.5


def test_camper_sees_19_of_the_47_cells_the_noise_can_take():
    """20 of the room's 48 cells are in view from (15, 9), one of them its own; no cell shows more."""
    best = max(MAP.rooms["lower"], key=lambda cell: noise_in_view(MAP, "lower", cell))
    assert len(set(MAP.rooms["lower"]) & MAP.in_view((15, 9))) == 20
    assert noise_in_view(MAP, "lower", (15, 9)) == noise_in_view(MAP, "lower", best) == 19 / 47


def test_camper_that_arrives_at_step_15_sees_the_noise_155_times():
    """(400 - 15.5) * 19/47 = 155; the paper's prediction-error agent: 158.3 ± 3.7."""
    world = world_named("fixed_and_noise")
    down, stay = ACTIONS.index("down"), ACTIONS.index("stay")
    actions = jnp.where(jnp.arange(world.num_steps) < 6, down, stay)  # (9, 9) to (15, 9)

    @jax.jit
    @jax.vmap
    def camp(key):
        def step(state, x):
            return world.step(x[0], state, x[1]), in_view(world.frame, world.observe(state))[1]

        keys = jax.random.split(key, world.num_steps)
        return jax.lax.scan(step, world.reset(key), (keys, actions))[1][6:].mean()

    share = np.asarray(camp(jax.random.split(jax.random.key(0), 500)))
    error = share.std() / len(share) ** 0.5
    assert abs(share.mean() - 19 / 47) < 3 * error
    assert (400 - 15.5) * share.mean() == pytest.approx(155, abs=1.5)
