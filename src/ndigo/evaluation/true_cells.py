"""Where the objects truly are, for the probe alone to learn from."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Int

from ndigo.worlds import World


def object_cells(world: World, state: Any) -> Int[Array, " N"]:
    """The objects' true cells, row * columns + col; empty in a world without truth."""
    if world.truth is None or world.map_shape is None:
        return jnp.zeros(0, jnp.int16)
    objects, (rows, cols) = world.truth(state).objects, world.map_shape
    # Two bytes where they suffice: the replay keeps one number per object and frame.
    dtype = jnp.int16 if rows * cols < 2**15 else jnp.int32
    return (objects[:, 0] * cols + objects[:, 1]).astype(dtype)
