"""Frames for tests, by their sizes."""

from __future__ import annotations

from collections.abc import Sequence

from ndigo import frames
from ndigo.frames import Bits, Channel


def bits_of(view: int, kinds: Sequence[str]) -> Bits:
    """A square view with a channel of each kind."""
    return frames.bits([Channel(f"channel{c}", kind) for c, kind in enumerate(kinds)], view)


def bits_shaped(shape: tuple[int, int, int]) -> Bits:
    """Binary channels."""
    return frames.bits([f"channel{c}" for c in range(shape[-1])], *shape[:2])
