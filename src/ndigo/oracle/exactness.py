"""How far ahead open-loop prediction is exact in a given world.

`predictive` takes two objects i and j as independent given the agent's cell x. Under the same actions
two pasts lead to one x only if an object held the agent up in one of them. Their beliefs about both
objects differ only if, since they parted, each object's room was entered or tried by one of them. If
such a pair meets at x and then

    tries a cell of i's room   the chance of being held up there depends on y^j: J_j is no longer exact,
                               and p(o) is wrong once j's room can be seen, or
    sees both rooms from x     p(o^i, o^j | x) is no product,

prediction may be inexact. The fewest steps of such a story, over all starts and actions, bound the
horizon. A still object can hold the agent up at one cell only; otherwise the search does not ask
whether the holds in a story agree, which can only make the bound too short.
"""

from __future__ import annotations

import itertools

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Bool, Int

from ndigo.oracle.filter import Tables, tables_of
from ndigo.worlds import World

NOWHERE = -1


class Pasts(eqx.Module):
    """Pairs of pasts under common actions, one pair a row; cells are indices into the free cells."""

    agent: Int[np.ndarray, "P 2"]  # where each past stands
    held: Int[np.ndarray, "P 2 2"]  # [past, object]: the cell where a still object held it up, or NOWHERE
    tried: Bool[np.ndarray, "P 2"]  # [object]: its room was entered or tried since the pasts parted

    def distinct(self) -> Pasts:
        rows = np.concatenate([self.agent, self.held.reshape(-1, 4), self.tried], axis=1)
        return self.rows(np.unique(rows, axis=0, return_index=True)[1])

    def rows(self, which: np.ndarray) -> Pasts:
        return Pasts(agent=self.agent[which], held=self.held[which], tried=self.tried[which])


def exact_horizon(world: World, limit: int = 12) -> int:
    """The largest k, at most `limit`, for which p(o_{t+k} | h_t, actions) is proven exact."""
    assert world.grid is not None
    tables = tables_of(world.grid)
    # White noise that blocks nobody forgets everything but x at each step, so it never matters here.
    blocking = [i for i, m in enumerate(tables.motions) if m.is_blocking]
    return min((_pair_horizon(tables, pair, limit) for pair in itertools.combinations(blocking, 2)), default=limit)


def _pair_horizon(tables: Tables, pair: tuple[int, int], limit: int) -> int:
    """The steps before the shortest story above for one pair of objects."""
    free = free_cells(tables)
    index = np.full(len(tables.walk), NOWHERE)
    index[free] = np.arange(len(free))
    walk = index[tables.walk[free]]  # [F, A], over free cells
    cells = [_cells(tables, o) for o in range(len(tables.motions))]
    room = np.stack([np.isin(free, cells[o]) for o in pair])
    sees = np.stack([tables.in_view[o][free][:, np.isin(tables.motions[o].cells, cells[o])].any(axis=1) for o in pair])
    others = [c for o, c in enumerate(cells) if tables.motions[o].is_blocking and o not in pair]
    is_still = np.array([tables.motions[o].is_still for o in pair])
    steps_to_see, steps_to_room = steps_to(walk, sees), steps_to(walk, room)
    # From a try at one room to a sight of the other.
    steps_back = [steps_to_see[1 - o][steps_to_room[o] <= 1].min() for o in (0, 1)]
    is_other = np.isin(free, np.concatenate([*others, [NOWHERE]]))

    here = np.arange(len(free))
    pasts = Pasts(
        agent=np.stack([here, here], axis=1),
        held=np.full((len(free), 2, 2), NOWHERE),
        tried=np.zeros((len(free), 2), bool),
    )
    first_inexact = limit + 1
    # The first step parts nobody: what stands next to the agent at time t is in view.
    for step in range(1, limit):
        has_met = (pasts.agent[:, 0] == pasts.agent[:, 1]) & pasts.tried.all(axis=1)
        x = np.unique(pasts.agent[has_met, 0])
        if sees[:, x].all(axis=0).any():
            first_inexact = min(first_inexact, step)
        for i, j in ((0, 1), (1, 0)):
            at, a = np.nonzero(room[i][walk[x]])
            later = np.minimum(steps_to_see[j][x[at]], steps_to_see[j][walk[x[at], a]])
            first_inexact = min([first_inexact, *(step + 1 + later).tolist()])
        if first_inexact <= step + 1:
            break
        pasts = _advance(pasts, walk, room, is_other, is_still)
        # A room not yet tried has to be reached, and the other one seen again: too late for the rest.
        needed = [
            np.where(pasts.tried[:, o], 0, steps_to_room[o][pasts.agent].min(axis=1) + steps_back[o]) for o in (0, 1)
        ]
        pasts = pasts.rows(step + 1 + np.maximum(*needed) <= limit)
    return first_inexact - 1


def _advance(pasts: Pasts, walk: np.ndarray, room: np.ndarray, is_other: np.ndarray, is_still: np.ndarray) -> Pasts:
    """One more common action: each past moves, or is held up where an object may stand."""
    later = []
    for a, holds in itertools.product(range(walk.shape[1]), itertools.product((False, True), repeat=2)):
        is_held = np.array(holds)
        target = walk[pasts.agent, a]  # [P, 2]
        is_room = np.moveaxis(room[:, target], 0, -1)  # [P, past, object]
        known = (pasts.held != NOWHERE) & is_room
        fits = np.where(known, (pasts.held == target[..., None]) == is_held[:, None], True).all(axis=-1)
        is_possible = (fits & (~is_held | is_room.any(axis=-1) | is_other[target])).all(axis=1)
        agent = np.where(is_held, pasts.agent, target)
        # A try that both pasts make from one cell with one outcome does not tell them apart.
        is_common = (pasts.agent[:, 0] == pasts.agent[:, 1]) & (agent[:, 0] == agent[:, 1])
        is_near = is_room | np.moveaxis(room[:, pasts.agent], 0, -1)
        later.append(
            Pasts(
                agent=agent[is_possible],
                held=np.where(is_held[:, None] & is_room & is_still, target[..., None], pasts.held)[is_possible],
                tried=(pasts.tried | (is_near.any(axis=1) & ~is_common[:, None]))[is_possible],
            )
        )
    return jax.tree.map(lambda *parts: np.concatenate(parts), *later).distinct()


def _cells(tables: Tables, i: int) -> np.ndarray:
    """Where the object can ever be: all of its rooms, unless it never moves."""
    motion = tables.motions[i]
    return motion.cells[motion.prior.sum(axis=0) > 0] if motion.is_still else motion.cells


def free_cells(tables: Tables) -> np.ndarray:
    """Every cell that the agent can walk to from its start."""
    seen = np.zeros(len(tables.walk), bool)
    seen[tables.start] = True
    while True:
        wider = seen.copy()
        wider[tables.walk[seen]] = True
        if (wider == seen).all():
            return np.flatnonzero(seen)
        seen = wider


def steps_to(walk: Int[np.ndarray, "F A"], goal: Bool[np.ndarray, "... F"]) -> Int[np.ndarray, "... F"]:
    """The fewest steps from each cell to one of the goal's; walks can be reversed."""
    steps = np.where(goal, 0, len(walk))
    for _ in range(len(walk)):
        nearer = np.minimum(steps, steps[..., walk].min(axis=-1) + 1)
        if (nearer == steps).all():
            break
        steps = nearer
    return steps
