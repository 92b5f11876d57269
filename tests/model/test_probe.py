"""The probe: hand-made discovery losses, and that it only looks."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from random_weights import random_weights

from ndigo import frames
from ndigo.evaluation.true_cells import object_cells
from ndigo.model.probe import Probe, discovery_loss
from ndigo.paper.experiments import EXPERIMENTS
from ndigo.types import Truth
from ndigo.worlds import Channel, World

D, N, CELLS = 4, 2, 6


@pytest.fixture(scope="module")
def probe() -> Probe:
    return random_weights(lambda key: Probe(key, belief_size=D, num_objects=N, num_cells=CELLS, num_hidden=8))


loss_of = jax.jit(discovery_loss)


def test_discovery_loss_is_minus_ln_of_the_softmax_at_each_objects_true_cell(probe):
    rng = np.random.default_rng(1)
    b_t, cells = rng.normal(size=(5, 3, D)).astype(np.float32), rng.integers(CELLS, size=(5, 3, N))
    loss = np.asarray(loss_of(probe, b_t, cells))
    mlp = jax.tree.map(lambda x: np.asarray(x, np.float64), probe.mlp)
    for t, b, n in np.ndindex(5, 3, N):
        hidden = np.maximum(b_t[t, b] @ mlp.hidden.weight + mlp.hidden.bias, 0)
        logits = (hidden @ mlp.output.weight + mlp.output.bias)[n * CELLS : (n + 1) * CELLS]
        expected = np.log(np.exp(logits).sum()) - logits[int(cells[t, b, n])]
        assert float(loss[t, b, n]) == pytest.approx(expected, rel=1e-4)


def test_probe_that_knows_nothing_loses_ln_of_the_number_of_cells(probe):
    blank = jax.tree.map(np.zeros_like, probe)
    loss = loss_of(blank, np.ones((3, D), np.float32), np.array([[0, 5], [1, 2], [3, 3]]))
    np.testing.assert_allclose(loss, np.log(CELLS), rtol=1e-6)


def test_located_cells_are_the_probabilities_of_the_discovery_loss(probe):
    b_t = np.random.default_rng(1).normal(size=(3, D)).astype(np.float32)
    p = np.asarray(jax.jit(lambda probe: probe.locate(b_t))(probe))
    assert p.shape == (3, N, CELLS)
    np.testing.assert_allclose(p.sum(axis=-1), 1, rtol=1e-5)
    for cell in range(CELLS):
        loss = loss_of(probe, b_t, np.full((3, N), cell))
        np.testing.assert_allclose(-np.log(p[..., cell]), loss, rtol=1e-4)


def test_gradient_into_the_belief_is_exactly_zero(probe):
    cells = jnp.asarray(np.zeros((3, N), int))
    gradient = jax.jit(jax.grad(lambda probe, b: discovery_loss(probe, b, cells).sum(), argnums=(0, 1)))
    into_probe, into_belief = gradient(probe, np.ones((3, D), np.float32))
    np.testing.assert_array_equal(into_belief, 0)
    assert np.any(into_probe.mlp.output.weight)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_cell_numbers_are_the_true_rows_and_columns_in_reading_order(name):
    world = EXPERIMENTS[name].world
    truth, map_shape = world.truth, world.map_shape
    assert truth is not None
    assert map_shape is not None

    @jax.jit
    def cells_and_truth(key):
        state = world.reset(key)
        return object_cells(world, state), truth(state).objects

    cells, objects = cells_and_truth(jax.random.key(0))
    rows, cols = np.divmod(np.asarray(cells, int), map_shape[1])
    np.testing.assert_array_equal(np.stack([rows, cols], axis=-1), objects)


def world_of(map_shape, truth) -> World:
    return World(
        name="box",
        frame=frames.bits([Channel("thing", "one_hot")], 1),
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
