"""The frame that an observation space asks for, where it says enough: bits, numbers or tiles, and a join of its parts.

A number without bounds, or between very wide ones, is read as

    symlog(x) = sign(x) ln(1 + |x|)        0.01 and 50 both have bins of their own; beyond 100 is one bin

which is a fixed code: what is paid stays a lower bound in nats, and white noise pays 0. What reads observations into
their frames serves arrays of NumPy and of JAX, with any leading axes: one, those of a step [N, ...], a rollout's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ndigo import frames
from ndigo.errors import NdigoError
from ndigo.frames import Frame
from ndigo.frames.tiles import MOST_CLASSES
from ndigo.interop.suites.bounds import OWN_FRAME, limits_of, parts_of
from ndigo.interop.suites.minigrid_view import is_minigrid, minigrid_frame, read_image

WIDEST = 1e4  # of a number's range: equal bins of a wider one say nothing
FARTHEST = 100.0  # of a number without bounds: what lies farther out is in the outer bins
BINS, SYMLOG_BINS = 32, 64

Read = Callable[[Any], Any]
Show = Callable[[], Any]


def frame_of(name: str, space: Any, show: Show, part: str = "") -> tuple[Frame, Read]:
    """The frame, and how observations are read into it; an error for a space that fits none.

    Numbers from 0 to 1 are bits or shades of a picture, and a space of fractions does not tell which: `show` gives one
    or many, as they would be read, to decide by. `part` says of which part of a world's space this one is.
    """
    if parts := parts_of(space):
        if is_minigrid(set(parts)):
            return minigrid_frame(name, {label: inner for label, (_, inner) in parts.items()}), read_image
        return _joined(name, parts, show, part)
    shape = tuple(getattr(space, "shape", None) or ())
    if hasattr(space, "n") and not shape and isinstance(space.n, int | np.integer):
        return _one_number(int(space.n), int(getattr(space, "start", 0)))
    found = None
    if (limits := limits_of(space)) is not None:
        if len(shape) < 3:
            low, high = limits
            rows = partial(_rows, f"world {name}: an observation{f' under {part!r}' if part else ''}", shape)
            found = _numbers(rows, low.ravel(), high.ravel(), _is_whole(space))
        elif len(shape) == 3 and limits[0].min() >= 0 and limits[1].max() <= 1:
            _require_bits(name, space, show, part)
            found = frames.bits([f"channel{i}" for i in range(shape[2])], shape[0], shape[1]), read_bits
        elif len(shape) == 3 and _is_whole(space):
            found = _layers(*limits)
    if found is None:
        raise NdigoError(f"world {name}: {_whose(space, part)} fit no frame by themselves: {OWN_FRAME}")
    return found


def read_bits(o: Any) -> Any:
    """0 and 1 as they are. Anything else is no bit either, so whoever checks frames will see it."""
    o = _array(o)
    if o.dtype.itemsize > 1:  # a fraction would be cut to a bit, and so would 256
        o = o.__array_namespace__().where((o == 0) | (o == 1), o, 2)
    return o.astype(np.uint8)


def symlog(x: Any) -> Any:
    """sign(x) ln(1 + |x|), of whichever library the array is."""
    xp = x.__array_namespace__()
    return xp.sign(x) * xp.log1p(xp.abs(x))


def _joined(name: str, parts: dict[str, tuple[Any, Any]], show: Show, part: str) -> tuple[Frame, Read]:
    """A frame of each part's."""
    made, reads = {}, {}
    for label, (key, inner) in parts.items():
        made[label], read = frame_of(name, inner, lambda key=key: show()[key], f"{part}.{label}" if part else label)
        reads[label] = key, read
    return frames.join(**made), lambda o: {label: read(o[key]) for label, (key, read) in reads.items()}


def _one_number(num: int, start: int) -> tuple[Frame, Read]:
    """A state's number, as the one tile of a frame."""
    frame = frames.tiles((num,), 1, 1, names=("number",))
    dtype = frame.spec.dtype

    def read(o: Any) -> Any:
        x = _array(o)
        return (x - start).astype(dtype).reshape(*x.shape, 1, 1, 1)

    return frame, read


def _numbers(rows: Read, low: np.ndarray, high: np.ndarray, is_whole: bool) -> tuple[Frame, Read] | None:
    """Bins of each number, equal ones between its bounds, or of its symlog where they are wide; None for no range.

    Whole numbers that are few have a bin each.
    """
    is_wide = ~(high - low < WIDEST)
    low, high = np.where(is_wide, np.maximum(low, -FARTHEST), low), np.where(is_wide, np.minimum(high, FARTHEST), high)
    if not (high >= low).all():
        return None
    size = len(low)
    num_bins = max(2, min(BINS, int((high - low).max(initial=0)) + 1)) if is_whole else BINS
    high = np.where(high > low, high, low + np.maximum(1, np.abs(low)))  # a constant entry is in the first bin
    if not is_wide.any():
        frame = frames.vector(size, low=low.tolist(), high=high.tolist(), bins=num_bins)
        return frame, lambda o: rows(o).astype(np.float32)
    low, high = np.where(is_wide, symlog(low), low), np.where(is_wide, symlog(high), high)
    frame = frames.vector(size, low=low.tolist(), high=high.tolist(), bins=SYMLOG_BINS)

    def read(o: Any) -> Any:
        x = rows(o).astype(np.float32)
        return x.__array_namespace__().where(is_wide, symlog(x), x)

    return frame, read


def _layers(low: np.ndarray, high: np.ndarray) -> tuple[Frame, Read] | None:
    """Layers [H, W, L] of whole numbers from 0 on that are few: tiles."""
    values = [int(n) for n in high.max(axis=(0, 1)) + 1] if (high < BINS).all() else [MOST_CLASSES + 1]
    if low.any() or math.prod(values) > MOST_CLASSES:
        return None
    frame = frames.tiles(values, *low.shape[:2])
    return frame, lambda o: _array(o).astype(frame.spec.dtype)


def _rows(whose: str, shape: tuple[int, ...], o: Any) -> Any:
    """Observations [..., *shape] in rows [..., n]; an environment may show one in another shape of as many numbers."""
    x, size = _array(o), math.prod(shape)
    lead = x.shape[: max(x.ndim - len(shape), 0)]
    if x.shape[len(lead) :] != shape:
        if x.size != size:
            raise NdigoError(f"{whose} has the shape {list(x.shape)}, expected {list(shape)}")
        lead = ()
    return x.reshape(*lead, size)


def _array(o: Any) -> Any:
    """A part of an observation may be a number of Python."""
    return o if hasattr(o, "__array_namespace__") else np.asarray(o)


def _is_whole(space: Any) -> bool:
    return np.dtype(getattr(space, "dtype", float)).kind in "biu"


def _require_bits(name: str, space: Any, show: Show, part: str) -> None:
    """An error where numbers from 0 to 1 may lie between."""
    if _is_whole(space):
        return
    seen = np.asarray(show())
    if (between := seen[read_bits(seen) > 1]).size:
        shown = f"show {between[0]:.3g}, which lies between the bits 0 and 1"
        raise NdigoError(f"world {name}: {_whose(space, part)} {shown}: {OWN_FRAME}")


def _whose(space: Any, part: str) -> str:
    kind, shape = type(space).__name__, tuple(getattr(space, "shape", None) or ())
    numbers = np.dtype(space.dtype).name if hasattr(space, "dtype") else "numbers"
    under = f" under {part!r}" if part else ""
    return f"its observations{under} ({f'{kind} of {numbers} with shape {shape}' if shape else kind})"
