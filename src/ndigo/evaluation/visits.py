"""Visit statistics: how often and how soon an agent sees each object (paper, "Performance evaluation").

visit count = number of steps t in 0..T-1 with the object in view
first visit = the first such t, or T if there is none
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ndigo.frames import Bits, Frame, Join


class Visits(eqx.Module):
    """One episode's statistics per one-hot channel, that is, per object."""

    count: Float[Array, " N"]
    first: Float[Array, " N"]
    is_seen: Bool[Array, " N"]


def in_view(frame: Frame, o_t: Any) -> Bool[Array, "*T N"]:
    """Whether each object's channel is not empty; only frames of bits have such channels."""
    if isinstance(frame, Join):
        return jnp.concatenate([in_view(part, o_t[name]) for name, part in frame.parts], axis=-1)
    if not isinstance(frame, Bits):
        lead = len(jax.tree.leaves(o_t)[0].shape) - len(jax.tree.leaves(frame.spec)[0].shape)
        return jnp.zeros((*jax.tree.leaves(o_t)[0].shape[:lead], 0), bool)
    objects = [c for c, channel in enumerate(frame.channels) if channel.kind == "one_hot"]
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
