"""A slow simulator of the five experiments, written from their description and from no code of ours.

Cells are (row, col) pairs, maps are sets, everything is a loop. A random choice among n options
takes number floor(word * n / 2^32) of them in reading order, with `word` a uniform 32-bit number
given from outside: under the same words two simulators must agree on the random parts too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from reference.maps import DOWN, LEFT, RIGHT, UP, Cell, Map, five_rooms, maze

T = TypeVar("T")

MOVES = ((0, 0), UP, DOWN, RIGHT, LEFT)  # by action
DIRECTIONS = (UP, DOWN, RIGHT, LEFT)
START_WORDS = {"fixed": 1, "bouncing": 2, "brownian": 1, "white_noise": 1, "movable": 1}
MOVE_WORDS = {"fixed": 0, "bouncing": 0, "brownian": 1, "white_noise": 1, "movable": 1}


@dataclass
class Thing:
    """An object; its cell and direction are those of the running episode."""

    kind: str
    rooms: tuple[str, ...]
    spares_mouths: bool = False  # never starts where a corridor meets its room
    cell: Cell = (-1, -1)
    direction: Cell = (0, 0)


@dataclass
class Simulator:
    map: Map
    things: list[Thing]
    view: int = 5
    agent: Cell = field(init=False)

    @property
    def num_reset_words(self) -> int:
        return sum(START_WORDS[thing.kind] for thing in self.things)

    @property
    def num_step_words(self) -> int:
        return sum(MOVE_WORDS[thing.kind] for thing in self.things)

    def reset(self, words: Sequence[int]) -> None:
        """The agent at its start, every object at a random cell of its rooms."""
        draws = iter(words)
        self.agent = self.map.start
        for thing in self.things:
            cells = [cell for room in thing.rooms for cell in self.map.rooms[room] if cell != self.agent]
            if thing.spares_mouths:
                cells = [cell for cell in cells if not any(cell in self.map.mouths(room) for room in thing.rooms)]
            thing.cell = choose(next(draws), cells)
            if thing.kind == "bouncing":
                thing.direction = choose(next(draws), DIRECTIONS)

    def step(self, words: Sequence[int], action: int) -> None:
        """The agent moves first, then the objects."""
        draws = iter(words)
        target = moved(self.agent, MOVES[action])
        bumped = next((t for t in self.things if t.kind != "white_noise" and t.cell == target), None)
        if target in self.map.free and bumped is None:
            self.agent = target
        for thing in self.things:
            self._move(thing, draws, is_bumped=thing is bumped)

    def observe(self) -> np.ndarray:
        """[V, V, C]: walls, then one channel per object; outside the map is wall."""
        half = self.view // 2
        o_t = np.zeros((self.view, self.view, 1 + len(self.things)), np.uint8)
        for i in range(self.view):
            for j in range(self.view):
                cell = (self.agent[0] + i - half, self.agent[1] + j - half)
                o_t[i, j, 0] = cell not in self.map.free
                for n, thing in enumerate(self.things):
                    o_t[i, j, 1 + n] = cell == thing.cell
        return o_t

    def _move(self, thing: Thing, draws: Iterator[int], is_bumped: bool) -> None:
        (room,) = (cells for cells in self.map.rooms.values() if thing.cell in cells)
        if thing.kind == "bouncing":
            for direction in (thing.direction, (-thing.direction[0], -thing.direction[1])):
                target = moved(thing.cell, direction)
                if target in room and target != self.agent:
                    thing.cell, thing.direction = target, direction
                    break
        elif thing.kind == "brownian":
            target = moved(thing.cell, choose(next(draws), DIRECTIONS))
            if target in room and target != self.agent:
                thing.cell = target
        elif thing.kind == "white_noise":
            thing.cell = choose(next(draws), [cell for cell in room if cell != self.agent])
        elif thing.kind == "movable":
            word = next(draws)
            if is_bumped:
                thing.cell = choose(word, [cell for cell in room if cell not in (thing.cell, self.agent)])


def choose(word: int, options: Sequence[T]) -> T:
    return options[int(word) * len(options) >> 32]


def moved(cell: Cell, direction: Cell) -> Cell:
    return cell[0] + direction[0], cell[1] + direction[1]


SIMULATORS: dict[str, Callable[[], Simulator]] = {
    "exp1": lambda: Simulator(five_rooms(), [Thing("fixed", ("upper",)), Thing("white_noise", ("lower",))]),
    "exp2": lambda: Simulator(
        five_rooms(), [Thing("fixed", ("upper", "left", "right")), Thing("white_noise", ("lower",))]
    ),
    "exp3": lambda: Simulator(
        five_rooms(),
        [Thing("bouncing", ("upper",)), Thing("bouncing", ("lower",)), Thing("white_noise", ("right",))],
    ),
    "exp4": lambda: Simulator(five_rooms(), [Thing("brownian", ("upper",)), Thing("fixed", ("lower",))]),
    "exp5": lambda: Simulator(
        maze(),
        [
            Thing("white_noise", ("room1",)),
            *(Thing("fixed", (f"room{i}",), spares_mouths=True) for i in (2, 3, 4)),
            Thing("movable", ("room5",)),
        ],
    ),
}
