"""The twin of `model.predict`: the prediction loss and its gradient in one pass over blocks of steps.

    loss = sum over k, t of weight[k, t] L_{t+k|t}

The weights are known before the pass, so each block of beliefs goes forward and straight back while its
activations are still in the cache; automatic differentiation would write all of them to memory (K times 400 numbers
a step) and read them again. On a CPU seeds go one after another. On a GPU kernels do it where the shapes suit them, or
one block holds everything that memory has room for: a frame of tiles has thousands of logits, K times a step.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import sequential_vmap
from jaxtyping import Array, Float, Int

from ndigo import model as plain
from ndigo.fast.pallas import on_gpu
from ndigo.fast.prediction_cpu import has_columns, open_loop_block
from ndigo.fast.prediction_gpu import has_kernels, open_loop_gradient
from ndigo.frames import Likelihood
from ndigo.model import Predictor, WorldModel, inside, pair_weights
from ndigo.model.world_model import shifted
from ndigo.types import Seen, Window

BLOCK = 800  # beliefs in a block, at most: enough for two cores to share a product, few enough to stay in the cache
MOST_LOGITS = 2**26  # of a block on a GPU, for one seed: a quarter of a gigabyte, of which the way back makes three


def predict(
    model: WorldModel, window: Window, num_pairs: Float[Array, " K"] | None = None
) -> tuple[Float[Array, ""], Seen]:
    """The prediction loss, 0 for a model without a predictor, and what the model saw of the window."""
    if model.predictor is None:
        return plain.predict(model, window, num_pairs)
    z_t = model.core.encoder(window.o_t)
    b_t = model.core.unroll(z_t, window.a_tm1, window.belief, window.is_first)
    T, K, streams = len(window.a_t), model.num_ahead, window.a_t.shape[1:]

    def flat(x_kt: Array) -> Array:
        return x_kt.reshape(K, T * math.prod(streams), *x_kt.shape[2 + len(streams) :])

    shape = (T, K, *streams)
    loss, loss_kt = joint_loss(  # pyright: ignore[reportGeneralTypeIssues] - custom_vjp hides its type
        model.likelihood,
        model.predictor,
        b_t[:-1].reshape(-1, b_t.shape[-1]),
        flat(shifted(window.a_t, K)),
        jax.tree.map(lambda x: flat(shifted(x, K)), model.likelihood.target(window.o_tp1)),
        flat(jnp.swapaxes(jnp.broadcast_to(pair_weights(shape, window.is_first, num_pairs), shape), 0, 1)),
    )
    loss_tk = jnp.swapaxes(lax.stop_gradient(loss_kt).reshape(K, T, *streams, -1), 0, 1)
    loss_tk = jnp.where(inside(shape, window.is_first)[..., None], loss_tk, 0.0)
    return loss, Seen(window=window, z_t=z_t, b_t=b_t, loss_tk=loss_tk)


def weighted_loss(
    likelihood: Likelihood,
    predictor: Predictor,
    b_n: Float[Array, "N D"],
    a_kn: Int[Array, "K N"],
    target_kn: Any,
    weight_kn: Float[Array, "K N"],
) -> tuple[Float[Array, ""], Float[Array, "K N C"]]:
    """The weighted sum, and the losses by channel."""
    loss_kn = predictor.predict(b_n, a_kn, likelihood.nats, target_kn)
    return (loss_kn.sum(axis=-1) * weight_kn).sum(), loss_kn


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def joint_loss(likelihood: Likelihood, predictor: Predictor, b_n: Array, *rest: Any) -> tuple[Array, Array]:
    """`weighted_loss` whose sum has a gradient; the losses by channel are numbers and have none."""
    return weighted_loss(likelihood, predictor, b_n, *rest)


def _forward(likelihood: Likelihood, predictor: Predictor, b_n: Array, *rest: Any) -> Any:
    learn = jax.value_and_grad(partial(weighted_loss, likelihood), argnums=(0, 1), has_aux=True)
    if not on_gpu():
        block: Any = partial(open_loop_block, likelihood) if has_columns(likelihood, predictor) else learn
        return sequential_vmap(partial(_in_blocks, block, BLOCK))(predictor, b_n, *rest)
    if has_kernels(likelihood, predictor, b_n):
        by_kernel: Any = partial(open_loop_gradient, likelihood)
        return by_kernel(predictor, b_n, *rest)
    most = MOST_LOGITS // (len(rest[0]) * likelihood.num_outputs)
    return learn(predictor, b_n, *rest) if len(b_n) <= most else _in_blocks(learn, most, predictor, b_n, *rest)


def _in_blocks(learn: Any, most: int, predictor: Predictor, b_n: Array, *rest: Any) -> Any:
    """What `learn` returns for all beliefs, computed in blocks of at most `most`, one after the other."""
    size = max(size for size in range(1, max(most, 1) + 1) if len(b_n) % size == 0)

    def block(total: Any, inputs: Any) -> Any:
        (loss, loss_kn), (d_predictor, db_n) = learn(predictor, *inputs)
        return jax.tree.map(jnp.add, total, (loss, d_predictor)), (loss_kn, db_n)

    zero = jax.tree.map(lambda x: jnp.zeros(x.shape, jnp.float32), (jnp.float32(0), predictor))
    inputs = (b_n.reshape(-1, size, b_n.shape[-1]), *jax.tree.map(partial(_cut, size), rest))
    (loss, d_predictor), (loss_kn, db_n) = lax.scan(block, zero, inputs)
    d_predictor = jax.tree.map(lambda d, x: d.astype(x.dtype), d_predictor, predictor)
    loss_kn = jnp.moveaxis(loss_kn, 0, 1).reshape(loss_kn.shape[1], len(b_n), loss_kn.shape[-1])
    return (loss, loss_kn), (d_predictor, db_n.reshape(b_n.shape))


def _cut(size: int, x_kn: Array) -> Array:
    """[K, N, ...] into blocks: [N / size, K, size, ...]."""
    K, N, *rest = x_kn.shape
    return jnp.moveaxis(x_kn.reshape(K, N // size, size, *rest), 1, 0)


def _backward(likelihood: Likelihood, gradients: Any, d: tuple[Array, Array]) -> Any:
    d_predictor, db_n = jax.tree.map(lambda x: (d[0] * x).astype(x.dtype), gradients)
    return d_predictor, db_n, None, None, None


joint_loss.defvjp(_forward, _backward)
