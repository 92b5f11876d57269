"""The layers against library convolutions, a float64 loop and automatic differentiation."""

from __future__ import annotations

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from random_weights import random_weights
from reference.gru import gru
from small_frames import bits_shaped

from ndigo import frames
from ndigo.frames.cnn import init_encoder
from ndigo.networks import Core, Linear, init_gru, orthogonal, unroll

T, D = 13, 6  # 13: the loop's unrolling by 4 leaves a rest


def gru_inputs(*streams: int, T: int = T):
    rng = np.random.default_rng(0)
    x_t, weight, h_0 = (rng.normal(size=shape) for shape in ((T, *streams, 3 * D), (D, 3 * D), (*streams, D)))
    return x_t.astype(np.float32), (0.5 * weight).astype(np.float32), h_0.astype(np.float32)


def test_recurrent_weights_begin_orthogonal_and_are_those_of_lapack():
    x = np.random.default_rng(1).normal(size=(128, 128)).astype(np.float32)
    q = np.asarray(jax.jit(orthogonal)(x), np.float64)
    np.testing.assert_allclose(q @ q.T, np.eye(128), atol=2e-6)
    columns, upper = np.linalg.qr(np.asarray(x, np.float64).T)
    np.testing.assert_allclose(q, (columns * np.sign(np.diagonal(upper))).T, atol=1e-3)


def test_first_weights_keep_the_variance_of_what_they_read():
    linear = Linear(jax.random.key(0), 400, 300, gain=2.0)
    assert np.std(linear.weight) == pytest.approx(2 / np.sqrt(400), rel=0.02)
    rows = frames.tiles((300, 300, 300), listed=[(0, 0, 0)]).init_encoder(jax.random.key(0), 4, 16).rows
    assert np.std(rows) == pytest.approx(1 / np.sqrt(3), rel=0.02)  # a cell of three layers has variance 1


def test_networks_begin_without_lapack():
    # Two of its calls at once wait for each other for ever on a machine of two cores.
    program = jax.jit(lambda key: init_gru(key, 16)).lower(jax.random.key(0)).as_text()
    assert "lapack" not in program
    assert "custom_call" not in program


def test_gru_states_equal_a_float64_loop():
    x_t, weight, h_0 = gru_inputs()
    np.testing.assert_allclose(jax.jit(unroll)(weight, x_t, h_0), gru(x_t, weight, h_0), atol=1e-6)


def test_gru_gradients_equal_finite_differences_of_the_float64_loop():
    x_t, weight, h_0 = (np.asarray(x, np.float64) for x in gru_inputs())
    direction = [np.random.default_rng(i).normal(size=x.shape) for i, x in enumerate((x_t, weight, h_0))]

    def along(size):
        return gru(*(x + size * d for x, d in zip((x_t, weight, h_0), direction, strict=True))).sum()

    slope = (along(1e-5) - along(-1e-5)) / 2e-5
    gradient = jax.grad(lambda x_t, weight, h_0: unroll(weight, x_t, h_0).sum(), argnums=(0, 1, 2))
    gradients = map(np.asarray, jax.jit(gradient)(*gru_inputs()))
    assert sum((g * d).sum() for g, d in zip(gradients, direction, strict=True)) == pytest.approx(slope, rel=1e-4)


@jax.jit
def encoded(encoder, o_t):
    return encoder(o_t)


