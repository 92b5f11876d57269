"""The 5 rooms with another start and other objects, for closed forms."""

from __future__ import annotations

from ndigo.worlds import Object, World, grid_world, read_layout
from ndigo.worlds.five_rooms import DRAWING, LEGEND


def five_rooms(start: tuple[int, int], *objects: Object, num_steps: int = 400) -> World:
    rows = [list(row) for row in DRAWING.strip("\n").replace("P", "C").split("\n")]
    rows[start[0]][start[1]] = "P"
    return grid_world("five rooms", read_layout("\n".join(map("".join, rows)), LEGEND), objects, num_steps=num_steps)
