"""A belief as text for a terminal: a character per cell and two rows per line, upper half above lower half.

Each object's chance shines in its colour by its cube root, as in films; the agent's cell is white.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from ndigo.types import Truth
from ndigo.watching.panels import KNOWN_WALL
from ndigo.worlds import World
from ndigo.worlds.render import AGENT, FLOOR, in_colours, legend

UPPER_HALF = "▀"


def belief_ansi(world: World, truth: Truth, belief: Float[np.ndarray, "N rows cols"]) -> str:
    """Where each object is believed to be, over the map's walls; half as high as it has rows."""
    assert world.grid is not None
    is_free = world.grid.layout.is_free
    cells = np.where(is_free[..., None], np.array(FLOOR, float), np.array(KNOWN_WALL, float))
    for entry, chances in zip(legend(world), belief, strict=True):
        cells = cells + np.cbrt(chances)[..., None] * (np.array(entry.colour) - cells)
    cells[tuple(np.asarray(truth.agent))] = AGENT
    if len(cells) % 2:
        cells = np.concatenate([cells, np.zeros_like(cells[:1])])
    lines = []
    for above, below in np.rint(cells).astype(int).reshape(-1, 2, *cells.shape[1:]):
        pairs = zip(above.tolist(), below.tolist(), strict=True)
        lines.append("".join(in_colours(UPPER_HALF, high, low) for high, low in pairs))
    return "\n".join(lines)
