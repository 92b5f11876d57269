"""Exact quantities along a trajectory: what there is to know, what a frame taught, and the table that rewards read.

All in nats, with b_t the exact belief and L_{t+k|t} the exact predictive loss:

    entropy         H[b^i_t], about the object's cell
    discovery loss  -ln b^i_t(true cell)                      the floor under any probe
    gain            KL(b^i_t || b^i_t before o_t)             Bayesian surprise of frame t, or of what lasts of it
    table           loss_tk[t, k-1] = L_{t+k|t}               what `ndigo.rewards` read; `ideal-NAME` pays by it
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import rel_entr
from jaxtyping import Array, Float, Int, UInt8

from ndigo.oracle.filter import Belief, Filter, views_of
from ndigo.oracle.predictive import Nats, predict_nats

NOWHERE = -1  # a cell that no object shares


class Knowledge(eqx.Module):
    """What the exact filter knew at each frame o_0 ... o_T, per object."""

    entropy: Float[Array, "T+1 N"]
    discovery_loss: Float[Array, "T+1 N"]
    gain: Float[Array, "T+1 N"]


def knowledge(
    filter_: Filter, a_t: Int[Array, " T"], o_t: UInt8[Array, "T+1 V V C"], objects: Int[Array, "T+1 N 2"]
) -> Knowledge:
    """The filter's knowledge along an episode; `objects` are the true cells, as `Truth.objects`."""
    tables = filter_.tables
    b_t = filter_.run(a_t, o_t)
    cells = objects @ jnp.array([tables.stride, 1])
    p_true = [
        (f * m.here(cells[:, i])).sum(axis=(1, 2))
        for i, (m, f) in enumerate(zip(tables.motions, b_t.objects, strict=True))
    ]
    return Knowledge(
        entropy=jax.vmap(filter_.entropy)(b_t),
        discovery_loss=-jnp.log(jnp.stack(p_true, axis=-1)),
        gain=information_gain(filter_, b_t, a_t),
    )


def information_gain(filter_: Filter, b_t: Belief, a_t: Int[Array, " T"], lag: int = 0) -> Float[Array, "T+1 N"]:
    """What each frame taught about each object's state `lag` steps later, if the agent leaves it alone until then."""
    before = _before(filter_, b_t, a_t)
    gains = []
    for motion, *states in zip(filter_.tables.motions, b_t.objects, before.objects, strict=True):
        for _ in range(lag):
            states = [motion.move(f, jnp.zeros_like(f), jnp.full(f.shape[:1], NOWHERE)) for f in states]
        gains.append(rel_entr(*states).sum(axis=(1, 2)))
    return jnp.stack(gains, axis=-1)


def _before(filter_: Filter, b_t: Belief, a_t: Int[Array, " T"]) -> Belief:
    """The beliefs just before each frame."""
    predicted = jax.vmap(filter_.predict)(jax.tree.map(lambda leaf: leaf[:-1], b_t), a_t)
    return jax.tree.map(lambda first, rest: jnp.concatenate([first[None], rest]), filter_.prior, predicted)


def ideal_table(filter_: Filter, b_t: Belief, a_t: Int[Array, " T"], o_t: UInt8[Array, "T+1 V V C"], K: int) -> Nats:
    """The exact loss_tk[t, k-1] = L_{t+k|t}: `frame` [T, K] and, by channel, `channels` [T, K, C].

    Takes the T+1 beliefs of the frames, from `Filter.run` or carried into a window. NaN where the
    trajectory has no frame t+k.
    """
    tables, T = filter_.tables, a_t.shape[0]
    at_tk = jnp.arange(T)[:, None] + jnp.arange(K)  # a_{t+k-1} stands at t+k-1, its frame one later
    is_real = at_tk < T
    seen = jax.vmap(lambda o: views_of(tables, o))(o_t)
    a = jnp.where(is_real, a_t[jnp.minimum(at_tk, T - 1)], 0)
    later = jnp.minimum(at_tk + 1, T)
    first = jax.tree.map(lambda leaf: leaf[:-1], b_t)
    table = jax.vmap(lambda b, *x: predict_nats(tables, b, *x))(first, a, b_t.agent[later], seen[later])
    return Nats(
        frame=jnp.where(is_real, table.frame, jnp.nan),
        channels=jnp.where(is_real[..., None], table.channels, jnp.nan),
        wall_cells=jnp.where(is_real, table.wall_cells, jnp.nan),
    )
