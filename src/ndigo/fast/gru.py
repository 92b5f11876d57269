"""The twin of `networks.unroll`: a scan and a kernel that tests hold equal, with a gradient by hand.

On a GPU a Pallas kernel keeps W on chip and the state in registers for the whole window; where shapes or types do not
suit it, `lax.scan` does the same. Going forward, each step keeps the local derivatives of h' with respect to its
pre-activations. So going back nothing is computed again, and W's gradient is one product after the loop, where
automatic differentiation would add up a [D, 3D] gradient at every step. The state is float32 throughout; products are
taken, and derivatives kept, in W's type, and sums are float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jaxtyping import Array, Bool, Float

from ndigo.fast.pallas import call_kernel, dot, on_chip, on_gpu, sigmoid, tanh
from ndigo.networks import by_gate, gates, project

STREAMS = 16  # streams in one kernel program: the smallest tile of the matrix units
STATE_SIZES = (16, 32, 64, 128)


def unroll(
    weight: Float[Array, "D 3*D"],
    x_t: Float[Array, "T ... 3*D"],
    h_0: Float[Array, "... D"],
    is_first: Bool[Array, "T ..."] | None = None,
) -> Array:
    """The state after each input, [T, ..., D]. It starts at `h_0`, and again at 0 before each input that `is_first`."""
    D = h_0.shape[-1]
    keep_t = None if is_first is None else 1.0 - is_first.reshape(len(x_t), -1, 1)
    h_t: Any = unroll_streams(x_t.reshape(len(x_t), -1, 3 * D), weight, h_0.reshape(-1, D), keep_t)
    return h_t.reshape(len(x_t), *h_0.shape)


class Residuals(NamedTuple):
    """What the backward pass needs of every step, in the weights' type: local derivatives of h', and its input h."""

    h_tm1: Float[Array, "T B D"]
    per_hw: Float[Array, "T B 3*D"]  # dh' / d(h W); for r and u also dh' / dx
    u: Float[Array, "T B D"]  # dh' / dh with h W held fixed
    per_n: Float[Array, "T B D"]  # dh' / dx_n


def factors(h: Array, r: Array, u: Array, n: Array, h_n: Array) -> tuple[Array, tuple[Array, Array, Array]]:
    """The local derivatives of h' = u h + (1 - u) n: with respect to x_n; and to h W_r, h W_u and h W_n."""
    per_n = (1 - u) * (1 - n * n)
    return per_n, (per_n * h_n * (r - r * r), (h - n) * (u - u * u), per_n * r)


@jax.custom_vjp
def unroll_streams(
    x_t: Float[Array, "T B 3*D"],
    weight: Float[Array, "D 3*D"],
    h_0: Float[Array, "B D"],
    keep_t: Float[Array, "T B 1"] | None,
) -> Array:
    """The state after each input: [T, B, D]. Before input t the state is multiplied by keep_t, 0 or 1."""
    return _where_it_suits(forward_kernel, forward_scan, x_t, weight, h_0, keep_t)


def _forward(x_t, weight, h_0, keep_t):
    h_t, residuals = _where_it_suits(forward_keeping_kernel, forward_keeping_scan, x_t, weight, h_0, keep_t)
    return h_t, (weight, residuals, keep_t, jnp.zeros(0, x_t.dtype))


def _backward(saved, dh_t):
    weight, residuals, keep_t, like_x = saved
    dx, dhw, dh_0 = _where_it_suits(backward_kernel, backward_scan, dh_t, weight, residuals, keep_t)
    flat, dflat = (x.reshape(-1, x.shape[-1]) for x in (residuals.h_tm1, dhw))
    return dx.astype(like_x.dtype), dot(flat.T, dflat).astype(weight.dtype), dh_0, None


unroll_streams.defvjp(_forward, _backward)


def _where_it_suits(
    kernel: Callable[..., Any], scan: Callable[..., Any], x_t: Array, weight: Array, rest: Any, keep_t: Array | None
) -> Any:
    """Runs the kernel where shapes, types and GPU suit it, else the scan. One step is not worth loading W for."""
    is_tiled = x_t.shape[1] % STREAMS == 0 and weight.shape[0] in STATE_SIZES
    suits = on_gpu() and len(x_t) > 1 and is_tiled and bytes_on_chip(weight) <= on_chip()
    return (kernel if suits else scan)(x_t, weight, rest, keep_t)


