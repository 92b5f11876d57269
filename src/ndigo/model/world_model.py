"""The world model: a belief b_t that predicts what the agent will see (paper, "Learning the World Model").

    z_t = CNN(o_t),   b_t = GRU(z_t, a_{t-1}, b_{t-1}),   p_{t+k|t} = predictor(b_t, a_t .. a_{t+k-1})
    L_{t+k|t} = -ln p_{t+k|t}(o_{t+k})

`loss_tk[t, k-1]` is L_{t+k|t}, split by channel: the table that every reward and every diagnosis reads.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from ndigo.frames import Frame, Likelihood
from ndigo.model.predictors import Predictor, init_predictor
from ndigo.networks import Core
from ndigo.types import Seen, Window


class WorldModel(eqx.Module):
    core: Core
    predictor: Predictor | None  # None where the reward trains the belief by other means (ICM)
    likelihood: Likelihood = eqx.field(static=True)
    num_ahead: int = eqx.field(static=True)  # K

    def look(self, window: Window, num_ahead: int | None = None) -> Seen:
        """The belief after each frame of the window and, with a predictor, the losses for K (or `num_ahead`) steps."""
        z_t = self.core.encoder(window.o_t)
        b_t = self.core.unroll(z_t, window.a_tm1, window.belief, window.is_first)
        loss_tk = None
        if self.predictor is not None:
            K = num_ahead or self.num_ahead
            loss_tk = self.losses(b_t[:-1], window.a_t, window.o_tp1, K, window.is_first)
        return Seen(window=window, z_t=z_t, b_t=b_t, loss_tk=loss_tk)

    def losses(
        self,
        b_t: Float[Array, "T *B D"],
        a_t: Int[Array, "T *B"],
        o_tp1: Any,
        K: int,
        is_first: Bool[Array, "T+1 *B"] | None = None,
    ) -> Float[Array, "T K *B C"]:
        """L_{t+k|t} by channel; 0 where t+k lies beyond the window, or in another episode."""
        assert self.predictor is not None
        target_kt = jax.tree.map(lambda x: shifted(x, K), self.likelihood.target(o_tp1))
        loss_kt = self.predictor.predict(b_t, shifted(a_t, K), self.likelihood.nats, target_kt)
        loss_tk = jnp.swapaxes(loss_kt, 0, 1)
        return jnp.where(inside(loss_tk.shape[:-1], is_first)[..., None], loss_tk, 0.0)

    def expect(self, b_t: Float[Array, "*B D"], a_k: Int[Array, "K *B"]) -> Any:
        """What the model expects to see 1..K steps on: for bits, the chance [K, *B, V, V, C] that each cell is 1."""
        assert self.predictor is not None
        return self.predictor.predict(b_t, a_k, lambda logits, _: self.likelihood.chances(logits), None)


def init_world_model(
    key: Array,
    *,
    frame: Frame,
    num_actions: int,
    likelihood: Likelihood,
    predictor: str | None,
    num_ahead: int,
    num_features: int,
    num_filters: int,
    belief_size: int,
    num_hidden: int,
) -> WorldModel:
    key_core, key_predictor = jax.random.split(key)
    sizes = {"D": belief_size, "A": num_actions, "K": num_ahead}
    sizes |= {"num_hidden": num_hidden, "num_outputs": likelihood.num_outputs}
    return WorldModel(
        core=Core(key_core, frame, num_actions, num_features, belief_size, num_filters),
        predictor=None if predictor is None else init_predictor(predictor, key_predictor, **sizes),
        likelihood=likelihood,
        num_ahead=num_ahead,
    )


def predict(
    model: WorldModel, window: Window, num_pairs: Float[Array, " K"] | None = None
) -> tuple[Float[Array, ""], Seen]:
    """The prediction loss, 0 for a model without a predictor, and what the model saw of the window.

    Gradients flow through the loss alone: the table that rewards read (`Seen.loss_tk`) is numbers. `num_pairs` is for
    `pair_weights`.
    """
    seen = model.look(window)
    if seen.loss_tk is None:
        return jnp.float32(0.0), seen
    loss = prediction_loss(seen.loss_tk, window.is_first, num_pairs)
    return loss, eqx.tree_at(lambda s: s.loss_tk, seen, lax.stop_gradient(seen.loss_tk))


def prediction_loss(
    loss_tk: Float[Array, "T K *B C"],
    is_first: Bool[Array, "T+1 *B"] | None = None,
    num_pairs: Float[Array, " K"] | None = None,
) -> Float[Array, ""]:
    """The mean of L_{t+k|t} over the batch and all t that have a frame at t+k, summed over k."""
    return (loss_tk.sum(axis=-1) * pair_weights(loss_tk.shape[:-1], is_first, num_pairs)).sum()


def shifted(x_t: Any, K: int) -> Any:
    """x[j, t] = x_t[t+j] for j = 0..K-1, repeating the last one beyond the end."""
    padded = jnp.concatenate([x_t, jnp.broadcast_to(x_t[-1:], (K - 1, *x_t.shape[1:]))])
    return jnp.stack([padded[j : j + len(x_t)] for j in range(K)])


def inside(shape: Sequence[int], is_first: Bool[Array, "T+1 *B"] | None = None) -> Any:
    """Which pairs (t, t+k), k = 1..K, have both frames in the window and in one episode; [T, K, *B].

    Without `is_first` a window is one episode, and the answer is a constant [T, K, 1 ...] for the whole batch.
    """
    T, K, *streams = shape
    is_inside = (np.arange(T)[:, None] + np.arange(1, K + 1) <= T).reshape(T, K, *(1,) * len(streams))
    if is_first is None:
        return is_inside
    episode = jnp.cumsum(is_first, axis=0)
    return is_inside & jnp.swapaxes(shifted(episode[1:], K) == episode[:-1], 0, 1)


def count_pairs(shape: Sequence[int], is_first: Bool[Array, "T+1 *B"] | None = None) -> Any:
    """How many pairs of frames the whole batch has k steps apart, for each k; [K]."""
    is_inside = inside(shape, is_first)
    num_alike = math.prod(shape) // is_inside.size  # windows that one entry speaks for
    return num_alike * is_inside.sum(axis=(0, *range(2, is_inside.ndim)))


def pair_weights(
    shape: Sequence[int], is_first: Bool[Array, "T+1 *B"] | None = None, num_pairs: Float[Array, " K"] | None = None
) -> Any:
    """What each pair weighs in `prediction_loss`: one over the number of pairs with its k; 0 where there is no pair.

    `num_pairs` replaces that number where these windows are only one device's part of the batch.
    """
    is_inside = inside(shape, is_first)
    of_each_k = count_pairs(shape, is_first) if num_pairs is None else num_pairs
    return is_inside / jnp.maximum(of_each_k, 1e-9).reshape(-1, *(1,) * (is_inside.ndim - 2))
