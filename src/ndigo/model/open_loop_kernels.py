"""The open-loop predictor's loss and gradient on a GPU: three kernels between memory and memory.

    imagine        h_k = GRU(a_{t+k-1}, h_{k-1}) from h_0 = b_t        every k, the state on chip
    decode         logits, losses, and back to dh_k                    one k, nothing but h_k read
    imagine_back   dh_{k-1} from dh_k, the gates computed again        every k, the way back

What is written is what the weights' gradients need, which are products over all k and t at the end. Written by
XLA the same takes a dozen passes over arrays of K numbers a belief; memory is what a GPU waits for.

A channel's logits stand in a tile of their own, WIDTH wide; a frame comes as one whole number a channel: the object's
cell, or the binary channel's cells as bits.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jaxtyping import Array, Float, Int

from ndigo.kernels import call_kernel, dot
from ndigo.model.likelihood import Likelihood, Target
from ndigo.model.predictors import Predictor, Unrolled

ROWS = 64  # beliefs in one program
ROWS_BACK = 32  # on the way back, whose gates and gradients would not fit the registers otherwise
TABLE = 16  # rows of the table of actions, the rest empty: the smallest tile of the matrix units
WIDTH = 32  # logits of a channel, the rest empty
SIZES = (32, 64, 128, 256)  # of states and hidden layers: tiles are powers of 2


def has_kernels(likelihood: Likelihood, predictor: Predictor, b_n: Array) -> bool:
    """Whether they take this predictor, with its shapes and types."""
    return (
        isinstance(predictor, Unrolled)
        and predictor.from_belief is None
        and predictor.gru.weight.dtype == jnp.bfloat16
        and predictor.gru.weight.shape[0] in SIZES
        and predictor.decoder.hidden.weight.shape[1] in SIZES
        and len(predictor.from_action) <= TABLE
        and likelihood.view**2 < WIDTH
        and len(b_n) % ROWS == 0
    )


def open_loop_gradient(
    likelihood: Likelihood,
    predictor: Unrolled,
    b_n: Float[Array, "N D"],
    a_kn: Int[Array, "K N"],
    target_kn: Target,
    weight_kn: Float[Array, "K N"],
    interpret: bool = False,
) -> tuple[tuple[Array, Array], tuple[Any, Array]]:
    """(sum of weight[k, n] times loss, losses [K, N, C]), and the sum's gradients in the predictor and in b_n."""
    K, N, D = *a_kn.shape, b_n.shape[-1]
    weight, hidden, output = predictor.gru.weight, predictor.decoder.hidden, predictor.decoder.output
    low, columns = weight.dtype, tile_columns(likelihood)
    table = jnp.pad(predictor.from_action, [(0, TABLE - len(predictor.from_action)), (0, 0)])
    x_kn = jax.nn.one_hot(a_kn, TABLE, dtype=low)

    h_kn = imagine(x_kn, table, weight, b_n, interpret)
    flat = h_kn.reshape(K * N, D)
    loss, relu, dlogits, dhidden, dh, dhidden_bias, doutput_bias = decode(
        likelihood,
        flat,
        codes(target_kn).reshape(K * N, -1),
        weight_kn.reshape(K * N, 1),
        (hidden.weight, hidden.bias),
        (_tile(output.weight, columns), _tile(output.bias, columns)),
        interpret,
    )
    dhw, dn, h_km1, db_n = imagine_back(dh.reshape(K, N, D), x_kn, table, weight, b_n, h_kn, interpret)

    def product(a: Array, b: Array) -> Array:
        """All steps and beliefs in one."""
        return dot(a.reshape(K * N, -1).T, b.reshape(K * N, -1)).astype(low)

    dtable = jnp.concatenate([product(x_kn, dhw)[:, : 2 * D], product(x_kn, dn)], axis=1)
    is_logit = np.flatnonzero(columns >= 0)
    gradient = eqx.tree_at(
        lambda p: [p.gru.weight, p.from_action, *_layers(p.decoder)],
        predictor,
        [
            product(h_km1, dhw),
            dtable[: len(predictor.from_action)],
            product(flat, dhidden),
            dhidden_bias.sum(axis=0).astype(low),
            product(relu, dlogits)[:, is_logit],
            doutput_bias.sum(axis=0)[is_logit].astype(low),
        ],
    )
    losses = likelihood.merge(loss).reshape(K, N, -1)
    return ((losses.sum(axis=-1) * weight_kn).sum(), losses), (gradient, db_n)


