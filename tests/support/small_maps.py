"""Recordings on maps of any small shape, cut out of others."""

from __future__ import annotations

import dataclasses

import numpy as np

from ndigo.storage.episodes import Recording


def corner(episodes: Recording, rows: int, cols: int) -> Recording:
    """The same episodes on the upper left corner of their map, where everything happens in one cell."""
    beliefs = {name: getattr(episodes, name)[..., :rows, :cols] for name in ("belief", "exact")}
    places = {name: np.ones_like(getattr(episodes, name)) for name in ("agent", "objects")}
    return dataclasses.replace(episodes, walls=episodes.walls[:rows, :cols], **beliefs, **places)
