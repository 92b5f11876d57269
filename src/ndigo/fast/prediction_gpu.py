"""The open-loop predictor's loss and gradient on a GPU: three kernels between memory and memory.

    imagine        h_k = GRU(a_{t+k-1}, h_{k-1}) from h_0 = b_t        every k, weights on chip
    decode         logits, losses, and back to dh_k                    one k, nothing but h_k read
    imagine_back   dh_{k-1} from dh_k                                  every k, weights on chip

The kernels write what the weights' gradients need, which are products over all k and t at the end, and the local
derivatives of h_k: five arrays. Writing and reading them takes less time than computing the gates again, which would
need more registers than there are. To spare registers, too, columns are taken a tile at a time.
"""

from __future__ import annotations

from typing import Any, TypeGuard

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jaxtyping import Array, Float, Int

from ndigo.fast.decoding_gpu import BELIEFS, WIDTH, codes, decode, in_tiles, tile_columns
from ndigo.fast.gru import factors
from ndigo.fast.pallas import call_kernel, dot, sigmoid, tanh, wait
from ndigo.frames import Likelihood
from ndigo.frames.bits import BitsLikelihood, Target
from ndigo.model.predictors import Predictor, Unrolled

STATE_COLUMNS = 32  # of a tile of the state
TABLE = 16  # rows of the table of actions, the rest empty: the smallest tile of the matrix units
STATE_SIZES = (32, 64, 128)  # tiles are powers of 2, and the weights of 256 would not fit on chip
HIDDEN_SIZES = (64, 128, 256)


def has_kernels(likelihood: Likelihood, predictor: Predictor, b_n: Array) -> TypeGuard[BitsLikelihood]:
    """Whether the kernels can compute these, by shapes, types and the one likelihood whose formula they hold."""
    return (
        type(likelihood) is BitsLikelihood
        and type(predictor) is Unrolled
        and predictor.from_belief is None
        and predictor.gru.weight.dtype == jnp.bfloat16
        and predictor.gru.weight.shape[0] in STATE_SIZES
        and predictor.decoder.hidden.weight.shape[1] in HIDDEN_SIZES
        and len(predictor.from_action) <= TABLE
        and likelihood.num_cells < WIDTH
        and len(b_n) % BELIEFS == 0
    )


