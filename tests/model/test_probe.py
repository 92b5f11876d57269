"""The probe: hand-made discovery losses, and that it only looks."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ndigo.evaluation.true_cells import object_cells
from ndigo.model.probe import Probe, discovery_loss
from ndigo.paper.experiments import EXPERIMENTS
from ndigo.types import Truth
from ndigo.worlds import Channel, World

D, N, CELLS = 4, 2, 6


@pytest.fixture(scope="module")
def probe() -> Probe:
    return Probe(jax.random.key(0), belief_size=D, num_objects=N, num_cells=CELLS, num_hidden=8)


def test_discovery_loss_is_minus_ln_of_the_softmax_at_each_objects_true_cell(probe):
    b_t = jax.random.normal(jax.random.key(1), (5, 3, D))
    cells = jax.random.randint(jax.random.key(2), (5, 3, N), 0, CELLS)
    loss = discovery_loss(probe, b_t, cells)
    mlp = jax.tree.map(lambda x: np.asarray(x, np.float64), probe.mlp)
    for t, b, n in np.ndindex(5, 3, N):
        hidden = np.maximum(np.asarray(b_t[t, b]) @ mlp.hidden.weight + mlp.hidden.bias, 0)
        logits = (hidden @ mlp.output.weight + mlp.output.bias)[n * CELLS : (n + 1) * CELLS]
        expected = np.log(np.exp(logits).sum()) - logits[int(cells[t, b, n])]
        assert float(loss[t, b, n]) == pytest.approx(expected, rel=1e-4)


def test_probe_that_knows_nothing_loses_ln_of_the_number_of_cells(probe):
    blank = jax.tree.map(jnp.zeros_like, probe)
    loss = discovery_loss(blank, jnp.ones((3, D)), jnp.array([[0, 5], [1, 2], [3, 3]]))
    np.testing.assert_allclose(loss, np.log(CELLS), rtol=1e-6)


def test_located_cells_are_the_probabilities_of_the_discovery_loss(probe):
    b_t = jax.random.normal(jax.random.key(1), (3, D))
    p = np.asarray(probe.locate(b_t))
    assert p.shape == (3, N, CELLS)
    np.testing.assert_allclose(p.sum(axis=-1), 1, rtol=1e-5)
    for cell in range(CELLS):
        loss = discovery_loss(probe, b_t, jnp.full((3, N), cell))
        np.testing.assert_allclose(-np.log(p[..., cell]), loss, rtol=1e-4)


def test_gradient_into_the_belief_is_exactly_zero(probe):
    b_t, cells = jnp.ones((3, D)), jnp.zeros((3, N), int)
    into_probe, into_belief = jax.grad(lambda probe, b: discovery_loss(probe, b, cells).sum(), argnums=(0, 1))(
        probe, b_t
    )
    np.testing.assert_array_equal(into_belief, 0)
    assert np.any(into_probe.mlp.output.weight)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_cell_numbers_are_the_true_rows_and_columns_in_reading_order(name):
    world = EXPERIMENTS[name].world
    assert world.truth is not None
    assert world.map_shape is not None
    state = world.reset(jax.random.key(0))
    rows, cols = np.divmod(np.asarray(object_cells(world, state), int), world.map_shape[1])
    np.testing.assert_array_equal(np.stack([rows, cols], axis=-1), world.truth(state).objects)


def world_of(map_shape, truth) -> World:
    return World(
        name="box",
        shape=(1, 1, 1),
        channels=(Channel("thing", "one_hot"),),
        actions=("stay",),
        num_steps=4,
        reset=lambda key: jnp.int32(0),
        step=lambda key, state, a_t: state,
        observe=lambda state: jnp.zeros((1, 1, 1), jnp.uint8),
        truth=truth,
        objects=("thing",),
        map_shape=map_shape,
    )


def test_world_without_truth_has_no_cells():
    assert object_cells(world_of(None, None), jnp.int32(0)).shape == (0,)


def test_last_cell_of_a_large_map_keeps_its_number():
    """300 x 300 cells do not fit 16 bits."""
    place = jnp.array([299, 299])
    truth = Truth(agent=place, objects=place[None])
    assert object_cells(world_of((300, 300), lambda state: truth), jnp.int32(0)).tolist() == [89_999]
