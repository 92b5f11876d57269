"""A world's own picture of itself (`World.draw`), frame by frame and on the host."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jaxtyping import Array, UInt8

from ndigo.errors import NdigoError
from ndigo.worlds import World

LARGEST = 160  # pixels of a side: a recording has one picture per frame, so a larger one is reduced


def drawn_frames(world: World, key: Array, a_t: np.ndarray) -> UInt8[np.ndarray, "T H W 3"]:
    """The pictures of the episode of that key in which these actions were taken: it is played once more."""
    key_reset, key_world, _ = jax.random.split(key, 3)
    keys = jax.random.split(key_world, world.num_steps)
    step = jax.jit(world.step)
    state = world.reset(key_reset)
    pictures = [drawn(world, state)]
    # Recordings keep few bytes per action; a step takes the integers that a policy chooses by.
    for key_t, a in zip(keys, np.asarray(a_t, np.int32), strict=False):
        state = step(key_t, state, a)
        pictures.append(drawn(world, state))
    return np.stack(pictures)


def drawn(world: World, state: Any) -> UInt8[np.ndarray, "H W 3"]:
    """The world's picture of one state."""
    assert world.draw is not None
    return reduced(world, world.draw(state))


def reduced(world: World, picture: Any) -> UInt8[np.ndarray, "H W 3"]:
    """A picture no larger than a recording keeps; an error where it is none."""
    picture = np.asarray(picture)
    if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[-1] != 3:
        found = f"{picture.dtype}{list(picture.shape)}"
        raise NdigoError(f"world {world.name!r}: its draw returns {found}, expected uint8[H, W, 3]")
    side = -(-max(picture.shape[:2]) // LARGEST)  # of the blocks that become one pixel, their mean
    rows, cols = (size // side for size in picture.shape[:2])
    blocks = picture[: rows * side, : cols * side].reshape(rows, side, cols, side, 3)
    return np.rint(blocks.mean(axis=(1, 3))).astype(np.uint8)
