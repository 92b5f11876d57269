"""The scan and the kernel of the recurrent unroll are one function, and its gradient is JAX's own.

Without a GPU the kernel runs in Pallas' interpreter.
"""

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
    forward_keeping_kernel,
    forward_keeping_scan,
    forward_kernel,
    forward_scan,
    gru_unroll,
)

T, D = 5, 16
# bfloat16 keeps 8 bits; both forms round the same factors, but sum them in another order.
TOLERANCE = {"float32": 1e-5, "bfloat16": 2e-2}


def inputs(B: int, dtype: str):
    """x_t, weight and h_0; and a gradient in every h_t."""
    keys = jax.random.split(jax.random.key(B), 4)
    weight = (jax.random.normal(keys[0], (D, 3 * D)) / 4).astype(dtype)
    forward = jax.random.normal(keys[1], (T, B, 3 * D)).astype(dtype), weight, jax.random.normal(keys[2], (B, D))
    return forward, jax.random.normal(keys[3], (T, B, D))


@pytest.fixture(params=TOLERANCE)
def dtype(request, interpret):
    if request.param == "float32" and not interpret:
        pytest.skip("a GPU's matrix units round float32")
    return request.param


def assert_close(ours, theirs, dtype):
    for one, two in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert one.dtype == two.dtype
        one, two = np.asarray(one, np.float32), np.asarray(two, np.float32)
        np.testing.assert_allclose(one, two, atol=TOLERANCE[dtype] * np.abs(two).max())


@pytest.mark.parametrize("B", [ROWS, 3 * ROWS])
def test_the_kernel_gives_the_states_of_the_scan(B, dtype, interpret):
    forward, _ = inputs(B, dtype)
    assert_close(forward_kernel(*forward, interpret=interpret), forward_scan(*forward), dtype)


@pytest.mark.parametrize("B", [ROWS, 3 * ROWS])
def test_the_kernel_keeps_and_gives_back_what_the_scan_does(B, dtype, interpret):
    forward, dh_t = inputs(B, dtype)
    h_t, kept = forward_keeping_scan(*forward)
    assert_close(forward_keeping_kernel(*forward, interpret=interpret), (h_t, kept), dtype)
    backward = (dh_t, forward[1], kept)
    assert_close(backward_kernel(*backward, interpret=interpret), backward_scan(*backward), dtype)


def test_the_gradient_is_that_of_automatic_differentiation(dtype):
    forward, dh_t = inputs(ROWS, dtype)
    (h_t, back), (expected, back_by_jax) = jax.vjp(gru_unroll, *forward), jax.vjp(forward_scan, *forward)
    assert_close(h_t, expected, dtype)
    assert_close(back(dh_t), back_by_jax(dh_t), dtype)


def test_the_kernel_equals_a_float64_loop(interpret):
    if not interpret:
        pytest.skip("a GPU's matrix units round float32")
    (x_t, weight, h_0), _ = inputs(ROWS, "float32")
    expected = np.stack([gru(*map(np.asarray, (x_t[:, i], weight, h_0[i]))) for i in range(ROWS)], axis=1)
    np.testing.assert_allclose(forward_kernel(x_t, weight, h_0, interpret=True), expected, atol=1e-5)


def test_seeds_are_one_more_axis_of_the_kernel(interpret):
    dtype = "float32" if interpret else "bfloat16"
    streams = [inputs(ROWS, dtype)[0], inputs(2 * ROWS, dtype)[0]]
    x_t, weight, h_0 = (
        jnp.stack([a[:, :ROWS] if a.ndim == 3 else a[:ROWS], b[:, :ROWS] if b.ndim == 3 else b[:ROWS]])
        for a, b in zip(*streams, strict=True)
    )
    together = jax.vmap(lambda *args: forward_kernel(*args, interpret=interpret))(x_t, weight, h_0)
    for seed in range(2):
        assert_close(together[seed], forward_scan(x_t[seed], weight[seed], h_0[seed]), dtype)
