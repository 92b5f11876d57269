"""Maps as drawings: read, checked when built, and named by row and column when wrong.

#  wall          P  the agent's start (it belongs to the room around it)
blank  a door or corridor, part of no room
any other character  a cell of the room that the legend gives that character
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from ndigo.errors import NdigoError

WALL, CORRIDOR, START = "#", " ", "P"
NEIGHBOURS = ((-1, 0), (1, 0), (0, 1), (0, -1))


@dataclass(frozen=True, eq=False)
class Layout:
    """A checked map. `room_of` is -1 in walls, doors and corridors."""

    rooms: tuple[str, ...]
    is_free: Bool[np.ndarray, "rows cols"]
    room_of: Int[np.ndarray, "rows cols"]
    start: tuple[int, int]

    @property
    def shape(self) -> tuple[int, int]:
        return self.is_free.shape  # type: ignore[return-value]

    def cells_of(self, room: str) -> list[tuple[int, int]]:
        """The room's cells in reading order."""
        return [(int(r), int(c)) for r, c in np.argwhere(self.room_of == self.rooms.index(room))]

    def is_mouth(self, cell: tuple[int, int]) -> bool:
        """True for a room's cell next to a door or corridor: a thing there cuts the way."""
        return any(self.is_free[n] and self.room_of[n] != self.room_of[cell] for n in _neighbours(cell))


def read_layout(drawing: str, legend: Mapping[str, str]) -> Layout:
    """The map in `drawing`; raises an error that names the offending row and column."""
    if not isinstance(legend, Mapping):
        raise NdigoError(f"map legend is a {type(legend).__name__}, expected rooms by character, as {{'a': 'hall'}}")
    for char in legend:
        if len(char) != 1 or char in (WALL, CORRIDOR, START):
            raise NdigoError(f"map legend: {char!r} cannot stand for a room; use one character other than '# P'")
    rows = drawing.strip("\n").split("\n")
    width = len(rows[0])
    for r, row in enumerate(rows):
        if len(row) != width:
            raise NdigoError(f"map row {r}: {len(row)} columns, but row 0, the first, has {width}")
    chars = np.array([list(row) for row in rows])
    for r, c in np.argwhere(~np.isin(chars, [WALL, CORRIDOR, START, *legend])):
        allowed = "".join([WALL, CORRIDOR, START, *legend])
        raise NdigoError(f"map {_at(r, c)}: unknown character {rows[r][c]!r}; allowed: {allowed!r}")
    is_free = chars != WALL
    _check_closed(is_free)

    rooms = tuple(dict.fromkeys(legend.values()))
    room_of = np.full(chars.shape, -1)
    for char, room in legend.items():
        room_of[chars == char] = rooms.index(room)
    start = _find_start(chars)
    room_of[start] = max(room_of[n] for n in _neighbours(start))
    layout = Layout(rooms=rooms, is_free=is_free, room_of=room_of, start=start)
    _check_connected(layout)
    return layout


def reachable(is_free: Bool[Any, "rows cols"], start: tuple[int, int]) -> Bool[np.ndarray, "rows cols"]:
    """The cells one can walk to from `start`."""
    seen = np.zeros(is_free.shape, bool)
    seen[start] = True
    frontier = [start]
    while frontier:
        for n in _neighbours(frontier.pop()):
            if is_free[n] and not seen[n]:
                seen[n] = True
                frontier.append(n)
    return seen


def _at(row: int, column: int) -> str:
    return f"row {row}, column {column} (counted from 0)"


def _neighbours(cell: tuple[int, int]) -> list[tuple[int, int]]:
    return [(cell[0] + dr, cell[1] + dc) for dr, dc in NEIGHBOURS]


def _check_closed(is_free: Bool[np.ndarray, "rows cols"]) -> None:
    on_border = np.ones(is_free.shape, bool)
    on_border[1:-1, 1:-1] = False
    for r, c in np.argwhere(is_free & on_border):
        raise NdigoError(f"map {_at(r, c)}: the outer wall is open here; the border must be {WALL!r}")


def _find_start(chars: np.ndarray) -> tuple[int, int]:
    starts = [(int(r), int(c)) for r, c in np.argwhere(chars == START)]
    if not starts:
        raise NdigoError(f"map has no start; draw one {START!r}")
    if len(starts) > 1:
        r, c = starts[1]
        raise NdigoError(f"map {_at(r, c)}: a second start {START!r}; only one is allowed")
    return starts[0]


def _check_connected(layout: Layout) -> None:
    for r, c in np.argwhere(layout.is_free & ~reachable(layout.is_free, layout.start)):
        raise NdigoError(f"map {_at(r, c)}: cannot be reached from the start {layout.start}")
    for room in layout.rooms:
        cells = layout.cells_of(room)
        if not cells:
            raise NdigoError(f"map has no cell of room {room!r}, which its legend names")
        is_room = layout.room_of == layout.rooms.index(room)
        for r, c in np.argwhere(is_room & ~reachable(is_room, cells[0])):
            raise NdigoError(f"map {_at(r, c)}: room {room!r} is in two pieces here")
