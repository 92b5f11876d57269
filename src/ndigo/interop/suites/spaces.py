"""The frame that an observation space asks for, where it says enough: bits, numbers or tiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from ndigo import frames
from ndigo.errors import NdigoError
from ndigo.frames import Frame

WIDEST = 1e4  # of a number's range: the bins of a wider one say nothing
MINIGRID = (11, 6, 4)  # objects, colours and states of MiniGrid


def frame_of(name: str, space: Any) -> tuple[Frame, Callable[[Any], Any]]:
    """The frame, and how an observation is read into it; an error for a space that fits none."""
    shape = tuple(getattr(space, "shape", None) or ())
    if hasattr(space, "n") and not shape:
        return frames.tiles((int(space.n),), 1, 1, names=("number",)), lambda o: jnp.uint8(o).reshape(1, 1, 1)
    if hasattr(space, "low") and hasattr(space, "high"):
        low, high = (np.broadcast_to(np.asarray(x, float), shape) for x in (space.low, space.high))
        if len(shape) == 3 and (low >= 0).all() and (high <= 1).all():
            channels = [f"channel{i}" for i in range(shape[2])]
            return frames.bits(channels, shape[0], shape[1]), lambda o: (o > 0).astype(jnp.uint8)
        is_bounded = shape and (high - low < WIDEST).all() and (high > low).all()
        if len(shape) <= 2 and is_bounded:
            size = int(np.prod(shape))
            frame = frames.vector(size, low=low.ravel().tolist(), high=high.ravel().tolist())
            return frame, lambda o: jnp.asarray(o, jnp.float32).ravel()
    raise NdigoError(f"world {name}: its observations are {space}, which fit no frame by themselves: hand over a frame")
