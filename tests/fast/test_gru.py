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
    bytes_on_chip,
    forward_keeping_kernel,
    forward_keeping_scan,
    forward_kernel,
    forward_scan,
    unroll,
)
from ndigo.fast.pallas import LEAST_ON_CHIP, ON_CHIP, on_chip

T, D = 5, 16
# bfloat16 keeps 8 bits; both forms round the same factors, but sum them in another order.
TOLERANCE = {"float32": 1e-5, "bfloat16": 2e-2}
ROUNDED = 5e-3  # float32 in a GPU's matrix units, which keep 11 bits


def inputs(streams: tuple[int, ...], dtype: str, D: int = D, num_steps: int = T):
    """x_t, weight and h_0; and a gradient in every h_t."""
    rng = np.random.default_rng([num_steps, *streams])

    def normal(*shape: int, dtype: str = "float32", scale: float = 1.0) -> jax.Array:
        return jnp.asarray((scale * rng.normal(size=shape)).astype(jnp.dtype(dtype)))

    weight = normal(D, 3 * D, dtype=dtype, scale=D**-0.5)
    forward = normal(num_steps, *streams, 3 * D, dtype=dtype), weight, normal(*streams, D)
    return forward, normal(num_steps, *streams, D)


@pytest.fixture(params=TOLERANCE)
def dtype(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["one episode", "several"])
def is_first(request):
    """[T, B] of as many streams as any test has, or None: most begin anew in a step or two, some in the first."""
    starts = np.random.default_rng(0).random((T, 3 * STREAMS)) < 0.3
    starts[0, :4] = True
    return starts if request.param else None


def kept(is_first: np.ndarray | None, B: int) -> np.ndarray | None:
    """What the states of B streams are multiplied by before each step."""
    return None if is_first is None else np.float32(1) - is_first[:, :B, None]


def assert_close(ours, theirs, dtype, interpret=True):
    for one, two in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert one.dtype == two.dtype
        one, two = np.asarray(one, np.float32), np.asarray(two, np.float32)
        tolerance = ROUNDED if dtype == "float32" and not interpret else TOLERANCE[dtype]
        np.testing.assert_allclose(one, two, atol=tolerance * np.abs(two).max())


@pytest.mark.parametrize(("streams", "num_steps"), [((), T), ((3,), T), ((2, STREAMS), T), ((3,), 1), ((4,), 20)])
def test_states_and_gradients_are_those_of_the_plain_unroll(streams, num_steps, dtype, interpret):
    (x_t, weight, h_0), dh_t = inputs(streams, dtype, num_steps=num_steps)
    is_first = jnp.asarray(np.random.default_rng(0).random((num_steps, *streams)) < 0.3)

    @jax.jit
    def run(*inputs):
        found = []
        for form in (unroll, networks.unroll):
            for starts in (None, is_first):
                h_t, back = jax.vjp(lambda *x, form=form, starts=starts: form(*x, starts), *inputs)
                found.append((h_t, back(dh_t)))
        return found

    *ours, plain, plain_of_several = run(weight, x_t, h_0)
    assert_close(ours, [plain, plain_of_several], dtype, interpret)


@pytest.mark.parametrize("B", [STREAMS, 3 * STREAMS])
def test_the_kernel_gives_the_states_of_the_scan(B, dtype, is_first, interpret):
    forward, _ = inputs((B,), dtype)

    @jax.jit
    def run(x_t, weight, h_0, keep_t):
        by_kernel = forward_kernel(x_t, weight, h_0, keep_t, interpret=interpret)
        return by_kernel, forward_scan(x_t, weight, h_0, keep_t)

    ours, scanned = run(*forward, kept(is_first, B))
    assert_close(ours, scanned, dtype, interpret)


@pytest.mark.parametrize("B", [STREAMS, 3 * STREAMS])
def test_the_kernel_keeps_and_gives_back_what_the_scan_does(B, dtype, is_first, interpret):
    forward, dh_t = inputs((B,), dtype)

    @jax.jit
    def run(x_t, weight, h_0, keep_t):
        h_t, residuals = forward_keeping_scan(x_t, weight, h_0, keep_t)
        by_kernel = forward_keeping_kernel(x_t, weight, h_0, keep_t, interpret=interpret)
        backward = (dh_t, weight, residuals, keep_t)
        returned = backward_kernel(*backward, interpret=interpret), backward_scan(*backward)
        return by_kernel, (h_t, residuals), *returned

    ours, scanned, returned, returned_by_the_scan = run(*forward, kept(is_first, B))
    assert_close(ours, scanned, dtype, interpret)
    assert_close(returned, returned_by_the_scan, dtype, interpret)


@pytest.mark.parametrize("size", [64, 128])
def test_the_kernel_takes_float32_weights_of_every_size(size, interpret):
    """On a GPU, too, it computes what the scan does; on one whose chip has no room for them the scan does it."""
    forward, _ = inputs((STREAMS,), "float32", size)
    if not interpret and bytes_on_chip(forward[1]) > on_chip():
        pytest.skip("no room on this chip")
    assert_close(forward_kernel(*forward, interpret=interpret), forward_scan(*forward), "float32", interpret)


def test_float32_weights_of_128_units_fit_hoppers_chip_and_bfloat16_ones_amperes():
    """Bytes as the compiler of the kernels asks for them."""
    sizes = {(64, "bfloat16"): 28_672, (64, "float32"): 57_344, (128, "bfloat16"): 106_496, (128, "float32"): 212_992}
    assert {(D, dtype): bytes_on_chip(jnp.zeros((D, 3 * D), dtype)) for D, dtype in sizes} == sizes
    assert sizes[64, "float32"] < LEAST_ON_CHIP < sizes[128, "bfloat16"] < ON_CHIP["8.0"] < sizes[128, "float32"]
    assert sizes[128, "float32"] < ON_CHIP["9.0"]


def test_the_kernel_equals_a_float64_loop(interpret):
    if not interpret:
        pytest.skip("a GPU's matrix units round float32")
    (x_t, weight, h_0), _ = inputs((STREAMS,), "float32")
    expected = np.stack([gru(*map(np.asarray, (x_t[:, i], weight, h_0[i]))) for i in range(STREAMS)], axis=1)
    np.testing.assert_allclose(forward_kernel(x_t, weight, h_0, interpret=True), expected, atol=1e-5)


def test_seeds_are_one_more_axis_of_the_kernel(interpret):
    dtype = "float32" if interpret else "bfloat16"
    (x_t, weight, h_0), _ = inputs((STREAMS,), dtype)
    seeds = [np.stack([x, y]) for x, y in ((x_t, x_t[::-1]), (weight, weight[::-1]), (h_0, h_0[::-1]))]
    together = jax.jit(jax.vmap(lambda *args: forward_kernel(*args, interpret=interpret)))(*seeds)
    for seed in range(2):
        assert_close(together[seed], forward_scan(*(x[seed] for x in seeds)), dtype)