def open_loop_gradient(
    likelihood: BitsLikelihood,
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

    h_kn, h_km1, per_hw, u_kn, per_n = imagine(x_kn, table, weight, b_n, interpret)
    flat = h_kn.reshape(K * N, D)
    loss, relu, dlogits, dhidden, dh, dhidden_bias, doutput_bias = decode(
        likelihood,
        flat,
        codes(target_kn).reshape(K * N, -1),
        weight_kn.reshape(K * N, 1),
        (hidden.weight, hidden.bias),
        (in_tiles(output.weight, columns), in_tiles(output.bias, columns)),
        interpret,
    )
    dhw, dn, db_n = imagine_back(dh.reshape(K, N, D), per_hw, u_kn, per_n, weight, interpret)

    def product(a: Array, b: Array) -> Array:
        """All steps and beliefs in one."""
        return dot(a.reshape(K * N, -1).T, b.reshape(K * N, -1)).astype(low)

    # Behind the barrier it is another array: XLA would join both products with dhw, at the price of a copy of h_km1.
    dtable = jnp.concatenate([product(x_kn, lax.optimization_barrier(dhw))[:, : 2 * D], product(x_kn, dn)], axis=1)
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


def imagine(
    x_kn: Array, table: Array, weight: Array, h_0: Array, interpret: bool = False
) -> tuple[Array, Array, Array, Array, Array]:
    """Five arrays for k = 1..K, in the weights' type: h_k, h_{k-1}, and the local derivatives of h_k.

    These are dh_k / d(h_{k-1} W) [K, N, 3D], dh_k / dh_{k-1} with h_{k-1} W held fixed, and dh_k / dx_n; all but the
    first of them [K, N, D]. The one-hot rows x_kn choose from the table.
    """
    K, N, D = *x_kn.shape[:2], weight.shape[0]
    low = weight.dtype
    rows = 2 * BELIEFS if N % (2 * BELIEFS) == 0 else BELIEFS
    tiles = [pl.ds(start, STATE_COLUMNS) for start in range(0, D, STATE_COLUMNS)]

    def kernel(x_ref, table_ref, weight_ref, h_0_ref, h_ref, h_km1_ref, per_hw_ref, u_ref, per_n_ref):
        def of_gate(gate, tile):
            return pl.ds(gate * D + tile.start, tile.size)

        w = [[weight_ref[:, of_gate(gate, tile)] for gate in range(3)] for tile in tiles]
        a = [[table_ref[:, of_gate(gate, tile)] for gate in range(3)] for tile in tiles]

        def body(k, h):
            for tile, part in zip(tiles, h, strict=True):
                h_km1_ref[k, :, tile] = part.astype(low)
            wait(interpret)
            half, x, tiles_k = h_km1_ref[k], x_ref[k], []
            for tile, part, (w_r, w_u, w_n), (a_r, a_u, a_n) in zip(tiles, h, w, a, strict=True):
                r = sigmoid(dot(x, a_r) + dot(half, w_r), interpret)
                h_n = dot(half, w_n)
                n = tanh(dot(x, a_n) + r * h_n, interpret)
                u = sigmoid(dot(x, a_u) + dot(half, w_u), interpret)
                new = n + u * (part - n)
                per_n, per_hw = factors(part, r, u, n, h_n)
                for gate, per in enumerate(per_hw):
                    per_hw_ref[k, :, of_gate(gate, tile)] = per.astype(low)
                for ref, x_out in ((h_ref, new), (u_ref, u), (per_n_ref, per_n)):
                    ref[k, :, tile] = x_out.astype(low)
                tiles_k.append(new)
            return tuple(tiles_k)

        lax.fori_loop(0, K, body, tuple(h_0_ref[:, tile] for tile in tiles))

    like_h = ((K, N, D), low)
    return call_kernel(
        kernel,
        rows=rows,
        inputs=[(x_kn, True), (table, False), (weight, False), (h_0, True)],
        outputs=[like_h, like_h, ((K, N, 3 * D), low), like_h, like_h],
        interpret=interpret,
        num_warps=rows // 16,
    )


def imagine_back(
    dh_kn: Array, per_hw: Array, u_kn: Array, per_n: Array, weight: Array, interpret: bool = False
) -> tuple[Array, Array, Array]:
    """The gradients of h_{k-1} W [K, N, 3D], of x_n [K, N, D] and of h_0, from dh_k and `imagine`'s derivatives."""
    K, N, D = u_kn.shape
    low = weight.dtype

    def kernel(dh_out_ref, per_hw_ref, u_ref, per_n_ref, weight_ref, dhw_ref, dn_ref, dh_0_ref):
        gates = [pl.ds(gate * D, D) for gate in range(3)]
        transposed = [weight_ref[:, gate].T for gate in gates]

        def body(i, dh):
            k = K - 1 - i
            dh = dh + dh_out_ref[k]
            dn_ref[k] = (dh * per_n_ref[k]).astype(low)
            before = dh * u_ref[k]
            for gate, w in zip(gates, transposed, strict=True):
                d = (dh * per_hw_ref[k, :, gate]).astype(low)
                dhw_ref[k, :, gate] = d
                before = before + dot(d, w)
            return before

        dh_0_ref[...] = lax.fori_loop(0, K, body, jnp.zeros(dh_0_ref.shape, jnp.float32))

    return call_kernel(
        kernel,
        rows=BELIEFS,
        inputs=[*((x, True) for x in (dh_kn, per_hw, u_kn, per_n)), (weight, False)],
        outputs=[((K, N, 3 * D), low), ((K, N, D), low), ((N, D), jnp.float32)],
        interpret=interpret,
        num_warps=4,
    )


def _layers(decoder: Any) -> list[Array]:
    return [decoder.hidden.weight, decoder.hidden.bias, decoder.output.weight, decoder.output.bias]
