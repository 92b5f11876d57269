"""A frame as a space of observations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ndigo.frames import Bits, Frame, Join, Tiles

if TYPE_CHECKING:
    from gymnasium import spaces


def bounds_of(frame: Frame) -> tuple[Any, Any]:
    """The least and the greatest value: of bits and tiles their ranges, of other frames their type's; of no join."""
    shape, dtype = frame.spec.shape, np.dtype(frame.spec.dtype)
    if isinstance(frame, Bits):
        return 0, 1
    if isinstance(frame, Tiles):
        return 0, np.broadcast_to(np.array(frame.values) - 1, shape).astype(dtype)
    return (-np.inf, np.inf) if dtype.kind == "f" else (0, np.iinfo(dtype).max)


def space_of(frame: Frame) -> spaces.Space:
    """Gymnasium's: a box, and a dictionary of them for a join."""
    from gymnasium import spaces  # here: the bounds are for those without it, too

    if isinstance(frame, Join):
        return spaces.Dict({name: space_of(part) for name, part in frame.parts})
    return spaces.Box(*bounds_of(frame), frame.spec.shape, np.dtype(frame.spec.dtype).type)
