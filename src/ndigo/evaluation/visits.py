"""Visit statistics: how often and how soon an agent sees each object (paper, "Performance evaluation").

visit count = number of steps t in 0..T-1 with the object in view
first visit = the first such t, or T if there is none
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, UInt8

from ndigo.worlds import World


class Visits(eqx.Module):
    """One episode's statistics per one-hot channel, that is, per object."""

    count: Float[Array, " N"]
    first: Float[Array, " N"]
    is_seen: Bool[Array, " N"]


def in_view(world: World, o_t: UInt8[Array, "*T V V C"]) -> Bool[Array, "*T N"]:
    """True where the object's channel is not empty."""
    objects = [c for c, channel in enumerate(world.channels) if channel.kind == "one_hot"]
    return (o_t[..., jnp.array(objects, int)] > 0).any(axis=(-3, -2))


def visits(is_visible: Bool[Array, "T N"]) -> Visits:
    """Statistics of the frames o_0 ... o_{T-1} (the paper's 400; o_400 is not counted)."""
    T = is_visible.shape[0]
    is_seen = is_visible.any(axis=0)
    return Visits(
        count=is_visible.sum(axis=0).astype(jnp.float32),
        first=jnp.where(is_seen, is_visible.argmax(axis=0), T).astype(jnp.float32),
        is_seen=is_seen,
    )
