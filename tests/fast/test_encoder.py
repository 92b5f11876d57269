"""Convolutions as dense layers are the encoder that cuts patches."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from random_weights import random_weights

from ndigo.fast.encoder import as_dense, encode
from ndigo.frames import cnn
from ndigo.frames.cnn import Convolution, init_encoder
from ndigo.networks import lower


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("bfloat16", 0.03)])  # which keeps 8 bits
@pytest.mark.parametrize(("view", "on_gpu"), [(1, False), (4, False), (5, False), (7, False), (9, True)])
def test_features_and_gradients_are_those_of_the_plain_encoder(view, on_gpu, dtype, tolerance, monkeypatch):
    monkeypatch.setattr("ndigo.fast.encoder.on_gpu", lambda: on_gpu)  # where views are small for longer
    streams, rng = (3, 2), np.random.default_rng(view)
    encoder = random_weights(lambda key: init_encoder(key, (view, view, 3), 8, num_filters=4))  # biases too
    o_t = jnp.asarray(rng.integers(2, size=(*streams, view, view, 3)), jnp.uint8)
    dz_t = rng.normal(size=(*streams, 8)).astype(np.float32)

    @jax.jit
    def run(encoder):
        encoder = lower(encoder, dtype)
        exact = lower(encoder, "float32")  # the same numbers: of bfloat16 sums the plain form loses more
        forms = (lambda e: encode(e, o_t), encoder), (lambda e: cnn.encode(e, o_t), exact)
        return [(z, back(dz_t.astype(z.dtype))) for z, back in (jax.vjp(form, e) for form, e in forms)]

    ours, plain = run(encoder)
    assert ours[0].shape == (*streams, 8)
    for one, two in zip(jax.tree.leaves(ours), jax.tree.leaves(plain), strict=True):
        assert one.dtype == dtype
        one, two = (np.asarray(x, np.float32) for x in (one, two))
        assert np.linalg.norm(one - two) <= tolerance * np.linalg.norm(two)


def test_a_large_view_is_cut_into_patches():
    encoder = random_weights(lambda key: init_encoder(key, (9, 9, 3), 8, num_filters=4))
    o_t = jnp.asarray(np.random.default_rng(0).integers(2, size=(2, 9, 9, 3)), jnp.uint8)
    np.testing.assert_array_equal(encode(encoder, o_t), cnn.encode(encoder, o_t))


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("size", [(1, 1), (3, 3), (4, 4), (5, 5), (2, 5)])
def test_a_convolution_is_a_dense_layer_of_its_kernel_over_all_positions(size, stride):
    x = np.random.default_rng(sum(size)).normal(size=(2, 3, math.prod(size) * 3)).astype(np.float32)
    layer = random_weights(lambda key: Convolution(key, size, 3, 4, stride))  # a bias too

    def multiplied(x, layer):
        weight, bias = as_dense(layer)
        return x @ weight[: x.shape[-1]] + bias

    @jax.jit
    def values_and_gradients(*inputs):
        forms = (multiplied, lambda x, layer: layer(x))
        (value, pull), (other, pull_other) = (jax.vjp(form, *inputs) for form in forms)
        return (value, pull(value)), (other, pull_other(value))

    (dense, by_dense), (patches, by_patches) = values_and_gradients(x, layer)
    np.testing.assert_allclose(dense, patches, atol=1e-5)
    for a, b in zip(jax.tree.leaves(by_dense), jax.tree.leaves(by_patches), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)
