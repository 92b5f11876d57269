"""Predictions in flight: what was foretold of the frame that comes next, by beliefs 1, 2, .. K steps old.

    launched at b_s, advanced by a_s .. a_{s+k-1}, read against o_{s+k}:  L_{s+k|s}

Each step advances all K of them by one action, in one batched step of the predictor's GRU. Of a whole rollout all T
steps do so at once (`fly`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

from ndigo.model import Predictor
from ndigo.model.predictors import Unrolled
from ndigo.networks import gru_step


class Stepped(eqx.Module):
    """A predictor that reads its actions one by one, in flight: its GRU's state, and the belief it may read."""

    predictor: Unrolled

    def launch(self, b_t: Float[Array, "... D"]) -> Any:
        return (b_t, None) if self.predictor.from_belief is None else (jnp.zeros_like(b_t), b_t)

    def advance(self, flying: Any, a_t: Int[Array, "..."]) -> Any:
        h, b_t = flying
        return gru_step(self.predictor.gru.weight, self.inputs(a_t), h), b_t

    def advance_all(self, flying: Any, a_kt: Int[Array, "K ..."]) -> Any:
        """After 1, 2, .. K actions: [K, ...]."""
        h, b_t = flying
        h_kt = self.predictor.gru.unroll(self.inputs(a_kt), h)
        return h_kt, None if b_t is None else jnp.broadcast_to(b_t, h_kt.shape)

    def inputs(self, a_t: Int[Array, "..."]) -> Float[Array, "... 3*D"]:
        return jnp.take(self.predictor.from_action, a_t, axis=0, mode="clip")

    def logits(self, flying: Any) -> Float[Array, "... O"]:
        return self.predictor.decode(*flying)


class Recalled(eqx.Module):
    """Any predictor in flight: it keeps the belief and the actions since, and computes anew when it is read."""

    predictor: Predictor
    num_ahead: int = eqx.field(static=True)

    def launch(self, b_t: Float[Array, "... D"]) -> Any:
        lead = b_t.shape[:-1]
        return b_t, jnp.zeros((*lead, self.num_ahead), jnp.int32), jnp.zeros(lead, jnp.int32)

    def advance(self, flying: Any, a_t: Int[Array, "..."]) -> Any:
        b, actions, num = flying
        is_now = jnp.arange(self.num_ahead) == num[..., None]
        return b, jnp.where(is_now, a_t[..., None], actions), num + 1

    def advance_all(self, flying: Any, a_kt: Int[Array, "K ..."]) -> Any:
        """After 1, 2, .. K actions: [K, ...]."""
        return lax.scan(lambda flying, a_t: (self.advance(flying, a_t),) * 2, flying, a_kt)[1]

    def logits(self, flying: Any) -> Float[Array, "... O"]:
        b, actions, num = flying
        of_all = self.predictor.predict(b, jnp.moveaxis(actions, -1, 0), lambda logits, _: logits, None)
        at = jnp.clip(num - 1, 0, self.num_ahead - 1)
        return jnp.take_along_axis(of_all, at[None, ..., None], axis=0)[0]


def in_flight(predictor: Predictor, K: int) -> Stepped | Recalled:
    """The predictor step by step: its predictions are launched, advanced and read."""
    return Stepped(predictor) if isinstance(predictor, Unrolled) else Recalled(predictor, K)


def begin(predictor: Predictor, K: int, b_t: Float[Array, "N D"]) -> Any:
    """K predictions of each stream, [K, N, ...]; those older than the stream itself mean nothing."""
    launched = in_flight(predictor, K).launch(b_t)
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (K, *x.shape)), launched)


def advance(predictor: Predictor, flying: Any, a_t: Int[Array, " N"]) -> Any:
    """One more action for all K; number k-1 is then k steps ahead of its belief."""
    K = len(jax.tree.leaves(flying)[0])
    return in_flight(predictor, K).advance(flying, jnp.broadcast_to(a_t, (K, *a_t.shape)))


def logits(predictor: Predictor, flown: Any, ks: Int[Array, "R N"]) -> Float[Array, "R N O"]:
    """What the prediction ks[r, n] steps ahead says of the frame that has come, in stream n."""
    K = len(jax.tree.leaves(flown)[0])

    def pick(x: Array) -> Array:
        return jnp.take_along_axis(x, ks.reshape(*ks.shape, *(1,) * (x.ndim - 2)) - 1, axis=0)

    return in_flight(predictor, K).logits(jax.tree.map(pick, flown))


def launch(predictor: Predictor, flown: Any, b_t: Float[Array, "N D"]) -> Any:
    """The newest belief joins, and the oldest prediction has landed."""
    K = len(jax.tree.leaves(flown)[0])
    new = in_flight(predictor, K).launch(b_t)
    return jax.tree.map(lambda first, rest: jnp.concatenate([first[None], rest[:-1]]), new, flown)


def fly(
    predictor: Predictor, flying: Any, b_t: Float[Array, "T N D"], a_t: Int[Array, "T N"]
) -> tuple[Callable[[Int[Array, "R T N"]], Float[Array, "R T N O"]], Any]:
    """T steps of `advance` and `launch`, b_t being the belief after a_t: `logits` of all steps, and what then flies.

    All predictions fly K actions far at once: those that flew before, the oldest first, then those launched at b_t.
    Number m reads its first action in step max(m - K + 1, 0).
    """
    K, T = len(jax.tree.leaves(flying)[0]), len(a_t)
    stepwise = in_flight(predictor, K)
    begun = jax.tree.map(lambda old, new: jnp.concatenate([old[::-1], new]), flying, stepwise.launch(b_t))
    step = jnp.maximum(jnp.arange(K + T) - K + 1, 0) + jnp.arange(K)[:, None]
    flown = stepwise.advance_all(begun, a_t[jnp.minimum(step, T - 1)])  # [K, K+T, N, ...]

    def at(t: Any, k: Any, *n: Any) -> Any:
        """What has flown k steps ahead after step t; where it flew before, this rollout's are t+1 of these."""
        return jax.tree.map(lambda x: x[(jnp.minimum(k, t + 1) - 1, t + K - k, *n)], flown)

    def logits(ks: Int[Array, "R T N"]) -> Float[Array, "R T N O"]:
        return stepwise.logits(at(jnp.arange(T)[:, None], ks, jnp.arange(ks.shape[-1])))

    newest = jax.tree.map(lambda x: x[-1:], begun)
    return logits, jax.tree.map(lambda x, y: jnp.concatenate([x, y]), newest, at(T - 1, jnp.arange(1, K)))
