"""A policy that walks a path given beforehand."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Int

from ndigo.types import Policy


def follow(a_t: Int[Array, " T"]) -> Policy:
    """Takes the given actions, then stays."""
    path = jnp.append(jnp.asarray(a_t, jnp.int32), 0)

    def act(o_t: Array, a_tm1: Array, t: Array) -> tuple[Array, Array]:
        return path[jnp.minimum(t, len(path) - 1)], t + 1

    return Policy(lambda key: jnp.int32(0), act)
