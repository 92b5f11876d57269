"""The two maps as sets of (row, col) cells, written from their description, and shortest paths on them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

Cell = tuple[int, int]
UP, DOWN, RIGHT, LEFT = (-1, 0), (1, 0), (0, 1), (0, -1)

# The maze's rooms as (first row, first col, last row, last col), and the corridor from each to the next as its corners.
MAZE_ROOMS = [(7, 4, 9, 6), (7, 8, 10, 11), (15, 18, 19, 23), (7, 19, 10, 23), (1, 13, 4, 17), (1, 1, 4, 5)]
MAZE_CORRIDORS = [
    [(8, 7), (8, 7)],
    [(11, 11), (13, 11), (13, 4), (16, 4), (16, 17)],
    [(14, 21), (11, 21)],
    [(6, 21), (2, 21), (2, 18)],
    [(2, 12), (2, 6)],
]
MAZE_SHAPE, MAZE_START = (21, 25), (8, 5)


@dataclass(frozen=True)
class Map:
    shape: tuple[int, int]
    free: frozenset[Cell]
    rooms: dict[str, list[Cell]]  # each in reading order
    start: Cell

    def mouths(self, room: str) -> set[Cell]:
        """The room's cells that touch a door or corridor."""
        inside = set(self.rooms[room])
        return {cell for cell in inside if any(n in self.free - inside for n in neighbours(cell))}

    def in_view(self, agent: Cell, view: int = 5) -> set[Cell]:
        """The free cells of the square window centred on the agent; walls hide nothing."""
        half = view // 2
        return {(r, c) for r, c in self.free if abs(r - agent[0]) <= half and abs(c - agent[1]) <= half}


def five_rooms() -> Map:
    """Four trapezia of 15 + 13 + 11 + 9 cells around a 5x5 centre, one-cell doors two cells long."""
    upper = [(r, c) for r in range(1, 5) for c in range(r + 1, 18 - r)]
    rooms = {
        "upper": upper,
        "lower": [(18 - r, c) for r, c in upper],
        "left": [(c, r) for r, c in upper],
        "right": [(c, 18 - r) for r, c in upper],
        "centre": [(r, c) for r in range(7, 12) for c in range(7, 12)],
    }
    doors = {(5, 9), (6, 9), (12, 9), (13, 9), (9, 5), (9, 6), (9, 12), (9, 13)}
    return Map(
        shape=(19, 19),
        free=frozenset(doors.union(*rooms.values())),
        rooms={name: sorted(cells) for name, cells in rooms.items()},
        start=(9, 9),
    )


def maze() -> Map:
    """Rooms 0-5 in a chain, each a rectangle, joined by corridors one cell wide; the agent starts in room 0."""
    rooms = {f"room{i}": _rectangle(*corners) for i, corners in enumerate(MAZE_ROOMS)}
    corridors = [
        cell for corners in MAZE_CORRIDORS for a, b in pairwise(corners) for cell in _rectangle(*min(a, b), *max(a, b))
    ]
    return Map(MAZE_SHAPE, frozenset(corridors).union(*rooms.values()), rooms, MAZE_START)


def _rectangle(top: int, left: int, bottom: int, right: int) -> list[Cell]:
    return [(r, c) for r in range(top, bottom + 1) for c in range(left, right + 1)]


def neighbours(cell: Cell) -> list[Cell]:
    return [(cell[0] + dr, cell[1] + dc) for dr, dc in (UP, DOWN, RIGHT, LEFT)]


def distances(free: Iterable[Cell], origin: Cell) -> dict[Cell, int]:
    """Steps of a shortest path from `origin` to every cell that can be reached."""
    free, steps, frontier = set(free), {origin: 0}, [origin]
    while frontier:
        cell = frontier.pop(0)
        for n in neighbours(cell):
            if n in free and n not in steps:
                steps[n] = steps[cell] + 1
                frontier.append(n)
    return steps