def bytes_on_chip(weight: Array) -> int:
    """What a kernel keeps on chip: W, and twice its states. In float32, 128 units fit on Hopper, not on Ampere."""
    return (weight.size + 2 * STREAMS * len(weight)) * weight.dtype.itemsize


def masked(h: Array, keep: Array | None) -> Array:
    return h if keep is None else h * keep


def forward_scan(x_t: Array, weight: Array, h_0: Array, keep_t: Array | None = None) -> Array:
    # A product for each gate: after one for all three a CPU's compiler does not fill its vector registers.
    weights = by_gate(weight)

    def body(h, step):
        x, keep = step
        h = masked(h, keep)
        _, u, n = gates(x, [project(h, w) for w in weights])
        h = u * h + (1 - u) * n
        return h, h

    return lax.scan(body, h_0, (by_gate(x_t), keep_t), unroll=_unroll(len(x_t)))[1]


def forward_keeping_scan(x_t: Array, weight: Array, h_0: Array, keep_t: Array | None = None) -> tuple[Array, Residuals]:
    low = weight.dtype

    def body(h, step):
        x, keep = step
        h = masked(h, keep)
        hw = by_gate(project(h, weight))
        r, u, n = gates(by_gate(x), hw)
        per_n, per_hw = factors(h, r, u, n, hw[2])
        h = u * h + (1 - u) * n
        return h, (h, jnp.concatenate(per_hw, axis=-1).astype(low), u.astype(low), per_n.astype(low))

    h_t, *residuals = lax.scan(body, h_0, (x_t, keep_t), unroll=_unroll(len(x_t)))[1]
    return h_t, Residuals(masked(jnp.concatenate([h_0[None], h_t[:-1]]), keep_t).astype(low), *residuals)


def backward_scan(
    dh_t: Array, weight: Array, residuals: Residuals, keep_t: Array | None = None
) -> tuple[Array, Array, Array]:
    """The gradients of x_t, of h W and of h_0: dh_{t-1} = dh_t u_t + (dh_t per_hw_t) W^T."""
    low = weight.dtype

    def body(dh, step):
        (dh_out, per_hw, u, per_n), keep = step
        dh = dh + dh_out
        dhw = (jnp.concatenate([dh] * 3, axis=-1) * per_hw).astype(low)
        return masked(dh * u + project(dhw, weight.T), keep), (dhw, (dh * per_n).astype(low))

    steps = ((dh_t, *residuals[1:]), keep_t)
    dh_0, (dhw, dn) = lax.scan(body, jnp.zeros_like(dh_t[0]), steps, reverse=True, unroll=_unroll(len(dh_t)))
    return jnp.concatenate([dhw[..., : -dn.shape[-1]], dn], axis=-1), dhw, dh_0


def forward_kernel(
    x_t: Array, weight: Array, h_0: Array, keep_t: Array | None = None, interpret: bool = False
) -> Array:
    """`forward_scan` as one kernel."""
    return _forward_kernel(x_t, weight, h_0, keep_t, with_residuals=False, interpret=interpret)[0]


def forward_keeping_kernel(
    x_t: Array, weight: Array, h_0: Array, keep_t: Array | None = None, interpret: bool = False
) -> tuple[Array, Residuals]:
    """`forward_keeping_scan` as one kernel."""
    h_t, *residuals = _forward_kernel(x_t, weight, h_0, keep_t, with_residuals=True, interpret=interpret)
    return h_t, Residuals(*residuals)


