"""The scan and the kernel of the recurrent unroll are one function, and its gradient is JAX's own.

Without a GPU the kernel runs in Pallas' interpreter.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference.gru import gru

from ndigo import networks
from ndigo.fast.gru import (
    STREAMS,
    backward_kernel,
    backward_scan,
    forward_keeping_kernel,
    forward_keeping_scan,
    forward_kernel,
    forward_scan,
    unroll,
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


@pytest.mark.parametrize(("streams", "num_steps"), [((), T), ((3,), T), ((2, STREAMS), T), ((3,), 1), ((4,), 20)])
def test_states_and_gradients_are_those_of_the_plain_unroll(streams, num_steps, dtype):
    keys = jax.random.split(jax.random.key(num_steps), 4)
    weight = (jax.random.normal(keys[0], (D, 3 * D)) / 4).astype(dtype)
    x_t = jax.random.normal(keys[1], (num_steps, *streams, 3 * D)).astype(dtype)
    h_0 = jax.random.normal(keys[2], (*streams, D))
    dh_t = jax.random.normal(keys[3], (num_steps, *streams, D))

    @jax.jit
    def run(*inputs):
        return [(h_t, back(dh_t)) for h_t, back in (jax.vjp(form, *inputs) for form in (unroll, networks.unroll))]

    ours, plain = run(weight, x_t, h_0)
    assert_close(ours, plain, dtype)


@pytest.mark.parametrize("B", [STREAMS, 3 * STREAMS])
def test_the_kernel_gives_the_states_of_the_scan(B, dtype, interpret):
    forward, _ = inputs(B, dtype)
    assert_close(forward_kernel(*forward, interpret=interpret), forward_scan(*forward), dtype)


@pytest.mark.parametrize("B", [STREAMS, 3 * STREAMS])
def test_the_kernel_keeps_and_gives_back_what_the_scan_does(B, dtype, interpret):
    forward, dh_t = inputs(B, dtype)
    h_t, residuals = forward_keeping_scan(*forward)
    assert_close(forward_keeping_kernel(*forward, interpret=interpret), (h_t, residuals), dtype)
    backward = (dh_t, forward[1], residuals)
    assert_close(backward_kernel(*backward, interpret=interpret), backward_scan(*backward), dtype)


def test_the_kernel_equals_a_float64_loop(interpret):
    if not interpret:
        pytest.skip("a GPU's matrix units round float32")
    (x_t, weight, h_0), _ = inputs(STREAMS, "float32")
    expected = np.stack([gru(*map(np.asarray, (x_t[:, i], weight, h_0[i]))) for i in range(STREAMS)], axis=1)
    np.testing.assert_allclose(forward_kernel(x_t, weight, h_0, interpret=True), expected, atol=1e-5)


def test_seeds_are_one_more_axis_of_the_kernel(interpret):
    dtype = "float32" if interpret else "bfloat16"
    streams = [inputs(STREAMS, dtype)[0], inputs(2 * STREAMS, dtype)[0]]
    x_t, weight, h_0 = (
        jnp.stack([a[:, :STREAMS] if a.ndim == 3 else a[:STREAMS], b[:, :STREAMS] if b.ndim == 3 else b[:STREAMS]])
        for a, b in zip(*streams, strict=True)
    )
    together = jax.vmap(lambda *args: forward_kernel(*args, interpret=interpret))(x_t, weight, h_0)
    for seed in range(2):
        assert_close(together[seed], forward_scan(x_t[seed], weight[seed], h_0[seed]), dtype)
