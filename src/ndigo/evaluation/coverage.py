"""How much of a world an episode came to see: the number of distinct places, or of distinct frames.

A place is what the world's `place` says of a state, such as the agent's cell. A world without `place` counts frames as
they are predicted: numbers by their bins, pixels by their tokens, a Gaussian's numbers exactly. Places are compared by
a hash of 32 bits: among a thousand places, two collide with a chance of about 1 in 10,000.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Int, UInt32

from ndigo.frames import code_of
from ndigo.worlds import World

NOWHERE = np.uint32(2**32 - 1)


def place_of(world: World, state: Any) -> UInt32[Array, ""]:
    """The hash of where a state is."""
    where = code_of(world.frame, world.observe(state)) if world.place is None else world.place(state)
    return hash_of(where)


def hash_of(tree: Any) -> UInt32[Array, ""]:
    """All numbers of a tree, each times an odd random number, added up and stirred."""
    words = [_words(jnp.asarray(x)) for x in jax.tree.leaves(tree)]
    words = jnp.concatenate([jnp.zeros(0, jnp.uint32), *words])
    odd = np.random.default_rng(0).integers(0, 2**31, len(words), dtype=np.uint32) * np.uint32(2) + np.uint32(1)
    x = (_stir(words) * odd).sum(dtype=jnp.uint32)
    return jnp.minimum(_stir(x), NOWHERE - 1)


def distinct(place_t: UInt32[Array, " T"], counts: Bool[Array, " T"]) -> Int[Array, ""]:
    """The number of different places at the steps that count."""
    ordered = jnp.sort(jnp.where(counts, place_t, NOWHERE))
    is_new = jnp.concatenate([jnp.ones(1, bool), ordered[1:] != ordered[:-1]])
    return (is_new & (ordered != NOWHERE)).sum()


def _words(x: Array) -> UInt32[Array, " n"]:
    if jnp.issubdtype(x.dtype, jnp.floating):
        x = jnp.where(x == 0, 0.0, x.astype(jnp.float32))  # -0.0 is no other place
        return lax.bitcast_convert_type(x, jnp.uint32).ravel()
    return x.astype(jnp.uint32).ravel()


def _stir(x: UInt32[Array, "..."]) -> UInt32[Array, "..."]:
    """MurmurHash3's last step: every bit of x moves every bit of the result."""
    x = (x ^ (x >> 16)) * np.uint32(0x85EBCA6B)
    x = (x ^ (x >> 13)) * np.uint32(0xC2B2AE35)
    return x ^ (x >> 16)
