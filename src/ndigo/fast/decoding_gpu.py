"""The decoder's kernel on a GPU: from a state to the losses of its frame, and back to the state's gradient.

The logits of a channel, or of each of its mixed pictures, stand in a tile of their own, WIDTH wide; a frame comes as
one whole number per channel: the object's cell, or the binary channel's cells as bits.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jaxtyping import Array, Float, Int

from ndigo.fast.pallas import call_kernel, dot, wait
from ndigo.frames.bits import BitsLikelihood, Target

BELIEFS = 64  # beliefs in one program; with 4 warps the shape that Hopper's matrix units take
HIDDEN_COLUMNS = 64  # of a tile of the decoder's hidden layer
WIDTH = 32  # logits of a channel, the rest empty


def decode(
    likelihood: BitsLikelihood,
    h_n: Float[Array, "N D"],
    code_n: Int[Array, "N C"],
    weight_n: Float[Array, "N 1"],
    hidden: tuple[Array, Array],
    output: tuple[Array, Array],
    interpret: bool = False,
) -> tuple[Array, ...]:
    """Losses [N, C], the hidden layer, and the gradients of the weighted sum of losses.

    Those of the logits (in tiles), of the hidden layer before its ReLU, of h_n, and of both biases (one row per
    program, to be summed).
    """
    N, D = h_n.shape
    F, C = hidden[0].shape[1], code_n.shape[1]
    low, num_programs = h_n.dtype, N // BELIEFS
    is_one_hot, tiles_c = sorted(likelihood.is_one_hot), channel_tiles(likelihood)
    num_logits = WIDTH * sum(map(len, tiles_c))

    def kernel(h_ref, code_ref, weight_ref, w_ref, w_bias_ref, v_ref, v_bias_ref, w_back_ref, v_back_ref, *outputs):
        loss_ref, hidden_ref, dlogits_ref, dhidden_ref, dh_ref, dw_bias_ref, dv_bias_ref = outputs
        h = h_ref[...]
        tiles = [pl.ds(i * WIDTH, WIDTH) for i in range(num_logits // WIDTH)]

        def up(i, logits):
            tile = pl.ds(i * HIDDEN_COLUMNS, HIDDEN_COLUMNS)
            before = dot(h, w_ref[:, tile]) + w_bias_ref[:, tile].astype(jnp.float32)
            hidden = jnp.maximum(before, 0).astype(low)
            hidden_ref[:, tile] = hidden
            return tuple(sum_ + dot(hidden, v_ref[tile, out]) for sum_, out in zip(logits, tiles, strict=True))

        zeros = tuple(jnp.zeros((BELIEFS, WIDTH), jnp.float32) for _ in tiles)
        logits = lax.fori_loop(0, F // HIDDEN_COLUMNS, up, zeros)
        logits = [part + v_bias_ref[:, out].astype(jnp.float32) for part, out in zip(logits, tiles, strict=True)]
        dlogits = []
        for c, of_channel in enumerate(tiles_c):
            nats_of = _categorical if is_one_hot[c] else _bernoulli
            nats, ds = nats_of([logits[i] for i in of_channel], code_ref[:, pl.ds(c, 1)], likelihood.num_cells)
            loss_ref[:, pl.ds(c, 1)] = nats
            dlogits += [d * weight_ref[...] for d in ds]
        for d, out in zip(dlogits, tiles, strict=True):
            dv_bias_ref[:, out] = d.sum(axis=0, keepdims=True)
            dlogits_ref[:, out] = d.astype(low)
        wait(interpret)

        def down(i, dh):
            tile = pl.ds(i * HIDDEN_COLUMNS, HIDDEN_COLUMNS)
            d = jnp.zeros((BELIEFS, HIDDEN_COLUMNS), jnp.float32)
            for part, out in zip(dlogits, tiles, strict=True):
                d = d + dot(part.astype(low), v_back_ref[out, tile])
            d = jnp.where(hidden_ref[:, tile] > 0, d, 0)
            dw_bias_ref[:, tile] = d.sum(axis=0, keepdims=True)
            dhidden_ref[:, tile] = d.astype(low)
            return dh + dot(d.astype(low), w_back_ref[tile, :])

        dh = lax.fori_loop(0, F // HIDDEN_COLUMNS, down, jnp.zeros((BELIEFS, D), jnp.float32))
        dh_ref[...] = dh.astype(low)

    whole = (hidden[0], hidden[1][None], output[0], output[1][None], hidden[0].T, output[0].T)
    return call_kernel(
        kernel,
        rows=BELIEFS,
        inputs=[*((x, True) for x in (h_n, code_n, weight_n)), *((x, False) for x in whole)],
        outputs=[
            ((N, C), jnp.float32),
            ((N, F), low),
            ((N, num_logits), low),
            ((N, F), low),
            ((N, D), low),
            ((num_programs, F), jnp.float32),
            ((num_programs, num_logits), jnp.float32),
        ],
        interpret=interpret,
        num_warps=4,
        num_stages=3 if num_logits <= 4 * WIDTH else 2,  # on-chip memory for two programs at once
    )


def _categorical(logits_: Sequence[Array], where: Array, num_cells: int) -> tuple[Array, list[Array]]:
    """-ln p(where) and its gradient in the logits; the cell `num_cells` stands for "absent"."""
    (logits,) = logits_
    column = lax.broadcasted_iota(jnp.int32, logits.shape, 1)
    logits = jnp.where(column <= num_cells, logits, -1e30)
    largest = logits.max(axis=1, keepdims=True)
    share = jnp.exp(logits - largest)
    total = share.sum(axis=1, keepdims=True)
    hit = column == where
    nats = largest + jnp.log(total) - jnp.where(hit, logits, 0).sum(axis=1, keepdims=True)
    return nats, [share / total - hit.astype(jnp.float32)]


def _bernoulli(logits_m: Sequence[Array], bits: Array, num_cells: int) -> tuple[Array, list[Array]]:
    """-ln p of the cells in `bits` under a mixture of pictures, and its gradient in the logits.

    The column `num_cells` has a picture's weight; a single picture has an empty one there, which is a weight of 1.
    """
    column = lax.broadcasted_iota(jnp.int32, logits_m[0].shape, 1)
    is_cell, is_weight = column < num_cells, column == num_cells
    cell = (jnp.right_shift(bits, column) & 1).astype(jnp.float32)
    weights, pictures = [], []  # logits of the weights; those and ln p of the cells
    for logits in logits_m:
        softplus = jnp.maximum(logits, 0) + jnp.log(1 + jnp.exp(-jnp.abs(logits)))
        weights.append(jnp.where(is_weight, logits, 0).sum(axis=1, keepdims=True))
        pictures.append(weights[-1] - jnp.where(is_cell, softplus - logits * cell, 0).sum(axis=1, keepdims=True))
    prior, posterior = _log_total(weights), _log_total(pictures)
    ds = []
    for logits, weight, picture in zip(logits_m, weights, pictures, strict=True):
        share = jnp.exp(picture - posterior)
        d_weight = jnp.where(is_weight, jnp.exp(weight - prior) - share, 0)
        ds.append(jnp.where(is_cell, share * (jax.nn.sigmoid(logits) - cell), d_weight))
    return prior - posterior, ds


def _log_total(logits: Sequence[Array]) -> Array:
    """ln sum exp over a list."""
    largest = functools.reduce(jnp.maximum, logits)
    return largest + jnp.log(sum(jnp.exp(x - largest) for x in logits))


def codes(target: Target) -> Int[Array, "... C"]:
    """One whole number a channel, in the logits' order: cells as bits, or where the object is."""
    bits = (target.cells.astype(jnp.int32) << jnp.arange(target.cells.shape[-1])).sum(axis=-1)
    return jnp.concatenate([bits, target.where], axis=-1)


def channel_tiles(likelihood: BitsLikelihood) -> list[range]:
    """The tiles of each channel, in the logits' order."""
    tiles, start = [], 0
    for is_one_hot in sorted(likelihood.is_one_hot):
        tiles.append(range(start, start + (1 if is_one_hot else likelihood.num_mixed)))
        start = tiles[-1].stop
    return tiles


def tile_columns(likelihood: BitsLikelihood) -> np.ndarray:
    """Which logit stands in each column of the tiles, -1 in the empty ones."""
    columns, start = [], 0
    for is_one_hot, tiles in zip(sorted(likelihood.is_one_hot), channel_tiles(likelihood), strict=True):
        width = likelihood.num_cells + (is_one_hot or len(tiles) > 1)
        for _ in tiles:
            columns += [*range(start, start + width), *[-1] * (WIDTH - width)]
            start += width
    return np.array(columns)


def in_tiles(x: Float[Array, "... O"], columns: np.ndarray) -> Float[Array, "... C*W"]:
    return jnp.where(columns >= 0, x[..., columns], 0)
