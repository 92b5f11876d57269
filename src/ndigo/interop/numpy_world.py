"""One copy of a grid world, stepped in plain Python.

A jitted step of a single world spends its time on the way into and out of JAX; here a step is a few
list look-ups. The dynamics are `ndigo.worlds.objects` written a second time, on the same tables and
the same uniform words, and a test holds the two equal step by step under injected words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import UInt8

from ndigo.errors import NdigoError
from ndigo.interop.outcome import Outcome, has_outcomes
from ndigo.types import Truth
from ndigo.worlds import KINDS, Object, World
from ndigo.worlds.layout import NEIGHBOURS
from ndigo.worlds.objects import FAR, Places

NOTHING = Outcome(reward=0.0, is_over=False, is_terminated=False)  # of every step of a grid world


class Mover:
    """One object: where it is, and the tables of its rooms as lists (see `Places`)."""

    __slots__ = ("cell", "cells", "direction", "move", "neighbour", "rank", "room_of", "start_cells")

    def __init__(self, o: Object, places: Places) -> None:
        if o.kind not in MOVES:
            raise NdigoError(f"object {o.name!r}: kind {o.kind!r} has no plain-Python form; known: {', '.join(MOVES)}")
        sizes = np.asarray(places.sizes).tolist()
        self.start_cells: list[int] = np.asarray(places.start_cells).tolist()
        self.cells: list[list[int]] = [
            room[:size] for room, size in zip(np.asarray(places.cells).tolist(), sizes, strict=True)
        ]
        self.room_of: list[int] = np.asarray(places.room_of).tolist()
        self.rank: list[int] = np.asarray(places.rank).tolist()
        self.neighbour: list[list[int]] = np.asarray(places.neighbour).tolist()
        self.move = MOVES[o.kind]
        self.cell = self.start_cells[0]
        self.direction = 0

    def start(self, words: Sequence[int]) -> None:
        self.cell = self.start_cells[below(words[0], len(self.start_cells))]
        if len(words) > 1:
            self.direction = below(words[1], 4)

    def agents_rank(self, room: int, agent: int) -> int:
        return self.rank[agent] if self.room_of[agent] == room else FAR


def below(word: int, n: int) -> int:
    """A uniform integer in 0..n-1 from a uniform 32-bit word."""
    return word * n >> 32


def bounce(o: Mover, word: int, agent: int, is_bumped: bool) -> None:
    in_front = o.neighbour[o.cell][o.direction]
    if in_front >= 0 and in_front != agent:
        o.cell = in_front
        return
    o.direction ^= 1
    behind = o.neighbour[o.cell][o.direction]
    if behind >= 0 and behind != agent:
        o.cell = behind


def wander(o: Mover, word: int, agent: int, is_bumped: bool) -> None:
    target = o.neighbour[o.cell][word >> 30]
    if target >= 0 and target != agent:
        o.cell = target


def flicker(o: Mover, word: int, agent: int, is_bumped: bool) -> None:
    room = o.room_of[o.cell]
    cells, agents = o.cells[room], o.agents_rank(room, agent)
    j = below(word, len(cells) - (agents < FAR))
    o.cell = cells[j + (j >= agents)]


def jump_when_bumped(o: Mover, word: int, agent: int, is_bumped: bool) -> None:
    if not is_bumped:
        return
    room = o.room_of[o.cell]
    cells, agents, own = o.cells[room], o.agents_rank(room, agent), o.rank[o.cell]
    j = below(word, len(cells) - 1 - (agents < FAR))
    j += j >= min(own, agents)
    j += j >= max(own, agents)
    o.cell = cells[j]


MOVES: dict[str, Callable[[Mover, int, int, bool], None] | None] = {
    "fixed": None,
    "bouncing": bounce,
    "brownian": wander,
    "white_noise": flicker,
    "movable": jump_when_bumped,
}


class NumpyWorld:
    """A mutable world: `reset_from` and `step_from` move it, `observe` and `truth` look at it.

    Words are uniform 32-bit integers, `num_reset_words` a reset and `num_step_words` a step.
    """

    def __init__(self, world: World) -> None:
        if world.grid is None:
            raise NdigoError(f"world {world.name!r} has no map; only grid worlds step in plain Python")
        if has_outcomes(world):
            raise NdigoError(f"world {world.name!r} has a task or ends of its own, which plain Python cannot read")
        if world.own_grid is None:
            raise NdigoError(f"world {world.name!r} has functions of its own, which plain Python cannot read")
        grid = world.grid
        self.world = world
        self.num_reset_words, self.num_step_words = grid.num_reset_words, grid.num_step_words
        (rows, cols), stride = grid.layout.shape, grid.stride
        free = np.pad(grid.layout.is_free, ((0, 0), (0, stride - cols))).ravel().tolist()
        moves = [0, *(dr * stride + dc for dr, dc in NEIGHBOURS)]
        # The map's border is wall, so a neighbour of a free cell is a cell of the map.
        self._walk = [
            [cell + m if is_cell_free and free[cell + m] else cell for m in moves]
            for cell, is_cell_free in enumerate(free)
        ]
        self._start = grid.layout.start[0] * stride + grid.layout.start[1]
        self._movers = [Mover(o, places) for o, places in zip(grid.objects, grid.places, strict=True)]
        self._blocking = [mover for o, mover in zip(grid.objects, self._movers, strict=True) if o.is_blocking]
        # Each moving object with the index of its word; -1 for one that reads none.
        self._moving: list[tuple[Mover, Callable[[Mover, int, int, bool], None], int]] = []
        word = 0
        for o, mover in zip(grid.objects, self._movers, strict=True):
            if mover.move is not None:
                self._moving.append((mover, mover.move, word if KINDS[o.kind].move_words else -1))
            word += KINDS[o.kind].move_words
        self._start_words = [KINDS[o.kind].start_words for o in grid.objects]
        self._only_walls = _only_walls(world)
        # Where in a flat observation an object's channel is 1, by cell(object) - cell(agent).
        reach = range(-(grid.view // 2), grid.view // 2 + 1)
        offsets = [di * stride + dj for di in reach for dj in reach]
        num_channels = world.shape[-1]
        self._seen_at = [
            {offset: i * num_channels + 1 + n for i, offset in enumerate(offsets)} for n in range(len(self._movers))
        ]
        self._place = [divmod(cell, stride) for cell in range(rows * stride)]
        self.agent = self._start

    def reset_from(self, words: Sequence[int]) -> None:
        """Starts an episode from `num_reset_words` uniform words."""
        self.agent = self._start
        at = 0
        for mover, count in zip(self._movers, self._start_words, strict=True):
            mover.start(words[at : at + count])
            at += count

    def step_from(self, words: Sequence[int], action: int) -> None:
        """Moves the agent, then the objects, from `num_step_words` uniform words."""
        target = self._walk[self.agent][action]
        bumped = None
        for mover in self._blocking:
            if mover.cell == target:
                bumped = mover
        if bumped is None:
            self.agent = target
        for mover, move, word in self._moving:
            move(mover, words[word] if word >= 0 else 0, self.agent, mover is bumped)

    def observe(self) -> UInt8[np.ndarray, "V V C"]:
        """Channel 0 walls, then one channel per object; the array is the caller's to keep."""
        agent = self.agent
        o_t = self._only_walls[agent].copy()
        for mover, seen_at in zip(self._movers, self._seen_at, strict=False):
            at = seen_at.get(mover.cell - agent)
            if at is not None:
                o_t[at] = 1
        return o_t.reshape(self.world.shape)

    def outcome(self) -> Outcome:
        return NOTHING

    def cells(self) -> dict[str, np.ndarray]:
        """(row, col) of the agent [2] and of the objects [N, 2]."""
        place = self._place
        return {
            "agent": np.array(place[self.agent]),
            "objects": np.array([place[mover.cell] for mover in self._movers]).reshape(-1, 2),
        }

    def truth(self) -> Truth:
        """Where everything is, in NumPy arrays."""
        cells: Any = self.cells()
        return Truth(agent=cells["agent"], objects=cells["objects"])


def _only_walls(world: World) -> list[UInt8[np.ndarray, " VVC"]]:
    """The flat observation from each flat cell, were the world empty."""
    assert world.grid is not None
    layout, view, stride = world.grid.layout, world.grid.view, world.grid.stride
    is_wall = np.pad(~layout.is_free, view // 2, constant_values=True)
    frames = np.zeros((layout.shape[0], stride, *world.shape), np.uint8)
    for row, col in np.argwhere(layout.is_free):
        frames[row, col, ..., 0] = is_wall[row : row + view, col : col + view]
    return list(frames.reshape(layout.shape[0] * stride, -1))
