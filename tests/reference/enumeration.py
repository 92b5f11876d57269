"""Brute force on tiny maps: the joint distribution over every state of a world, in float64.

Written from the rules of the worlds, cell by cell and object by object, with no code of the package: a
state is (agent, ((cell, direction), ...)), a distribution is a dictionary from states to
probabilities, and a posterior is a sum over all of them. No independence is assumed anywhere.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

Cell = tuple[int, int]
State = tuple[Cell, tuple[tuple[Cell, int], ...]]
Distribution = dict[State, float]
MOVES = ((0, 0), (-1, 0), (1, 0), (0, 1), (0, -1))  # stay, up, down, right, left
BACK = (0, 2, 1, 4, 3)


class Thing(NamedTuple):
    kind: str
    rooms: str  # one letter of the drawing per room
    blocks: bool


class Enumeration:
    """All states of a drawn world. The start `P` belongs to the room of the letter given."""

    def __init__(self, drawing: str, start_room: str, things: Sequence[Thing], view: int) -> None:
        rows = drawing.strip("\n").split("\n")
        self.start = next((r, row.index("P")) for r, row in enumerate(rows) if "P" in row)
        self.letter = {(r, c): ch for r, row in enumerate(rows) for c, ch in enumerate(row) if ch != "#"}
        self.letter[self.start] = start_room
        self.things, self.half = things, view // 2

    def room(self, cell: Cell) -> set[Cell]:
        return {c for c, letter in self.letter.items() if letter == self.letter[cell]}

    def initial(self) -> Distribution:
        choices = []
        for thing in self.things:
            cells = [c for c, letter in sorted(self.letter.items()) if letter in thing.rooms and c != self.start]
            directions = (1, 2, 3, 4) if thing.kind == "bouncing" else (0,)
            choices.append([(c, d) for c in cells for d in directions])
        states = list(itertools.product(*choices))
        return {(self.start, objects): 1 / len(states) for objects in states}

    def _object_moves(self, thing: Thing, place: tuple[Cell, int], agent: Cell, bumped: bool):
        """The (place, probability) pairs after one move of one object."""
        cell, direction = place
        room = self.room(cell)

        def beside(d: int) -> Cell | None:
            n = (cell[0] + MOVES[d][0], cell[1] + MOVES[d][1])
            return n if n in room and n != agent else None

        if thing.kind == "bouncing":
            ahead, behind = beside(direction), beside(BACK[direction])
            if ahead:
                return [((ahead, direction), 1.0)]
            return [((behind or cell, BACK[direction]), 1.0)]
        if thing.kind == "brownian":
            return [((beside(d) or cell, 0), 0.25) for d in (1, 2, 3, 4)]
        if thing.kind == "white_noise":
            free = sorted(room - {agent})
            return [((c, 0), 1 / len(free)) for c in free]
        if thing.kind == "movable" and bumped:
            free = sorted(room - {agent, cell})
            return [((c, 0), 1 / len(free)) for c in free]
        return [(place, 1.0)]

    def step(self, p: Distribution, action: int) -> Distribution:
        after: Distribution = defaultdict(float)
        for (agent, objects), weight in p.items():
            target = (agent[0] + MOVES[action][0], agent[1] + MOVES[action][1])
            if target not in self.letter:
                target = agent
            bumped = [thing.blocks and cell == target for thing, (cell, _) in zip(self.things, objects, strict=True)]
            agent_ = agent if any(bumped) else target
            options = [
                self._object_moves(thing, place, agent_, b)
                for thing, place, b in zip(self.things, objects, bumped, strict=True)
            ]
            for combination in itertools.product(*options):
                places = tuple(place for place, _ in combination)
                after[agent_, places] += weight * float(np.prod([q for _, q in combination]))
        return dict(after)

    def walls(self, agent: Cell) -> tuple[bool, ...]:
        span = range(-self.half, self.half + 1)
        return tuple((agent[0] + i, agent[1] + j) not in self.letter for i in span for j in span)

    def seen(self, agent: Cell, cell: Cell) -> Cell | None:
        """The object's place in the view, or None."""
        offset = (cell[0] - agent[0], cell[1] - agent[1])
        return offset if max(map(abs, offset)) <= self.half else None

    def observe(self, state: State) -> tuple:
        agent, objects = state
        return (self.walls(agent), *(self.seen(agent, cell) for cell, _ in objects))

    def condition(self, p: Distribution, observation: tuple) -> Distribution:
        kept = {s: w for s, w in p.items() if self.observe(s) == observation}
        total = sum(kept.values())
        return {s: w / total for s, w in kept.items()}

    def observations(self, p: Distribution) -> dict[tuple, float]:
        """The distribution of the frame."""
        out: dict[tuple, float] = defaultdict(float)
        for s, w in p.items():
            out[self.observe(s)] += w
        return dict(out)

    def channel(self, p: Distribution, observation: tuple, c: int) -> float:
        """The probability of channel c of the frame alone."""
        return sum(w for s, w in p.items() if self.observe(s)[c] == observation[c])

    def sample(self, rng: np.random.Generator, p: Distribution) -> State:
        states = list(p)
        return states[rng.choice(len(states), p=np.array(list(p.values())) / sum(p.values()))]

    def frame(self, state: State) -> np.ndarray:
        """The observation as the package's array: walls, then one channel per object."""
        side = 2 * self.half + 1
        o = np.zeros((side, side, 1 + len(self.things)), np.uint8)
        walls, *seen = self.observe(state)
        o[..., 0] = np.reshape(walls, (side, side))
        for i, offset in enumerate(seen):
            if offset is not None:
                o[offset[0] + self.half, offset[1] + self.half, 1 + i] = 1
        return o
