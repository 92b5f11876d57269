"""The two maps as sets of (row, col) cells, written from their description, and shortest paths on them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

Cell = tuple[int, int]
UP, DOWN, RIGHT, LEFT = (-1, 0), (1, 0), (0, 1), (0, -1)

MAZE = """
#########################
#55555#######44444#######
#55555       44444    ###
#55555#######44444### ###
#55555#######44444### ###
##################### ###
##################### ###
####000#1111#######33333#
####0P0 1111#######33333#
####000#1111#######33333#
########1111#######33333#
########### ######### ###
########### ######### ###
#           ######### ###
# ################### ###
# ################222222#
# ########        222222#
# ######## #######222222#
# ######## #######222222#
#          #######222222#
#########################
"""


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
    """Rooms 0-5 in a chain; the agent starts in room 0."""
    rows = MAZE.strip().split("\n")
    chars = {(r, c): char for r, row in enumerate(rows) for c, char in enumerate(row)}
    (start,) = (cell for cell, char in chars.items() if char == "P")
    chars[start] = "0"
    return Map(
        shape=(len(rows), len(rows[0])),
        free=frozenset(cell for cell, char in chars.items() if char != "#"),
        rooms={f"room{i}": [cell for cell, char in chars.items() if char == str(i)] for i in range(6)},
        start=start,
    )


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
