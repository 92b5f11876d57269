"""The open-loop predictor's loss and gradient on a CPU, written by hand for a block of beliefs.

    forward, k = 1..K    h_k = GRU(a_{t+k-1}, h_{k-1}) from h_0 = b_t;  losses, and back through the decoder to dh_k
    back,    k = K..1    dh_{k-1} from dh_k, with the gates that the way forward kept

A belief is a column. So the gates are rows that lie together, sums over a channel's cells go down the columns, which
fills the vector registers, and every product, those of the weights' gradients too, has a left factor that need not be
transposed: XLA hands such products, and only such, to the library that shares them between cores (YNNPACK). Both loops
stay loops: written out, XLA would compute the chain of dh anew at each of its steps.
"""

from __future__ import annotations

from functools import partial
from typing import Any, TypeGuard

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

from ndigo.frames import Likelihood
from ndigo.frames.bits import BitsLikelihood, Target
from ndigo.model.predictors import Predictor, Unrolled
from ndigo.networks import gates


def has_columns(likelihood: Likelihood, predictor: Predictor) -> TypeGuard[BitsLikelihood]:
    """Whether this file can compute them: `open_loop` in float32, with the one likelihood whose formula is below."""
    return (
        type(likelihood) is BitsLikelihood
        and type(predictor) is Unrolled
        and predictor.from_belief is None
        and predictor.gru.weight.dtype == jnp.float32
    )


def open_loop_block(
    likelihood: BitsLikelihood,
    predictor: Unrolled,
    b_n: Float[Array, "N D"],
    a_kn: Int[Array, "K N"],
    target_kn: Target,
    weight_kn: Float[Array, "K N"],
) -> tuple[tuple[Array, Array], tuple[Any, Array]]:
    """(sum of weight[k, n] times loss, losses [K, N, C]), and the sum's gradients in the predictor and in b_n."""
    K, N, D = *a_kn.shape, b_n.shape[-1]
    weight, table, hidden, output = _weights(predictor)
    bias, output_bias = predictor.decoder.hidden.bias[:, None], predictor.decoder.output.bias[:, None]
    ones = jnp.ones(N)
    add = partial(jax.tree.map, jnp.add)

    def one_hot(a: Int[Array, " N"]) -> Float[Array, "A N"]:
        return (a == jnp.arange(len(table))[:, None]).astype(jnp.float32)

    def forward(carry: Any, inputs: Any) -> Any:
        h_km1, total = carry
        a, cells, where, weight_n = inputs
        hw, x = jnp.split(weight.T @ h_km1, 3), jnp.split(table.T @ one_hot(a), 3)
        r, u, n = gates(x, hw)
        h = u * h_km1 + (1 - u) * n
        relu = jax.nn.relu(hidden.T @ h + bias)
        nats, d = _nats(likelihood, output.T @ relu + output_bias, cells, where)
        d = d * weight_n
        dhidden = jnp.where(relu > 0, output @ d, 0)
        total = add(total, (dhidden @ h.T, dhidden @ ones, d @ relu.T, d @ ones))
        return (h, total), (nats, h_km1, r, u, n, hw[2], hidden @ dhidden)

    def back(carry: Any, inputs: Any) -> Any:
        dh, total = carry
        a, h_km1, r, u, n, h_n, dh_out = inputs
        dh = dh + dh_out
        dn = dh * (1 - u) * (1 - n * n)
        du = dh * (h_km1 - n) * u * (1 - u)
        dr = dn * h_n * r * (1 - r)
        dhw, x = jnp.concatenate([dr, du, dn * r]), one_hot(a)
        total = add(total, (dhw @ h_km1.T, dhw @ x.T, dn @ x.T))
        return (dh * u + weight @ dhw, total), None

    # Transposed, as the loops add them up.
    zeros = [jnp.zeros(x.shape) for x in (hidden.T, bias[:, 0], output.T, output_bias[:, 0])]
    zeros_back = [jnp.zeros(x.shape) for x in (weight.T, table.T, table.T[:D])]
    target = [jnp.swapaxes(x.reshape(K, N, -1), 1, 2) for x in (target_kn.cells, target_kn.where)]
    (_, decoder), (nats, *residuals) = lax.scan(forward, (b_n.T, tuple(zeros)), (a_kn, *target, weight_kn))
    (db, (dweight, dtable, dtable_n)), _ = lax.scan(
        back, (jnp.zeros((D, N)), tuple(zeros_back)), (a_kn, *residuals), reverse=True
    )
    dtable = jnp.concatenate([dtable[: 2 * D], dtable_n])
    gradient = eqx.tree_at(
        lambda p: [*_weights(p), p.decoder.hidden.bias, p.decoder.output.bias],
        predictor,
        [dweight.T, dtable.T, decoder[0].T, decoder[2].T, decoder[1], decoder[3]],
    )
    losses = likelihood.merge(jnp.swapaxes(nats, 1, 2))
    return ((losses.sum(axis=-1) * weight_kn).sum(), losses), (gradient, db.T)


def _weights(predictor: Unrolled) -> tuple[Array, Array, Array, Array]:
    return (
        predictor.gru.weight,
        predictor.from_action,
        predictor.decoder.hidden.weight,
        predictor.decoder.output.weight,
    )


def _nats(
    likelihood: BitsLikelihood, logits: Float[Array, "O N"], cells: Float[Array, "S*V*V N"], where: Int[Array, "M N"]
) -> tuple[Float[Array, "C N"], Float[Array, "O N"]]:
    """`BitsLikelihood.nats` for beliefs as columns, channels in the logits' order; and its gradient in the logits."""
    num_cells, N = likelihood.num_cells, logits.shape[-1]
    cut = len(logits) - len(where) * (num_cells + 1)
    nats_binary, d_binary = _mixture(
        logits[:cut].reshape(-1, likelihood.num_mixed, likelihood.pictures.picture_size, N),
        cells.reshape(-1, 1, num_cells, N),
    )
    one_hot = logits[cut:].reshape(len(where), num_cells + 1, N)
    hit = where[:, None] == jnp.arange(num_cells + 1)[:, None]
    largest = one_hot.max(axis=1, keepdims=True)
    share = jnp.exp(one_hot - largest)
    total = share.sum(axis=1, keepdims=True)
    nats_one_hot = (largest + jnp.log(total))[:, 0] - jnp.where(hit, one_hot, 0).sum(axis=1)
    return (
        jnp.concatenate([nats_binary, nats_one_hot]),
        jnp.concatenate([d_binary.reshape(-1, N), (share / total - hit).reshape(-1, N)]),
    )


def _mixture(
    logits: Float[Array, "S M V*V+1 N"], cells: Float[Array, "S 1 V*V N"]
) -> tuple[Float[Array, "S N"], Float[Array, "S M V*V+1 N"]]:
    """Nats of binary channels, each a mixture of pictures, and their gradient in the logits."""
    num_cells = cells.shape[2]
    binary = logits[:, :, :num_cells]
    softplus = jnp.maximum(binary, 0) + jnp.log1p(jnp.exp(-jnp.abs(binary)))
    nats, d = (softplus - binary * cells).sum(axis=2), jax.nn.sigmoid(binary) - cells
    if logits.shape[1] == 1:
        return nats[:, 0], d
    log_w = jax.nn.log_softmax(logits[:, :, -1], axis=1)
    log_p = jax.nn.logsumexp(log_w - nats, axis=1, keepdims=True)
    share = jnp.exp(log_w - nats - log_p)
    return -log_p[:, 0], jnp.concatenate([share[:, :, None] * d, (jnp.exp(log_w) - share)[:, :, None]], axis=2)
