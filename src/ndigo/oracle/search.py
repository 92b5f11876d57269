"""The path that finds a hidden object soonest: a limit that no agent can beat on average.

For an object that stays where it is, a searcher that has not seen it learns nothing but where it is
not, so its best policy is one path x_0, x_1, ..., and

    E[first visit] = sum_{t >= 0} P(not seen by frame t) = sum_y p(y) min {t : y in view from x_t}.

Paths are extended all at once, step by step, by  f = cost so far + h,

    h = sum over unseen y of p(y) * (fewest steps from here to a view of y)       (never too much),

until no path is left that could beat the best. Where there are too many, the `width` most promising of each
length are kept: by f + what it costs that rooms are swept one after the other, a guess. No dropped path
can cost less than its f, so the least f dropped is a `lower_bound`; where it reaches the cost, the path
is proven to be the best.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from ndigo.errors import NdigoError
from ndigo.oracle.exactness import free_cells, steps_to
from ndigo.oracle.filter import Tables, tables_of
from ndigo.worlds import World


@dataclass(frozen=True)
class SearchPath:
    actions: tuple[int, ...]
    expected_first_visit: float
    lower_bound: float  # no path does better than this

    @property
    def is_proven(self) -> bool:
        return self.lower_bound >= self.expected_first_visit - 1e-9


@dataclass(frozen=True, eq=False)
class _Paths:
    """Partial paths of one length, one a row."""

    cell: Int[np.ndarray, " P"]  # index into the free cells
    unseen: Bool[np.ndarray, "P S"]
    cost: Float[np.ndarray, " P"]
    parent: Int[np.ndarray, " P"]  # row of the path one step shorter
    action: Int[np.ndarray, " P"]

    def rows(self, which: np.ndarray) -> _Paths:
        return _Paths(self.cell[which], self.unseen[which], self.cost[which], self.parent[which], self.action[which])


def search_path(world: World, name: str, width: int = 4096) -> SearchPath:
    """The best path found to the object called `name`, which must be one that stays where it is."""
    if world.grid is None or name not in world.objects:
        raise NdigoError(f"world {world.name} has no object {name!r}; it has: {', '.join(world.objects)}")
    tables, i = tables_of(world.grid), world.objects.index(name)
    motion = tables.motions[i]
    if not motion.is_still:
        raise NdigoError(f"object {name!r} moves; a search path is for one that stays where it is")
    free = free_cells(tables)
    index = np.full(len(tables.walk), -1)
    index[free] = np.arange(len(free))
    walk = index[tables.walk[free]]
    p = motion.prior.sum(axis=0).astype(np.float64)
    is_possible = p > 0
    p, sees = p[is_possible] / p.sum(), tables.in_view[i][free][:, is_possible] > 0
    distance = steps_to(walk, sees.T).T  # [F, S]
    rooms = world.grid.layout.room_of[motion.cells // tables.stride, motion.cells % tables.stride][is_possible]

    start = index[tables.start]
    paths = _Paths(np.array([start]), ~sees[[start]], np.zeros(1), np.zeros(1, int), np.zeros(1, int))
    history: list[_Paths] = []
    best, best_end, lower_bound = np.inf, (0, 0), np.inf
    while len(paths.cell):
        is_done = ~paths.unseen.any(axis=1)
        if is_done.any() and paths.cost[is_done].min() < best:
            best = float(paths.cost[is_done].min())
            best_end = (len(history), int(np.flatnonzero(is_done)[paths.cost[is_done].argmin()]))
        history.append(paths)
        paths = _extend(paths, walk, sees, p)
        f = paths.cost + (paths.unseen * distance[paths.cell]) @ p
        hopeful = np.flatnonzero(f < best - 1e-12)
        if len(hopeful) > width:
            guess = paths.cost[hopeful] + _sweeps(paths.rows(hopeful), distance, p, rooms)
            order = np.argsort(guess, kind="stable")
            lower_bound = min(lower_bound, float(f[hopeful[order[width:]]].min()))
            hopeful = hopeful[order[:width]]
        paths = paths.rows(hopeful)

    step, row = best_end
    actions: list[int] = []
    while step > 0:
        actions.append(int(history[step].action[row]))
        row, step = int(history[step].parent[row]), step - 1
    return SearchPath(tuple(reversed(actions)), best, min(best, lower_bound))


def seek_path(world: World, name: str, width: int = 256) -> tuple[int, ...]:
    """Actions that go and look for an object: the best search found, or for one that moves, the shortest way to watch.

    The watch is kept at the cell from which most of the cells are in view where the object may be.
    """
    if world.grid is None or name not in world.objects:
        raise NdigoError(f"world {world.name} has no object {name!r}; it has: {', '.join(world.objects)}")
    tables, i = tables_of(world.grid), world.objects.index(name)
    if tables.motions[i].is_still:
        return search_path(world, name, width).actions
    free = free_cells(tables)
    toward = first_steps(tables, free)
    num_in_view = tables.in_view[i][free].sum(axis=1)

    def way(goal: int) -> tuple[int, ...]:
        cell, actions = tables.start, []
        while cell != free[goal]:
            actions.append(int(toward[goal, cell]))
            cell = tables.walk[cell, actions[-1]]
        return tuple(actions)

    return min(map(way, np.flatnonzero(num_in_view == num_in_view.max()).tolist()), key=len)


def first_steps(tables: Tables, free: np.ndarray) -> Int[np.ndarray, "G F"]:
    """The action that starts a shortest path from each flat cell to each free one; stay where they are one."""
    steps = steps_to(tables.walk, np.arange(len(tables.walk)) == free[:, None])
    return steps[:, tables.walk].argmin(axis=-1).astype(np.int32)


def _extend(paths: _Paths, walk: np.ndarray, sees: np.ndarray, p: np.ndarray) -> _Paths:
    """Every path one step longer, the cheapest of those that stand and have seen alike."""
    parent, action = np.divmod(np.arange(len(paths.cell) * walk.shape[1]), walk.shape[1])
    cell = walk[paths.cell[parent], action]
    unseen = paths.unseen[parent] & ~sees[cell]
    # Until the next frame, the object is unseen with the probability of all cells not yet seen.
    cost = paths.cost[parent] + paths.unseen[parent] @ p
    order = np.argsort(cost, kind="stable")
    keys = np.concatenate([cell[:, None].astype(np.uint16).view(np.uint8), np.packbits(unseen, axis=1)], axis=1)[order]
    keys = np.ascontiguousarray(keys).view(np.dtype((np.void, keys.shape[1]))).ravel()
    keep = order[np.unique(keys, return_index=True)[1]]  # the first, so the cheapest
    return _Paths(cell[keep], unseen[keep], cost[keep], parent[keep], action[keep])


def _sweeps(paths: _Paths, distance: np.ndarray, p: np.ndarray, rooms: np.ndarray) -> Float[np.ndarray, " P"]:
    """A guess at the cost to come: the rooms with unseen cells swept one by one, in the best order."""
    names = np.unique(rooms)
    away = distance[paths.cell]
    mass, near, far = (np.zeros((len(names), len(paths.cell))) for _ in range(3))
    for r, room in enumerate(names):
        unseen, d = paths.unseen[:, rooms == room], away[:, rooms == room]
        mass[r] = unseen @ p[rooms == room]
        near[r] = np.where(unseen, d, distance.max()).min(axis=1)
        far[r] = np.where(unseen, d, 0).max(axis=1)
    # From the end of one room's sweep to the first sight of the next.
    between = np.array(
        [
            [distance[(distance[:, rooms == r] == 0).any(axis=1)][:, rooms == s].min(axis=1).max() for s in names]
            for r in names
        ]
    )
    guesses = []
    for order in itertools.permutations(range(len(names))):
        cost, clock, last = np.zeros(len(paths.cell)), np.zeros(len(paths.cell)), np.full(len(paths.cell), -1)
        for r in order:
            arrival = np.where(last < 0, near[r], clock + between[last, r])
            sweep = far[r] - near[r]
            is_open = mass[r] > 0
            cost += np.where(is_open, mass[r] * (arrival + sweep / 2), 0)
            clock = np.where(is_open, arrival + sweep, clock)
            last = np.where(is_open, r, last)
        guesses.append(cost)
    return np.min(guesses, axis=0)
