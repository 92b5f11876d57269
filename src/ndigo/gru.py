"""The recurrent unroll: one function, three implementations that tests hold equal.

    r, u = sigmoid(x_r + h W_r), sigmoid(x_u + h W_u)
    n    = tanh(x_n + r * (h W_n))
    h'   = u * h + (1 - u) * n

On a GPU a Pallas kernel keeps W on chip and the state in registers for the whole window; on the way back every gate
is recomputed in one product over all steps, because memory is what a GPU waits for. Where shapes or types do not suit
the kernel, `lax.scan` keeps every gate instead: a CPU waits for arithmetic. Either way W's gradient is one product
after the loop; automatic differentiation would add a [D, 3D] gradient at every step. The state is float32 throughout;
products are taken in W's type and summed in float32.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jaxtyping import Array, Float

from ndigo.kernels import call_kernel, dot

ROWS = 16  # streams in one kernel program: the smallest tile of the matrix units


def gates(x: Array, hw: Array) -> tuple[Array, Array, Array, Array]:
    """r, u, n and h W_n, from the input's and the state's share of the pre-activations."""
    x_r, x_u, x_n = jnp.split(x.astype(jnp.float32), 3, axis=-1)
    h_r, h_u, h_n = jnp.split(hw, 3, axis=-1)
    r, u = jax.nn.sigmoid(x_r + h_r), jax.nn.sigmoid(x_u + h_u)
    return r, u, jnp.tanh(x_n + r * h_n), h_n


def project(h: Array, weight: Array) -> Array:
    """h W, with W's type for the factors and float32 for the sum."""
    return jnp.matmul(h.astype(weight.dtype), weight, preferred_element_type=jnp.float32)


def gru_step(x: Float[Array, "... 3*D"], weight: Float[Array, "D 3*D"], h: Float[Array, "... D"]) -> Array:
    """The state after one more input."""
    _, u, n, _ = gates(x, project(h, weight))
    return u * h + (1 - u) * n


def gru_unroll(x_t: Float[Array, "T B 3*D"], weight: Float[Array, "D 3*D"], h_0: Float[Array, "B D"]) -> Array:
    """The state after each input: [T, B, D]."""
    D = weight.shape[0]
    is_tiled = x_t.shape[1] % ROWS == 0 and D in (16, 32, 64, 128)
    fits_on_chip = weight.dtype == jnp.bfloat16  # 128 x 384 numbers of 2 bytes do, of 4 bytes do not
    return (unroll_recomputing if is_tiled and fits_on_chip else unroll_keeping)(x_t, weight, h_0)


@jax.custom_vjp
def unroll_keeping(x_t: Array, weight: Array, h_0: Array) -> Array:
    """By a scan that keeps its gates for the way back."""
    return forward_scan(x_t, weight, h_0)


def _keep(x_t, weight, h_0):
    def body(h, x):
        r, u, n, h_n = gates(x, project(h, weight))
        h = u * h + (1 - u) * n
        return h, (h, r, u, n, h_n)

    h_t, *kept = lax.scan(body, h_0, x_t, unroll=_unroll(len(x_t)))[1]
    return h_t, (jnp.zeros(0, x_t.dtype), weight, h_0, h_t, *kept)


def _backward_keeping(saved, dh_t):
    like_x, weight, h_0, h_t, *kept = saved
    h_tm1 = jnp.concatenate([h_0[None], h_t[:-1]])

    def body(dh, step):
        dh_out, h, r, u, n, h_n = step
        dh = dh + dh_out
        dn = dh * (1 - u) * (1 - n * n)
        du = dh * (h - n) * u * (1 - u)
        dr = dn * h_n * r * (1 - r)
        dhw = jnp.concatenate([dr, du, dn * r], axis=-1)
        return dh * u + project(dhw, weight.T), (dhw, dn)

    steps = (dh_t, h_tm1, *kept)
    dh_0, (dhw, dn) = lax.scan(body, jnp.zeros_like(h_0), steps, reverse=True, unroll=_unroll(len(dh_t)))
    dx = jnp.concatenate([dhw[..., : -h_0.shape[-1]], dn], axis=-1)
    return dx.astype(like_x.dtype), _weight_gradient(h_tm1, dhw, weight.dtype), dh_0


unroll_keeping.defvjp(_keep, _backward_keeping)


@jax.custom_vjp
def unroll_recomputing(x_t: Array, weight: Array, h_0: Array) -> Array:
    """By the kernel where there is a GPU for it; what else runs it does the same in a scan."""
    return lax.platform_dependent(x_t, weight, h_0, cuda=forward_kernel, default=forward_scan)


def _save(x_t, weight, h_0):
    h_t = unroll_recomputing(x_t, weight, h_0)
    return h_t, (x_t, weight, h_0, h_t)


