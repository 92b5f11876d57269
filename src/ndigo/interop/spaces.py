"""A frame as Gymnasium's space of observations."""

from __future__ import annotations

import numpy as np
from gymnasium import spaces

from ndigo.frames import Bits, Frame, Join, Tiles


def space_of(frame: Frame) -> spaces.Space:
    """Bits and tiles with their ranges; other frames with their type's, and a join as a dictionary."""
    if isinstance(frame, Join):
        return spaces.Dict({name: space_of(part) for name, part in frame.parts})
    shape, dtype = frame.spec.shape, np.dtype(frame.spec.dtype)
    high = np.inf if dtype.kind == "f" else np.iinfo(dtype).max
    if isinstance(frame, Bits):
        high = 1
    elif isinstance(frame, Tiles):
        high = np.broadcast_to(np.array(frame.values) - 1, shape).astype(dtype)
    return spaces.Box(-np.inf if dtype.kind == "f" else 0, high, shape, dtype.type)