@pytest.mark.parametrize("V", [1, 3, 4, 5, 7, 9])
def test_encoder_is_two_library_convolutions_and_a_dense_layer(V):
    encoder = random_weights(lambda key: init_encoder(key, (V, V, 3), 8, num_filters=4))
    o_t = np.random.default_rng(1).integers(2, size=(6, V, V, 3)).astype(np.uint8)

    def convolve(x, layer, stride):
        kernel = layer.weight.reshape(3, 3, -1, 4)
        padding, names = [(1, 1), (1, 1)], ("NHWC", "HWIO", "NHWC")
        return lax.conv_general_dilated(x, kernel, (stride, stride), padding, dimension_numbers=names) + layer.bias

    @jax.jit
    def by_library(encoder, o_t):
        x = jax.nn.relu(convolve(o_t.astype(jnp.float32), encoder.conv1, stride=1))
        x = jax.nn.relu(convolve(x, encoder.conv2, stride=2)).reshape(6, -1)
        return jax.nn.relu(x @ encoder.dense.weight + encoder.dense.bias)

    np.testing.assert_allclose(encoded(encoder, o_t), by_library(encoder, o_t), atol=1e-5)


def test_encoder_treats_every_leading_axis_as_more_streams():
    encoder = random_weights(lambda key: init_encoder(key, (5, 5, 3), 8, 16))
    o_t = np.random.default_rng(1).integers(2, size=(4, 2, 5, 5, 3)).astype(np.uint8)
    z_t = np.asarray(encoded(encoder, o_t))
    assert z_t.shape == (4, 2, 8)
    for t, b in np.ndindex(4, 2):
        np.testing.assert_allclose(z_t[t, b], encoded(encoder, o_t[t, b]), atol=1e-5)


def core_inputs(*streams: int):
    rng = np.random.default_rng(2)
    o_t = rng.integers(2, size=(T, *streams, 3, 3, 2)).astype(np.uint8)
    return o_t, rng.integers(5, size=(T, *streams)), rng.normal(size=(*streams, D)).astype(np.float32)


@cache
def some_core() -> Core:
    return random_weights(lambda key: Core(key, bits_shaped((3, 3, 2)), 5, 8, D, 16))


@jax.jit
def unrolled(core: Core, o_t, a_tm1, h_0):
    return core.unroll(core.encoder(o_t), a_tm1, h_0)


def test_a_batch_unrolls_like_each_stream_alone():
    core = some_core()
    o_t, a_tm1, h_0 = core_inputs(3)
    together = np.asarray(unrolled(core, o_t, a_tm1, h_0))
    for b in range(3):
        np.testing.assert_allclose(together[:, b], unrolled(core, o_t[:, b], a_tm1[:, b], h_0[b]), atol=1e-5)


def test_core_steps_one_frame_at_a_time_to_the_states_of_its_unroll():
    core = some_core()
    o_t, a_tm1, h = core_inputs()
    h_t = np.asarray(unrolled(core, o_t, a_tm1, h))
    step = jax.jit(lambda *frame: core.step(*frame))
    for t in range(T):
        h = step(o_t[t], a_tm1[t], h)
        np.testing.assert_allclose(h_t[t], h, atol=1e-5)


def test_seeds_side_by_side_learn_as_alone():
    """Values and gradients of two cores under vmap, and of each on its own."""
    keys = jax.random.split(jax.random.key(0), 2)
    inputs = core_inputs(3)

    @jax.jit
    def value_and_gradient(key):
        core = Core(key, bits_shaped((3, 3, 2)), 5, 8, D, 16)
        return jax.value_and_grad(lambda core: (unrolled(core, *inputs) ** 2).sum())(core)

    together = jax.jit(jax.vmap(value_and_gradient))(keys)
    for i in range(2):
        alone = value_and_gradient(keys[i])
        mine = jax.tree.map(lambda x, i=i: np.asarray(x)[i], together)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-4), mine, alone)


def test_action_before_a_frame_changes_its_state_and_all_later_ones():
    core = some_core()
    o_t, a_tm1, h_0 = core_inputs()
    other = np.where(np.arange(T) == 4, (a_tm1 + 1) % 5, a_tm1)
    is_changed = (np.asarray(unrolled(core, o_t, a_tm1, h_0)) != unrolled(core, o_t, other, h_0)).any(axis=-1)
    np.testing.assert_array_equal(is_changed, np.arange(T) >= 4)