def _backward(saved, dh_t):
    x_t, weight, h_0, h_t = saved
    h_tm1 = jnp.concatenate([h_0[None], h_t[:-1]])
    low = weight.dtype  # what passes between the bulk products and the loop has the weights' type
    r, u, n, h_n = gates(x_t, (h_tm1.astype(low) @ weight).astype(jnp.float32))
    # What each pre-activation gets for one unit of dh.
    per_n = (1 - u) * (1 - n * n)
    per_u = (h_tm1 - n) * u * (1 - u)
    per_r = per_n * h_n * r * (1 - r)
    per_hw = jnp.concatenate([per_r, per_u, per_n * r], axis=-1).astype(low)
    dh, dh_0 = lax.platform_dependent(dh_t, weight, u.astype(low), per_hw, cuda=backward_kernel, default=backward_scan)
    dhw = (jnp.concatenate([dh] * 3, axis=-1) * per_hw).astype(low)
    dx = jnp.concatenate([dhw[..., : -dh.shape[-1]], (dh * per_n).astype(low)], axis=-1)
    return dx.astype(x_t.dtype), _weight_gradient(h_tm1, dhw, low), dh_0


unroll_recomputing.defvjp(_save, _backward)


def _weight_gradient(h_tm1: Array, dhw: Array, dtype: Any) -> Array:
    """All steps and streams in one product."""
    flat, dflat = (x.reshape(-1, x.shape[-1]).astype(dtype) for x in (h_tm1, dhw))
    return jnp.matmul(flat.T, dflat, preferred_element_type=jnp.float32).astype(dtype)


def forward_scan(x_t: Array, weight: Array, h_0: Array) -> Array:
    def body(h, x):
        h = gru_step(x, weight, h)
        return h, h

    return lax.scan(body, h_0, x_t, unroll=_unroll(len(x_t)))[1]


def backward_scan(dh_t: Array, weight: Array, u_t: Array, per_hw: Array) -> tuple[Array, Array]:
    """dh at every step and before the first: dh_{t-1} = dh_t u_t + (dh_t per_hw_t) W^T."""

    def body(dh, step):
        dh_out, u, per_hw = step
        dh = dh + dh_out
        return dh * u + project(jnp.concatenate([dh] * 3, axis=-1) * per_hw, weight.T), dh

    dh_0, dh = lax.scan(body, jnp.zeros_like(dh_t[0]), (dh_t, u_t, per_hw), reverse=True, unroll=_unroll(len(dh_t)))
    return dh, dh_0


def forward_kernel(x_t: Array, weight: Array, h_0: Array, interpret: bool = False) -> Array:
    """`forward_scan` as one kernel: a program takes some of the streams through all T steps."""
    T, B, D = x_t.shape[0], x_t.shape[1], weight.shape[0]

    def kernel(x_ref, weight_ref, h_0_ref, h_ref):
        w_r, w_u, w_n = (weight_ref[:, pl.ds(i * D, D)] for i in range(3))

        def load(t):
            return tuple(x_ref[t, :, pl.ds(i * D, D)] for i in range(3))

        def body(t, carry):
            h, (x_r, x_u, x_n) = carry
            ahead = load(jnp.minimum(t + 1, T - 1))  # on its way from memory while this step is computed
            half = h.astype(weight.dtype)
            r = jax.nn.sigmoid(x_r.astype(jnp.float32) + dot(half, w_r))
            u = jax.nn.sigmoid(x_u.astype(jnp.float32) + dot(half, w_u))
            n = jnp.tanh(x_n.astype(jnp.float32) + r * dot(half, w_n))
            h = u * h + (1 - u) * n
            h_ref[t] = h
            return h, ahead

        lax.fori_loop(0, T, body, (h_0_ref[...], load(0)))

    return call_kernel(
        kernel,
        rows=ROWS,
        inputs=[(x_t, True), (weight, False), (h_0, True)],
        outputs=[((T, B, D), jnp.float32)],
        interpret=interpret,
    )[0]


def backward_kernel(
    dh_t: Array, weight: Array, u_t: Array, per_hw: Array, interpret: bool = False
) -> tuple[Array, Array]:
    """`backward_scan` as one kernel."""
    T, B, D = dh_t.shape

    def kernel(dh_out_ref, u_ref, per_hw_ref, transposed_ref, dh_ref, dh_0_ref):
        w_r, w_u, w_n = (transposed_ref[pl.ds(i * D, D), :] for i in range(3))

        def load(t):
            return dh_out_ref[t], u_ref[t], *(per_hw_ref[t, :, pl.ds(j * D, D)] for j in range(3))

        def body(i, carry):
            t = T - 1 - i
            dh, (dh_out, u, *per) = carry
            ahead = load(jnp.maximum(t - 1, 0))
            dh = dh + dh_out
            dh_ref[t] = dh
            d_r, d_u, d_n = ((dh * each).astype(weight.dtype) for each in per)
            return dh * u + dot(d_r, w_r) + dot(d_u, w_u) + dot(d_n, w_n), ahead

        dh_0_ref[...] = lax.fori_loop(0, T, body, (jnp.zeros((ROWS, D), jnp.float32), load(T - 1)))[0]

    return call_kernel(
        kernel,
        rows=ROWS,
        inputs=[(dh_t, True), (u_t, True), (per_hw, True), (weight.T, False)],
        outputs=[((T, B, D), jnp.float32), ((B, D), jnp.float32)],
        interpret=interpret,
    )


def _unroll(T: int) -> int:
    """Short loops (the K steps of a predictor) are written out: a loop's copies cost more than its steps."""
    return T if T <= 16 else 1
