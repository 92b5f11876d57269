"""How well an object is known after it was last seen (Experiment 3's question).

    age_t = t - (the last step <= t with the object in view),   defined from the first sight on

The discovery loss averaged over the steps of each age: flat for an agent that tracks what it no longer sees.
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

NUM_AGES = 64  # older sights are left out


class Tracking(eqx.Module):
    """Sums over steps, by object and age."""

    loss: Float[Array, "N ages"]
    steps: Float[Array, "N ages"]


def ages(is_visible: Bool[Array, "T N"]) -> Int[Array, "T N"]:
    """Steps since each object was last in view; -1 before its first sight."""
    t = jnp.arange(len(is_visible))[:, None]
    last = lax.cummax(jnp.where(is_visible, t, -1), axis=0)
    return jnp.where(last < 0, -1, t - last)


def track(is_visible: Bool[Array, "T N"], loss: Float[Array, "T N"]) -> Tracking:
    """One episode's sums."""
    has_age = ages(is_visible)[:, :, None] == jnp.arange(NUM_AGES)
    return Tracking(loss=(has_age * loss[:, :, None]).sum(axis=0), steps=has_age.sum(axis=0).astype(jnp.float32))
