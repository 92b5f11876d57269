"""The frame that an observation space asks for, where it says enough: bits, numbers or tiles.

What reads an observation into it serves arrays of NumPy and of JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ndigo import frames
from ndigo.errors import NdigoError
from ndigo.frames import Frame

WIDEST = 1e4  # of a number's range: the bins of a wider one say nothing
MINIGRID, MINIGRID_NAMES = (11, 6, 4), ("object", "colour", "state")
BINS = 32

Read = Callable[[Any], Any]


def frame_of(name: str, space: Any) -> tuple[Frame, Read]:
    """The frame, and how an observation is read into it; an error for a space that fits none."""
    shape = tuple(getattr(space, "shape", None) or ())
    if (parts := getattr(space, "spaces", None)) is not None and isinstance(parts, Mapping) and "image" in parts:
        return _minigrid(name, parts)
    if hasattr(space, "n") and not shape and isinstance(space.n, int | np.integer):
        return _one_number(int(space.n), int(getattr(space, "start", 0)))
    if hasattr(space, "low") and hasattr(space, "high"):
        low, high = (np.broadcast_to(np.asarray(x, float), shape) for x in (space.low, space.high))
        if len(shape) == 3 and (low >= 0).all() and (high <= 1).all():
            channels = [f"channel{i}" for i in range(shape[2])]
            return frames.bits(channels, shape[0], shape[1]), lambda o: (o > 0).astype(np.uint8)
        is_bounded = shape and (high - low < WIDEST).all() and (high > low).all()
        if len(shape) in (1, 2) and is_bounded:
            size = int(np.prod(shape))
            frame = frames.vector(size, low=low.ravel().tolist(), high=high.ravel().tolist(), bins=BINS)
            return frame, lambda o: o.astype(np.float32).reshape(size)
    kind = type(space).__name__
    shown = f"{kind} of {getattr(space, 'dtype', 'numbers')} with shape {shape}" if shape else kind
    if hasattr(space, "low") and not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
        shown += " and without bounds"
    raise NdigoError(f"world {name}: its observations ({shown}) fit no frame by themselves: hand over a frame")


def _one_number(num: int, start: int) -> tuple[Frame, Read]:
    """A state's number, as the one tile of a frame."""
    frame = frames.tiles((num,), 1, 1, names=("number",))
    dtype = frame.spec.dtype
    return frame, lambda o: (o - start).astype(dtype).reshape(1, 1, 1)


def _minigrid(name: str, parts: Mapping[str, Any]) -> tuple[Frame, Read]:
    """MiniGrid's dictionary: the partial view. The compass and the mission's text are left out."""
    shape = tuple(parts["image"].shape)
    if len(shape) != 3 or shape[2] != len(MINIGRID) or max(shape) > 64:
        raise NdigoError(f"world {name}: the image of its observations, {shape}, is no map of tiles: hand over a frame")
    frame = frames.tiles(MINIGRID, shape[0], shape[1], names=MINIGRID_NAMES)
    return frame, read_image


def read_image(observation: Any) -> Any:
    return observation["image"]
