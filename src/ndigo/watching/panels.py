"""Pictures of one recorded frame, as RGB arrays: the world, what the agent sees, and what it believes.

Colours are those of `worlds.render`: the agent a white diamond, an object a square. A belief is a heat map in the
object's colour, as bright as the cube root of the probability: one cell of a 48-cell room shows at a quarter of the
full brightness, one in a thousand at a tenth. Its walls are known, and a frame marks where the object truly is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8

from ndigo.palette import RGB
from ndigo.storage.episodes import Recording
from ndigo.worlds.render import AGENT, FLOOR, WALL, cell_of, draw_things, lit

Picture = UInt8[np.ndarray, "height width 3"]
MARK_LIGHT = 0.55  # how far towards white the frame around the true cell is drawn
KNOWN_WALL = tuple((w + f) // 2 for w, f in zip(WALL, FLOOR, strict=True))  # darker: a heat map's own light matters


def colours_of(episodes: Recording) -> list[RGB]:
    """Each object's colour."""
    return [(r, g, b) for r, g, b in (thing["colour"] for thing in episodes.meta["objects"])]


def world_panel(episodes: Recording, episode: int, t: int, cell_pixels: int) -> Picture:
    """The true map; the cells the agent sees are lighter."""
    agent = cell_of(episodes.agent[episode, t])
    cells = _ground(episodes.walls, WALL)
    reach = episodes.meta["view"] // 2
    rows, cols = np.ogrid[: cells.shape[0], : cells.shape[1]]
    is_seen = (abs(rows - agent[0]) <= reach) & (abs(cols - agent[1]) <= reach)
    things = [
        (cell_of(cell), colour, False)
        for cell, colour in zip(episodes.objects[episode, t], colours_of(episodes), strict=True)
    ]
    return draw_things(lit(cells, is_seen), [*things, (agent, AGENT, True)], cell_pixels)


def view_panel(episodes: Recording, chances: Float[np.ndarray, "V V C"], cell_pixels: int) -> Picture:
    """What is in view, or may be: the chance that each cell of each channel is 1."""
    kinds = [channel["kind"] for channel in episodes.meta["channels"]]
    objects = [c for c, kind in enumerate(kinds) if kind == "one_hot"]
    walls = [c for c, kind in enumerate(kinds) if kind != "one_hot"]
    cells = lit(_ground(np.zeros(chances.shape[:2], bool), WALL), np.ones(chances.shape[:2], bool)).astype(float)
    wall = lit(np.array([[WALL]], np.uint8), np.ones((1, 1), bool)).astype(float)
    cells = mix(cells, wall, chances[..., walls].max(axis=-1, initial=0))
    things = []
    for c, colour in zip(objects, colours_of(episodes), strict=False):
        chance = chances[..., c]
        if set(np.unique(chance)) <= {0, 1}:
            things += [((int(row), int(col)), colour, False) for row, col in np.argwhere(chance)]
        else:
            cells = mix(cells, np.array(colour, float), np.cbrt(chance))
    middle = chances.shape[0] // 2
    return draw_things(np.rint(cells).astype(np.uint8), [*things, ((middle, middle), AGENT, True)], cell_pixels)


def belief_panel(episodes: Recording, episode: int, t: int, objects: Sequence[int], cell_pixels: int) -> Picture:
    """Where the agent believes these objects are; a frame in the object's colour marks where each is."""
    colours = colours_of(episodes)
    cells = _ground(episodes.walls, KNOWN_WALL).astype(float)
    for i in objects:
        heat = np.cbrt(episodes.belief[episode, t, i].astype(float))
        cells = mix(cells, np.array(colours[i], float), heat)
    agent = [(cell_of(episodes.agent[episode, t]), AGENT, True)]
    image = draw_things(np.rint(cells).astype(np.uint8), agent, cell_pixels)
    for i in objects:
        _frame(image, cell_of(episodes.objects[episode, t, i]), marked(colours[i]), cell_pixels)
    return image


def marked(colour: RGB) -> RGB:
    """The colour of the frame that says where an object truly is."""
    r, g, b = (round(c + MARK_LIGHT * (255 - c)) for c in colour)
    return r, g, b


def heat_scale(colour: RGB, width: int, height: int) -> Picture:
    """A bar of the heat map's colours, probability 0 to 1 from left to right."""
    heat = np.cbrt(np.linspace(0, 1, width))[None].repeat(height, axis=0)
    return np.rint(mix(np.array(FLOOR, float), np.array(colour, float), heat)).astype(np.uint8)


def _ground(walls: np.ndarray, wall: Sequence[int]) -> Picture:
    return np.where(walls[..., None], np.array(wall, np.uint8), np.array(FLOOR, np.uint8))


def mix(low: Any, high: Any, share: Any) -> Any:
    """Between two colours, of NumPy or of JAX."""
    return low + share[..., None] * (high - low)


def _frame(image: Picture, cell: tuple[int, int], colour: RGB, cell_pixels: int) -> None:
    row, col = cell
    tile = image[row * cell_pixels : (row + 1) * cell_pixels, col * cell_pixels : (col + 1) * cell_pixels]
    width = max(1, cell_pixels // 8)
    is_inside = np.zeros(tile.shape[:2], bool)
    is_inside[width:-width, width:-width] = True
    tile[~is_inside] = colour
