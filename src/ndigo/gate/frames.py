"""What the values of a frame may be, by the kind of its channel. A new kind is one function and one line here."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ndigo.errors import NdigoError
from ndigo.worlds.world import Channel, ChannelKind

# x_t [T, V, V] of one channel -> the first wrong frame and what is wrong in it, or None.
Complaint = tuple[int, str] | None


def binary(x_t: np.ndarray) -> Complaint:
    is_wrong = (x_t != 0) & (x_t != 1)
    if not is_wrong.any():
        return None
    t = int(is_wrong.any(axis=(1, 2)).argmax())
    return t, f"the value {x_t[t][is_wrong[t]][0]}, expected 0 or 1"


def one_hot(x_t: np.ndarray) -> Complaint:
    if (wrong := binary(x_t)) is not None:
        return wrong
    count = x_t.sum(axis=(1, 2), dtype=int)
    t = int((count > 1).argmax())
    return (t, f"{count[t]} cells that are 1, expected at most one") if count[t] > 1 else None


KINDS: dict[ChannelKind, Callable[[np.ndarray], Complaint]] = {"binary": binary, "one_hot": one_hot}


def check_frames(whose: str, o_t: np.ndarray, channels: Sequence[Channel]) -> None:
    """Every channel of the frames o_t [T, V, V, C] holds what its kind allows."""
    for c, channel in enumerate(channels):
        wrong = KINDS[channel.kind](o_t[..., c])
        if wrong is not None:
            t, what = wrong
            raise NdigoError(f"{whose} returned in the {channel.kind} channel {channel.name!r} of frame {t} {what}")