def imagine(x_kn: Array, table: Array, weight: Array, h_0: Array, interpret: bool = False) -> Array:
    """h_k for k = 1..K: [K, N, D], in the weights' type; x_kn are one-hot rows that choose from the table."""
    K, N, D = *x_kn.shape[:2], weight.shape[0]

    def kernel(x_ref, table_ref, weight_ref, h_0_ref, h_ref):
        def body(k, h):
            _, u, n, _ = _gates(x_ref[k], table_ref, weight_ref, h.astype(weight.dtype))
            h = u * h + (1 - u) * n
            h_ref[k] = h.astype(weight.dtype)
            return h

        lax.fori_loop(0, K, body, h_0_ref[...])

    return call_kernel(
        kernel,
        rows=ROWS,
        inputs=[(x_kn, True), (table, False), (weight, False), (h_0, True)],
        outputs=[((K, N, D), weight.dtype)],
        interpret=interpret,
        num_warps=4,
    )[0]


def imagine_back(
    dh_kn: Array, x_kn: Array, table: Array, weight: Array, h_0: Array, h_kn: Array, interpret: bool = False
) -> tuple[Array, Array, Array, Array]:
    """Gradients in h W [K, N, 3D] and in n's input share [K, N, D]; h_{k-1}, which they go with; and the one in h_0."""
    K, N, D = h_kn.shape
    low = weight.dtype

    def kernel(dh_out_ref, x_ref, h_ref, h_0_ref, table_ref, weight_ref, transposed_ref, *outputs):
        dhw_ref, dn_ref, h_km1_ref, dh_0_ref = outputs
        first = h_0_ref[...].astype(low)

        def body(i, dh):
            k = K - 1 - i
            dh = dh + dh_out_ref[k]
            half = jnp.where(k == 0, first, h_ref[jnp.maximum(k - 1, 0)])
            h_km1_ref[k] = half
            r, u, n, h_n = _gates(x_ref[k], table_ref, weight_ref, half)
            dn = dh * (1 - u) * (1 - n * n)
            du = dh * (half.astype(jnp.float32) - n) * u * (1 - u)
            dr = dn * h_n * r * (1 - r)
            dn_ref[k] = dn.astype(low)
            dh = dh * u
            for gate, d in enumerate((dr, du, dn * r)):
                dhw_ref[k, :, pl.ds(gate * D, D)] = d.astype(low)
                dh = dh + dot(d.astype(low), transposed_ref[pl.ds(gate * D, D), :])
            return dh

        dh_0_ref[...] = lax.fori_loop(0, K, body, jnp.zeros(h_0_ref.shape, jnp.float32))

    return call_kernel(
        kernel,
        rows=ROWS_BACK,
        inputs=[
            *((x, True) for x in (dh_kn, x_kn, h_kn, h_0)),
            *((x, False) for x in (table, weight, weight.T)),
        ],
        outputs=[((K, N, 3 * D), low), ((K, N, D), low), ((K, N, D), low), ((N, D), jnp.float32)],
        interpret=interpret,
    )


def _gates(x: Array, table_ref: Any, weight_ref: Any, half: Array) -> tuple[Array, Array, Array, Array]:
    """r, u, n and h W_n of one step."""
    D = half.shape[-1]

    def share(gate: int) -> tuple[Array, Array]:
        return dot(x, table_ref[:, pl.ds(gate * D, D)]), dot(half, weight_ref[:, pl.ds(gate * D, D)])

    (x_r, h_r), (x_u, h_u), (x_n, h_n) = (share(gate) for gate in range(3))
    r, u = jax.nn.sigmoid(x_r + h_r), jax.nn.sigmoid(x_u + h_u)
    return r, u, jnp.tanh(x_n + r * h_n), h_n


