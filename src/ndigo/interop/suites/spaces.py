"""The frame that an observation space asks for, where it says enough: bits, numbers or tiles.

A number without bounds, or between very wide ones, is read as

    symlog(x) = sign(x) ln(1 + |x|)        0.01 and 50 both have bins of their own; beyond 100 is one bin

which is a fixed code: what is paid stays a lower bound in nats, and white noise pays 0. What reads an observation into
its frame serves arrays of NumPy and of JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import numpy as np

from ndigo import frames
from ndigo.errors import NdigoError
from ndigo.frames import Frame

WIDEST = 1e4  # of a number's range: equal bins of a wider one say nothing
FARTHEST = 100.0  # of a number without bounds: what lies farther out is in the outer bins
MINIGRID, MINIGRID_NAMES = (11, 6, 4), ("object", "colour", "state")
BINS, SYMLOG_BINS = 32, 64
ROUNDING = 1e-5  # of the larger bound: what is reckoned in float32 may lie so far outside

OWN_FRAME = "hand over frame=... and read=... (from_gymnasium and from_gymnax take both), and train MODULE:NAME of it"

Read = Callable[[Any], Any]


def minigrid_tiles(num_colours: int, num_states: int = 3) -> list[tuple[int, int, int]]:
    """What a cell of MiniGrid can show, of the hundreds of combinations of its layers.

    An output for each of all of them would be four fifths of the model's, and of its memory, for nothing.
    """
    plain = [(0, 0, 0), (1, 0, 0), (2, 5, 0), (8, 1, 0), (9, 0, 0)]  # unseen, empty, wall, goal, lava
    coloured = [(kind, colour, 0) for kind in (3, 5, 6, 7) for colour in range(num_colours)]  # floor, key, ball, box
    # Open, closed, locked.
    doors = [(4, colour, state) for colour, state in product(range(num_colours), range(num_states))]
    return plain + coloured + doors + [(10, 0, direction) for direction in range(4)]  # itself, in a view of all


def frame_of(name: str, space: Any, show: Callable[[], Any]) -> tuple[Frame, Read]:
    """The frame, and how an observation is read into it; an error for a space that fits none.

    Numbers from 0 to 1 are bits or shades of a picture, and a space of fractions does not tell which: `show` gives an
    observation, as it would be read, to decide by.
    """
    shape = tuple(getattr(space, "shape", None) or ())
    if (parts := getattr(space, "spaces", None)) is not None and isinstance(parts, Mapping) and "image" in parts:
        return _minigrid(name, parts)
    if hasattr(space, "n") and not shape and isinstance(space.n, int | np.integer):
        return _one_number(int(space.n), int(getattr(space, "start", 0)))
    if hasattr(space, "low") and hasattr(space, "high"):
        low, high = (np.broadcast_to(np.asarray(x, float), shape) for x in (space.low, space.high))
        if len(shape) == 3 and (low >= 0).all() and (high <= 1).all():
            _require_bits(name, space, show)
            channels = [f"channel{i}" for i in range(shape[2])]
            return frames.bits(channels, shape[0], shape[1]), read_bits
        if len(shape) in (1, 2) and (numbers := _numbers(low.ravel(), high.ravel(), space)) is not None:
            return numbers
    raise NdigoError(f"world {name}: its observations ({_shown(space)}) fit no frame by themselves: {OWN_FRAME}")


def within_bounds(name: str, space: Any, read: Read) -> Read:
    """`read` for a trial, which refuses what lies outside of the space."""

    def checked(o: Any) -> Any:
        refuse_outside(name, space, np.asarray(o)[None])
        return read(o)

    return checked


def refuse_outside(name: str, space: Any, o: np.ndarray) -> None:
    """An error for a number of observations [N, ...] outside of the space's finite bounds: its bins would clip it."""
    low, high = (np.ravel(np.broadcast_to(np.asarray(x, float), space.shape)) for x in (space.low, space.high))
    # Of an infinite bound nothing lies outside; 0 in its place, or the slack would be infinite too.
    slack = ROUNDING * np.max([np.where(np.isfinite(x), np.abs(x), 0) for x in (low, high)], axis=0)
    x = np.asarray(o, float).reshape(len(o), -1)
    is_out = (x < low - slack) | (x > high + slack) if x.shape[1:] == low.shape else np.zeros((1, 1), bool)
    if is_out.any():
        n, i = np.argwhere(is_out)[0]
        raise NdigoError(
            f"world {name}: entry {i} of an observation is {x[n, i]:.6g}, but its space lies between {low[i]:.6g} and "
            f"{high[i]:.6g}: correct the space, or {OWN_FRAME}"
        )


def read_bits(o: Any) -> Any:
    """0 and 1 as they are. Anything else is 2, which no frame of bits has: so whoever checks frames will see it."""
    return (o != 0).astype(np.uint8) + ((o != 0) & (o != 1)).astype(np.uint8)


def _require_bits(name: str, space: Any, show: Callable[[], Any]) -> None:
    """An error where numbers from 0 to 1 may lie between."""
    if np.dtype(getattr(space, "dtype", float)).kind in "biu":
        return
    seen = np.asarray(show())
    if (between := seen[read_bits(seen) > 1]).size:
        raise NdigoError(
            f"world {name}: its observations ({_shown(space)}) show {between[0]:.3g}, "
            f"which lies between the bits 0 and 1: {OWN_FRAME}"
        )


def _shown(space: Any) -> str:
    kind, shape = type(space).__name__, tuple(getattr(space, "shape", None) or ())
    numbers = np.dtype(space.dtype).name if hasattr(space, "dtype") else "numbers"
    return f"{kind} of {numbers} with shape {shape}" if shape else kind


def symlog(x: Any) -> Any:
    """sign(x) ln(1 + |x|), of whichever library the array is."""
    xp = x.__array_namespace__()
    return xp.sign(x) * xp.log1p(xp.abs(x))


def _numbers(low: np.ndarray, high: np.ndarray, space: Any) -> tuple[Frame, Read] | None:
    """Bins of each number, equal ones between its bounds, or of its symlog where they are wide; None for no range.

    Whole numbers that are few have a bin each.
    """
    is_wide = ~(high - low < WIDEST)
    low, high = np.where(is_wide, np.maximum(low, -FARTHEST), low), np.where(is_wide, np.minimum(high, FARTHEST), high)
    if not (high > low).all():
        return None
    size = len(low)
    if not is_wide.any():
        is_whole = np.dtype(getattr(space, "dtype", float)).kind in "biu"
        bins = min(BINS, int((high - low).max()) + 1) if is_whole else BINS
        frame = frames.vector(size, low=low.tolist(), high=high.tolist(), bins=bins)
        return frame, lambda o: o.astype(np.float32).reshape(size)
    low, high = np.where(is_wide, symlog(low), low), np.where(is_wide, symlog(high), high)
    frame = frames.vector(size, low=low.tolist(), high=high.tolist(), bins=SYMLOG_BINS)

    def read(o: Any) -> Any:
        x = o.astype(np.float32).reshape(size)
        return x.__array_namespace__().where(is_wide, symlog(x), x)

    return frame, read


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
    listed = minigrid_tiles(MINIGRID[1])
    frame = frames.tiles(MINIGRID, shape[1], shape[0], names=MINIGRID_NAMES, listed=listed)
    return frame, read_image


def read_image(observation: Any) -> Any:
    """MiniGrid's image has a column first, then a row in it; a frame has rows first."""
    return observation["image"].swapaxes(0, 1)
