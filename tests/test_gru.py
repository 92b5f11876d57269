"""The kernel and the scan of the recurrent unroll are the same function (the kernel in Pallas' interpreter)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference.gru import gru

from ndigo.gru import (
    ROWS,
    backward_kernel,
    backward_scan,
    forward_kernel,
    forward_scan,
    unroll_keeping,
    unroll_recomputing,
)

T, D = 5, 16
# bfloat16 keeps 8 bits; both forms round the same factors, but sum them in another order.
TOLERANCE = {"float32": 1e-5, "bfloat16": 2e-2}


def inputs(B: int, dtype: str):
    keys = jax.random.split(jax.random.key(B), 6)
    weight = (jax.random.normal(keys[0], (D, 3 * D)) / 4).astype(dtype)
    forward = jax.random.normal(keys[1], (T, B, 3 * D)).astype(dtype), weight, jax.random.normal(keys[2], (B, D))
    u_t = jax.nn.sigmoid(jax.random.normal(keys[3], (T, B, D))).astype(dtype)
    per_hw = (0.3 * jax.random.normal(keys[4], (T, B, 3 * D))).astype(dtype)
    return forward, (jax.random.normal(keys[5], (T, B, D)), weight, u_t, per_hw)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("B", [ROWS, 3 * ROWS])
def test_the_kernel_gives_the_states_of_the_scan(B, dtype):
    forward, _ = inputs(B, dtype)
    kernel = forward_kernel(*forward, interpret=True)
    np.testing.assert_allclose(kernel, forward_scan(*forward), atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("B", [ROWS, 3 * ROWS])
def test_the_kernel_gives_the_gradients_of_the_scan(B, dtype):
    _, backward = inputs(B, dtype)
    for kernel, scan in zip(backward_kernel(*backward, interpret=True), backward_scan(*backward), strict=True):
        np.testing.assert_allclose(kernel, scan, atol=TOLERANCE[dtype] * float(jnp.abs(scan).max()))


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_gates_kept_and_gates_recomputed_give_the_same_gradients(dtype):
    forward, (dh_t, *_) = inputs(ROWS, dtype)
    (h_t, back), (expected, back_recomputing) = jax.vjp(unroll_keeping, *forward), jax.vjp(unroll_recomputing, *forward)
    np.testing.assert_allclose(h_t, expected, atol=TOLERANCE[dtype])
    for ours, theirs in zip(back(dh_t), back_recomputing(dh_t), strict=True):
        assert ours.dtype == theirs.dtype
        ours, theirs = (np.asarray(x, np.float32) for x in (ours, theirs))
        np.testing.assert_allclose(ours, theirs, atol=TOLERANCE[dtype] * np.abs(theirs).max())


def test_the_kernel_equals_a_float64_loop():
    (x_t, weight, h_0), _ = inputs(ROWS, "float32")
    expected = np.stack([gru(*map(np.asarray, (x_t[:, i], weight, h_0[i]))) for i in range(ROWS)], axis=1)
    np.testing.assert_allclose(forward_kernel(x_t, weight, h_0, interpret=True), expected, atol=1e-5)


def test_seeds_are_one_more_axis_of_the_kernel():
    streams = [inputs(ROWS, "float32")[0], inputs(2 * ROWS, "float32")[0]]
    x_t, weight, h_0 = (
        jnp.stack([a[:, :ROWS] if a.ndim == 3 else a[:ROWS], b[:, :ROWS] if b.ndim == 3 else b[:ROWS]])
        for a, b in zip(*streams, strict=True)
    )
    together = jax.vmap(lambda *args: forward_kernel(*args, interpret=True))(x_t, weight, h_0)
    for seed in range(2):
        np.testing.assert_allclose(together[seed], forward_scan(x_t[seed], weight[seed], h_0[seed]), atol=1e-5)