def decode(
    likelihood: Likelihood,
    h_n: Float[Array, "N D"],
    code_n: Int[Array, "N C"],
    weight_n: Float[Array, "N 1"],
    hidden: tuple[Array, Array],
    output: tuple[Array, Array],
    interpret: bool = False,
) -> tuple[Array, ...]:
    """Losses [N, C], and what the gradients are made of.

    That is the hidden layer, and the weighted sum's gradients in the logits (tiled), in the hidden layer, in h_n, and
    in both biases (one row a program, to be summed).
    """
    N, D = h_n.shape
    F, C = hidden[0].shape[1], code_n.shape[1]
    low, num_programs = h_n.dtype, N // ROWS
    is_categorical = sorted(likelihood.is_one_hot)

    def kernel(h_ref, code_ref, weight_ref, w_ref, w_bias_ref, v_ref, v_bias_ref, w_back_ref, v_back_ref, *outputs):
        loss_ref, hidden_ref, dlogits_ref, dhidden_ref, dh_ref, dw_bias_ref, dv_bias_ref = outputs
        before = dot(h_ref[...], w_ref[...]) + w_bias_ref[...].astype(jnp.float32)
        hidden = jnp.maximum(before, 0).astype(low)
        hidden_ref[...] = hidden
        dhidden = jnp.zeros((ROWS, F), jnp.float32)
        for c in range(C):
            tile = pl.ds(c * WIDTH, WIDTH)
            logits = dot(hidden, v_ref[:, tile]) + v_bias_ref[:, tile].astype(jnp.float32)
            nats, d = (_categorical if is_categorical[c] else _bernoulli)(
                logits, code_ref[:, pl.ds(c, 1)], likelihood.view**2
            )
            loss_ref[:, pl.ds(c, 1)] = nats
            d = d * weight_ref[...]
            dlogits_ref[:, tile] = d.astype(low)
            dv_bias_ref[:, tile] = d.sum(axis=0, keepdims=True)
            dhidden = dhidden + dot(d.astype(low), v_back_ref[tile, :])
        dhidden = jnp.where(before > 0, dhidden, 0)
        dhidden_ref[...] = dhidden.astype(low)
        dw_bias_ref[...] = dhidden.sum(axis=0, keepdims=True)
        dh_ref[...] = dot(dhidden.astype(low), w_back_ref[...]).astype(low)

    whole = (hidden[0], hidden[1][None], output[0], output[1][None], hidden[0].T, output[0].T)
    return call_kernel(
        kernel,
        rows=ROWS,
        inputs=[*((x, True) for x in (h_n, code_n, weight_n)), *((x, False) for x in whole)],
        outputs=[
            ((N, C), jnp.float32),
            ((N, F), low),
            ((N, C * WIDTH), low),
            ((N, F), low),
            ((N, D), low),
            ((num_programs, F), jnp.float32),
            ((num_programs, C * WIDTH), jnp.float32),
        ],
        interpret=interpret,
        num_warps=4,
    )


def _categorical(logits: Array, where: Array, num_cells: int) -> tuple[Array, Array]:
    """-ln p(where) and its gradient in the logits; the cell `num_cells` stands for "absent"."""
    column = lax.broadcasted_iota(jnp.int32, logits.shape, 1)
    logits = jnp.where(column <= num_cells, logits, -1e30)
    largest = logits.max(axis=1, keepdims=True)
    share = jnp.exp(logits - largest)
    total = share.sum(axis=1, keepdims=True)
    hit = column == where
    nats = largest + jnp.log(total) - jnp.where(hit, logits, 0).sum(axis=1, keepdims=True)
    return nats, share / total - hit.astype(jnp.float32)


def _bernoulli(logits: Array, bits: Array, num_cells: int) -> tuple[Array, Array]:
    """-ln p of the cells in `bits` and its gradient in the logits."""
    column = lax.broadcasted_iota(jnp.int32, logits.shape, 1)
    is_cell = column < num_cells
    cell = (jnp.right_shift(bits, column) & 1).astype(jnp.float32)
    softplus = jnp.maximum(logits, 0) + jnp.log(1 + jnp.exp(-jnp.abs(logits)))
    nats = jnp.where(is_cell, softplus - logits * cell, 0).sum(axis=1, keepdims=True)
    return nats, jnp.where(is_cell, jax.nn.sigmoid(logits) - cell, 0)


def codes(target: Target) -> Int[Array, "... C"]:
    """One whole number a channel, in the logits' order: cells as bits, or where the object is."""
    bits = (target.cells.astype(jnp.int32) << jnp.arange(target.cells.shape[-1])).sum(axis=-1)
    return jnp.concatenate([bits, target.where], axis=-1)


def tile_columns(likelihood: Likelihood) -> np.ndarray:
    """Which logit stands in each column of the tiles, -1 in the empty ones."""
    columns, start = [], 0
    for is_categorical in sorted(likelihood.is_one_hot):
        width = likelihood.view**2 + is_categorical
        columns += [*range(start, start + width), *[-1] * (WIDTH - width)]
        start += width
    return np.array(columns)


def _tile(x: Float[Array, "... O"], columns: np.ndarray) -> Float[Array, "... C*W"]:
    return jnp.where(columns >= 0, x[..., columns], 0)


def _layers(decoder: Any) -> list[Array]:
    return [decoder.hidden.weight, decoder.hidden.bias, decoder.output.weight, decoder.output.bias]
