"""One small frame of each kind, and observations of it drawn in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ndigo import frames
from ndigo.frames import Channel, Frame

BOOK = np.random.default_rng(5).integers(256, size=(5, 2, 2, 3)).astype(np.uint8)
BITS = frames.bits([Channel("thing", "one_hot"), "walls"], 2, 3)
TILES = frames.tiles((3, 2, 2), 2, 3, names=("object", "colour", "state"))
LISTED = frames.tiles((3, 2, 2), 2, 3, listed=[(0, 0, 0), (2, 1, 0), (2, 0, 0), (2, 1, 1)])
BINS = frames.vector(3, low=(0, -1, 0), high=(4, 1, 10), bins=4, names=("a", "b", "c"))
GAUSSIAN = frames.vector(3, low=0, high=4, bins=None)
PIXELS = frames.pixels(4, 6, 3, patch=2, codebook=BOOK)
JOIN = frames.join(map=LISTED, pocket=BINS, screen=PIXELS, here=BITS)

KINDS: dict[str, Frame] = {
    "bits": BITS,
    "tiles": TILES,
    "listed": LISTED,
    "bins": BINS,
    "gaussian": GAUSSIAN,
    "pixels": PIXELS,
    "join": JOIN,
}


def draw(frame: Frame, rng: np.random.Generator, *lead: int) -> Any:
    """Observations with these leading axes."""
    if isinstance(frame, frames.Join):
        return {name: draw(part, rng, *lead) for name, part in frame.parts}
    shape, dtype = (*lead, *frame.spec.shape), frame.spec.dtype
    if isinstance(frame, frames.Tiles):
        return rng.integers(frame.values, size=shape).astype(dtype)
    if isinstance(frame, frames.Vector):
        return rng.normal(1, 3, size=shape).astype(dtype)  # some lie outside low .. high
    if isinstance(frame, frames.Pixels):
        return rng.integers(256, size=shape).astype(dtype)
    assert isinstance(frame, frames.Bits)
    o = rng.integers(2, size=shape).astype(dtype)
    cells = frame.height * frame.width
    where = rng.integers(cells + 1, size=lead)
    o[..., 0] = (np.arange(cells) == where[..., None]).reshape(*lead, frame.height, frame.width)
    return o
