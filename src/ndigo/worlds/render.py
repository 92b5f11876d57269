"""Pictures of a grid world: an RGB array and terminal text, drawn from its map and a `Truth`.

Objects take the colours of their kinds (`ndigo.palette`), which all eyes can tell apart; the agent is
a white diamond, the only thing that is not a square. The cells the agent sees are lighter. All of it
is NumPy: a frame calls nothing in JAX.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, UInt8

from ndigo.errors import NdigoError
from ndigo.palette import RGB, object_colours
from ndigo.types import Truth
from ndigo.worlds.grid_world import Grid
from ndigo.worlds.world import World

FLOOR: RGB = (16, 18, 23)
WALL: RGB = (98, 101, 110)
AGENT: RGB = (255, 255, 255)
SEEN_LIGHT = 0.15  # how far towards white a cell in view is drawn
PANEL_SCALE = 3  # side of a cell in the view's panel, in cells of the map
AGENT_LABEL = "@"


@dataclass(frozen=True)
class LegendEntry:
    """How one object is drawn."""

    name: str
    kind: str
    label: str  # one or two characters
    colour: RGB


def legend(world: World) -> tuple[LegendEntry, ...]:
    """The label and colour of each object, in the world's order.

    A label is the name's initial, with its last digit if it ends in one ("fixed2": F2); where two
    would be equal, every object is labelled by its number.
    """
    objects = _grid(world).objects
    labels = [o.name[0].upper() + (o.name[-1] if o.name[-1].isdigit() else "") for o in objects]
    if len(set(labels)) < len(labels):
        labels = [str(i + 1) for i in range(len(objects))]
    return tuple(
        LegendEntry(name=o.name, kind=o.kind, label=label, colour=colour)
        for o, label, colour in zip(objects, labels, object_colours([o.kind for o in objects]), strict=True)
    )


def render_rgb(
    world: World, truth: Truth, cell_pixels: int = 16, show_view: bool = True, show_panel: bool = False
) -> UInt8[np.ndarray, "H W 3"]:
    """The whole map as an image, `cell_pixels` to a cell.

    `show_view` lightens the cells the agent sees; `show_panel` adds its view, enlarged, on the right.
    """
    if cell_pixels < 3:
        raise NdigoError(f"cell_pixels {cell_pixels}: a cell needs at least 3 pixels to show what is in it")
    grid = _grid(world)
    cells = _background(grid)
    image = draw_things(lit(cells, _in_view(grid, truth)) if show_view else cells, _things(world, truth), cell_pixels)
    if not show_panel:
        return image
    row, col = cell_of(truth.agent)
    reach = grid.view // 2
    crop = np.full((grid.view, grid.view, 3), WALL, np.uint8)  # outside the map is wall
    (rows, cols), (map_rows, map_cols) = _overlap(grid, row, col)
    crop[rows, cols] = cells[map_rows, map_cols]
    things = [
        ((r - row + reach, c - col + reach), colour, is_agent)
        for (r, c), colour, is_agent in _things(world, truth)
        if max(abs(r - row), abs(c - col)) <= reach
    ]
    # No taller than the map: a wide view on a small map is drawn with smaller cells.
    panel_pixels = max(3, min(PANEL_SCALE * cell_pixels, len(image) // grid.view))
    panel = draw_things(lit(crop, np.ones(crop.shape[:2], bool)), things, panel_pixels)
    height = max(len(image), len(panel))
    return np.hstack([_centred(part, height) for part in (image, np.zeros((1, cell_pixels, 3), np.uint8), panel)])


def render_ansi(
    world: World,
    truth: Truth,
    show_view: bool = True,
    show_panel: bool = False,
    show_map: bool = True,
    colour: bool = True,
) -> str:
    """The whole map as text, two characters to a cell and one line to a row.

    In colour unless told otherwise; without it, walls are `##` and cells in view `·`. Without the map
    it is the panel alone: what the agent sees.
    """
    grid = _grid(world)
    seen = _in_view(grid, truth)
    labels = {cell_of(cell): (entry.label, entry.colour) for cell, entry in _objects_of(world, truth)}
    labels[cell_of(truth.agent)] = (AGENT_LABEL, AGENT)

    def draw(row: int, col: int, is_lit: bool) -> str:
        inside = 0 <= row < grid.layout.shape[0] and 0 <= col < grid.layout.shape[1]
        is_wall = not (inside and grid.layout.is_free[row, col])
        ground = _towards_white(WALL if is_wall else FLOOR) if is_lit else (WALL if is_wall else FLOOR)
        label, ink = labels.get((row, col), ("##", ground) if is_wall else ("·" if is_lit else "", ground))
        text = f"{label:<2}"
        return in_colours(text, ink, ground) if colour else text

    row, col = cell_of(truth.agent)
    reach = range(-(grid.view // 2), grid.view // 2 + 1)
    panel = ["".join(draw(row + i, col + j, True) for j in reach) for i in reach]
    if not show_map:
        return "\n".join(panel)
    rows, cols = grid.layout.shape
    lines = ["".join(draw(r, c, show_view and bool(seen[r, c])) for c in range(cols)) for r in range(rows)]
    if show_panel:
        lines += ["  " * cols] * (len(panel) - len(lines))
        top = (len(lines) - len(panel)) // 2
        lines[top : top + len(panel)] = [
            f"{line}  {view}" for line, view in zip(lines[top : top + len(panel)], panel, strict=True)
        ]
    return "\n".join(lines)


def _grid(world: World) -> Grid:
    if world.grid is None:
        raise NdigoError(f"world {world.name!r} has no map to draw")
    return world.grid


def cell_of(cell: Any) -> tuple[int, int]:
    """(row, col) in plain numbers."""
    row, col = np.asarray(cell).tolist()
    return row, col


def _objects_of(world: World, truth: Truth) -> Iterator[tuple[np.ndarray, LegendEntry]]:
    return zip(np.asarray(truth.objects), legend(world), strict=True)


def _things(world: World, truth: Truth) -> list[tuple[tuple[int, int], RGB, bool]]:
    """What stands where: cell, colour, whether it is the agent."""
    things = [(cell_of(cell), entry.colour, False) for cell, entry in _objects_of(world, truth)]
    return [*things, (cell_of(truth.agent), AGENT, True)]


def _background(grid: Grid) -> UInt8[np.ndarray, "rows cols 3"]:
    return np.where(grid.layout.is_free[..., None], np.array(FLOOR, np.uint8), np.array(WALL, np.uint8))


def _in_view(grid: Grid, truth: Truth) -> Bool[np.ndarray, "rows cols"]:
    seen = np.zeros(grid.layout.shape, bool)
    seen[_overlap(grid, *cell_of(truth.agent))[1]] = True
    return seen


def _overlap(grid: Grid, row: int, col: int) -> tuple[tuple[slice, slice], tuple[slice, slice]]:
    """Where the view at (row, col) and the map meet: as slices of the view, and of the map."""
    reach = grid.view // 2
    view, on_map = [], []
    for at, size in zip((row, col), grid.layout.shape, strict=True):
        start, stop = max(at - reach, 0), min(at + reach + 1, size)
        on_map.append(slice(start, stop))
        view.append(slice(start - at + reach, stop - at + reach))
    return (view[0], view[1]), (on_map[0], on_map[1])


def _towards_white(rgb: RGB) -> RGB:
    r, g, b = (round(c + SEEN_LIGHT * (255 - c)) for c in rgb)
    return r, g, b


def lit(cells: UInt8[np.ndarray, "rows cols 3"], is_lit: Bool[np.ndarray, "rows cols"]) -> np.ndarray:
    """Cells in view, towards white."""
    lighter = np.rint(cells + SEEN_LIGHT * (255.0 - cells)).astype(np.uint8)
    return np.where(is_lit[..., None], lighter, cells)


def draw_things(cells: np.ndarray, things: list[tuple[tuple[int, int], RGB, bool]], cell_pixels: int) -> np.ndarray:
    """The cells enlarged, with a square for each object and a diamond for the agent."""
    image = cells.repeat(cell_pixels, axis=0).repeat(cell_pixels, axis=1)
    from_centre = abs(np.arange(cell_pixels) - (cell_pixels - 1) / 2)
    inset = cell_pixels / 2 - max(1, cell_pixels // 8)
    square = np.maximum(from_centre[:, None], from_centre) < inset
    diamond = from_centre[:, None] + from_centre < cell_pixels / 2
    for (row, col), colour, is_agent in things:
        tile = image[row * cell_pixels : (row + 1) * cell_pixels, col * cell_pixels : (col + 1) * cell_pixels]
        tile[diamond if is_agent else square] = colour
    return image


def _centred(image: np.ndarray, height: int) -> np.ndarray:
    above = (height - len(image)) // 2
    return np.pad(image, ((above, height - len(image) - above), (0, 0), (0, 0)))


def in_colours(text: str, ink: Sequence[int], ground: Sequence[int]) -> str:
    """The text for a terminal."""
    front, back = (";".join(map(str, rgb)) for rgb in (ink, ground))
    return f"\x1b[38;2;{front};48;2;{back}m{text}\x1b[0m"
