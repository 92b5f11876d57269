"""A map that is mostly the same in every frame: the model has to find the few cells that are not."""

from __future__ import annotations

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from ndigo import frames
from ndigo.config import Config
from ndigo.model import init_world_model, make_likelihood, prediction_loss

FRAME, NUM_NEW, WINDOW, BATCH, UPDATES = frames.tiles((3, 6), 7, 7), 6, 4, 16, 700


def maps(rng: np.random.Generator, num: int) -> np.ndarray:
    """One map, of which six cells have a colour that is drawn anew for each of `num` episodes."""
    alike = np.random.default_rng(1).integers(FRAME.values, size=(49, 2))
    drawn = np.tile(alike, (num, 1, 1))
    drawn[:, 4::8, 1] = rng.integers(6, size=(num, NUM_NEW))
    return drawn.reshape(num, 7, 7, 2).astype(np.uint8)


def test_a_model_soon_copies_the_few_cells_of_a_map_that_differ():
    """The next frame is the one before, so all its nats can be known: at first it has 6 ln 6 = 10.8 of them."""
    sizes, key = Config(), jax.random.key(0)
    model = init_world_model(
        key,
        frame=FRAME,
        num_actions=1,
        likelihood=make_likelihood("categorical", FRAME),
        predictor="open_loop",
        num_ahead=1,
        num_features=sizes.num_features,
        num_filters=sizes.num_filters,
        belief_size=sizes.belief_size,
        num_hidden=sizes.predictor_hidden,
    )
    weights, rest = eqx.partition(model, eqx.is_inexact_array)
    optimiser, nothing = optax.adam(sizes.model_rate), jnp.zeros((WINDOW, BATCH), jnp.int32)

    def loss_of(weights: Any, o: jax.Array) -> jax.Array:
        model, o_t = eqx.combine(weights, rest), jnp.broadcast_to(o, (WINDOW + 1, *o.shape))
        still = jnp.zeros((WINDOW + 1, BATCH), jnp.int32)
        b_t = model.core.unroll(model.core.encoder(o_t), still, jnp.zeros((BATCH, model.core.size)))
        return prediction_loss(model.losses(b_t[:-1], nothing, o_t[1:], 1))

    @jax.jit
    def update(weights: Any, moments: Any, o: jax.Array) -> tuple[Any, Any, jax.Array]:
        loss, slope = jax.value_and_grad(loss_of)(weights, o)
        change, moments = optimiser.update(slope, moments)
        return optax.apply_updates(weights, change), moments, loss

    moments, rng, losses = optimiser.init(weights), np.random.default_rng(0), []
    for _ in range(UPDATES):
        weights, moments, loss = update(weights, moments, maps(rng, BATCH))
        losses.append(float(loss))
    assert np.mean(losses[100:200]) == pytest.approx(NUM_NEW * math.log(6), rel=0.05)
    assert np.mean(losses[-50:]) < 3
