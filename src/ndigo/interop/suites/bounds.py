"""What a space of observations says of its parts and of their least and greatest values, and who keeps to it.

Spaces are Gymnasium's, gymnax's, or anybody's with the same fields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ndigo.errors import NdigoError

ROUNDING = 1e-5  # of the larger bound: what is reckoned in float32 may lie so far outside

OWN_FRAME = "hand over frame=... and read=... (from_gymnasium and from_gymnax take both), and train MODULE:NAME of it"


class OutsideError(NdigoError):
    """An observation lies outside of the space that its environment declares."""


def parts_of(space: Any) -> dict[str, tuple[Any, Any]] | None:
    """Of a Dict or a Tuple each part's name, and with it its key and its space; None for any other space."""
    spaces = getattr(space, "spaces", None)
    if isinstance(spaces, Mapping):
        return {str(key): (key, part) for key, part in spaces.items()}
    if spaces is not None and any(kind.__name__ == "Tuple" for kind in type(space).__mro__):
        return {f"part{i}": (i, part) for i, part in enumerate(spaces)}
    return None


def limits_of(space: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """The least and the greatest value of each entry; None for a space that is no array of numbers."""
    shape = tuple(getattr(space, "shape", None) or ())
    if hasattr(space, "nvec"):  # MultiDiscrete
        limits = space.start, space.start + space.nvec - 1
    elif hasattr(space, "low") and hasattr(space, "high"):  # Box
        limits = space.low, space.high
    elif hasattr(space, "n") and shape:  # MultiBinary
        limits = 0, 1
    else:
        return None
    low, high = (np.broadcast_to(np.asarray(x, float), shape) for x in limits)
    return low, high


def within_bounds(name: str, space: Any, read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`read` for a trial, which refuses what lies outside of the space."""

    def checked(o: Any) -> Any:
        refuse_outside(name, space, o)
        return read(o)

    return checked


def refuse_outside(name: str, space: Any, o: Any, part: str = "") -> None:
    """An error for an observation, or many [N, ...], outside of the finite bounds: bins would clip it."""
    if (parts := parts_of(space)) is not None:
        for label, (key, inner) in parts.items():
            refuse_outside(name, inner, o[key], f"{part}.{label}" if part else label)
    limits = limits_of(space)
    if limits is None or np.shape(o)[np.ndim(o) - limits[0].ndim :] != limits[0].shape:
        return
    low, high = (x.ravel() for x in limits)
    # Of an infinite bound nothing lies outside; 0 in its place, or the slack would be infinite too.
    slack = ROUNDING * np.max([np.where(np.isfinite(x), np.abs(x), 0) for x in (low, high)], axis=0)
    x = np.asarray(o, float).reshape(-1, len(low))
    is_out = (x < low - slack) | (x > high + slack)
    if is_out.any():
        n, i = np.argwhere(is_out)[0]
        whose = f"an observation's {part!r}" if part else "an observation"
        raise OutsideError(
            f"world {name}: entry {i} of {whose} is {x[n, i]:.6g}, but its space lies between {low[i]:.6g} and "
            f"{high[i]:.6g}: correct the space, or {OWN_FRAME}"
        )