def _forward_kernel(
    x_t: Array, weight: Array, h_0: Array, keep_t: Array | None, with_residuals: bool, interpret: bool
) -> list[Array]:
    """h_t, and `Residuals` if asked for. Each of the kernel's programs takes a few streams through all T steps."""
    T, B, D = x_t.shape[0], x_t.shape[1], weight.shape[0]
    low = weight.dtype
    exact = interpret or low == jnp.float32
    columns = [pl.ds(i * D, D) for i in range(3)]
    keeps = [] if keep_t is None else [(keep_t, True)]

    def kernel(x_ref, weight_ref, h_0_ref, *refs):
        keep_ref, (h_ref, *residuals_refs) = (refs[0], refs[1:]) if keeps else (None, refs)
        w_r, w_u, w_n = (weight_ref[:, gate] for gate in columns)

        def load(t):
            return *(x_ref[t, :, gate] for gate in columns), None if keep_ref is None else keep_ref[t]

        def body(t, carry):
            h, (x_r, x_u, x_n, keep) = carry
            coming = load(jnp.minimum(t + 1, T - 1))  # the next step's, loaded while this one is computed
            h = masked(h, keep)
            half = h.astype(low)
            r = sigmoid(x_r.astype(jnp.float32) + dot(half, w_r), exact)
            h_n = dot(half, w_n)
            n = tanh(x_n.astype(jnp.float32) + r * h_n, exact)
            u = sigmoid(x_u.astype(jnp.float32) + dot(half, w_u), exact)
            if with_residuals:
                h_tm1_ref, per_hw_ref, u_ref, per_n_ref = residuals_refs
                per_n, per_hw = factors(h, r, u, n, h_n)
                h_tm1_ref[t] = half
                for gate, per in zip(columns, per_hw, strict=True):
                    per_hw_ref[t, :, gate] = per.astype(low)
                u_ref[t] = u.astype(low)
                per_n_ref[t] = per_n.astype(low)
            h = n + u * (h - n)
            h_ref[t] = h
            return h, coming

        lax.fori_loop(0, T, body, (h_0_ref[...], load(0)))

    like_h = ((T, B, D), low)
    return call_kernel(
        kernel,
        rows=STREAMS,
        inputs=[(x_t, True), (weight, False), (h_0, True), *keeps],
        outputs=[((T, B, D), jnp.float32), *([like_h, ((T, B, 3 * D), low), like_h, like_h] if with_residuals else [])],
        interpret=interpret,
    )


def backward_kernel(
    dh_t: Array, weight: Array, residuals: Residuals, keep_t: Array | None = None, interpret: bool = False
) -> tuple[Array, Array, Array]:
    """`backward_scan` as one kernel."""
    T, B, D = dh_t.shape
    low = weight.dtype
    columns = [pl.ds(i * D, D) for i in range(3)]
    keeps = [] if keep_t is None else [(keep_t, True)]

    def kernel(dh_out_ref, per_hw_ref, u_ref, per_n_ref, transposed_ref, *refs):
        keep_ref, (dx_ref, dhw_ref, dh_0_ref) = (refs[0], refs[1:]) if keeps else (None, refs)
        transposed = [transposed_ref[gate, :] for gate in columns]

        def load(t):
            keep = None if keep_ref is None else keep_ref[t]
            return keep, dh_out_ref[t], u_ref[t], per_n_ref[t], *(per_hw_ref[t, :, gate] for gate in columns)

        def body(i, carry):
            t = T - 1 - i
            dh, (keep, dh_out, u, per_n, *per_hw) = carry
            coming = load(jnp.maximum(t - 1, 0))
            dh = dh + dh_out
            d_r, d_u, d_n = ((dh * each).astype(low) for each in per_hw)
            w_r, w_u, w_n = transposed
            # Subtracted, or Triton would make one sum of the three products, each waiting for the one before.
            before = dh * u + dot(d_r, w_r) - dot(-d_u, w_u) - dot(-d_n, w_n)
            for gate, d, d_x in zip(columns, (d_r, d_u, d_n), (d_r, d_u, (dh * per_n).astype(low)), strict=True):
                dhw_ref[t, :, gate] = d
                dx_ref[t, :, gate] = d_x
            return masked(before, keep), coming

        dh_0_ref[...] = lax.fori_loop(0, T, body, (jnp.zeros((STREAMS, D), jnp.float32), load(T - 1)))[0]

    return call_kernel(
        kernel,
        rows=STREAMS,
        inputs=[*((x, True) for x in (dh_t, *residuals[1:])), (weight.T, False), *keeps],
        outputs=[((T, B, 3 * D), low), ((T, B, 3 * D), low), ((B, D), jnp.float32)],
        interpret=interpret,
    )


def _unroll(T: int) -> int:
    """Short loops (the K steps of a predictor) are written out: a loop's copies cost more than its steps."""
    return T if T <= 16 else 1
