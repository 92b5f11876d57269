"""How probability moves when an object does: the law of each kind, as a linear map on its belief.

An object's belief is a table f[d, y] over its directions d (one, or four where the kind has them) and
the cells y of its rooms. `worlds.objects` draws one move; here the same law carries mass,

    f'(y') = sum_y f(y) K(y -> y' | x', bumped),

where x' is the agent's cell after its own move and `bumped` says whether it ran into the object. Both
are arguments, so one map serves the filter (x' is known) and open-loop prediction (x' has a
distribution). Nothing is normalised here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ndigo.errors import unknown_name
from ndigo.worlds import KINDS, Grid
from ndigo.worlds.objects import stay

Mass = Float[Array, "*B D S"]
Here = Float[Array, "*B 1 S"]  # 1 on the agent's cell
# left alone, bumped into, where the agent stands -> mass after the object's move
Carry = Callable[[Mass, Mass, Here], Mass]


@dataclass(frozen=True, eq=False)
class Motion:
    """One object as the oracle sees it: the cells it may be in and how its mass moves over them."""

    is_blocking: bool
    is_still: bool  # never leaves the cell it started in
    cells: Int[np.ndarray, " S"]  # flat cells of its rooms
    prior: Float[np.ndarray, "D S"]  # before o_0
    carry: Carry

    def here(self, cell: Int[Array, "*B"]) -> Here:
        """1 where the object would share the given cell."""
        return (self.cells == jnp.asarray(cell)[..., None, None]).astype(jnp.float32)

    def move(self, free: Mass, bumped: Mass, agent: Int[Array, "*B"]) -> Mass:
        """Mass after the object's move, from what the agent left alone and what it ran into."""
        return self.carry(free, bumped, self.here(agent))


def motion_of(grid: Grid, i: int) -> Motion:
    """The motion of the grid's i-th object."""
    o, places = grid.objects[i], grid.places[i]
    if o.kind not in CARRY:
        raise unknown_name("object kind with an exact filter", o.kind, CARRY)
    sizes = np.asarray(places.sizes)
    cells = np.concatenate([row[:size] for row, size in zip(np.asarray(places.cells), sizes, strict=True)])
    room = np.repeat(np.eye(len(sizes), dtype=np.float32), sizes, axis=0)  # [S, R]
    neighbour = np.asarray(places.neighbour)[cells]
    # beside[d, y, y'] = 1 when y' is the cell next to y in direction d.
    beside = (neighbour.T[:, :, None] == cells).astype(np.float32)
    words = jax.ShapeDtypeStruct((KINDS[o.kind].start_words,), jnp.uint32)
    num_directions = 1 if jax.eval_shape(KINDS[o.kind].start, words, places).direction is None else 4
    is_start = np.isin(cells, np.asarray(places.start_cells)).astype(np.float32)
    prior = np.tile(is_start / is_start.sum() / num_directions, (num_directions, 1))
    return Motion(
        is_blocking=o.is_blocking,
        is_still=KINDS[o.kind].move is stay,
        cells=cells,
        prior=prior,
        carry=CARRY[o.kind](room, beside),
    )


def _times(f: Array, matrix: np.ndarray) -> Array:
    """f @ matrix in full float32: a GPU's default would round the probabilities to TF32."""
    return jnp.matmul(f, matrix, precision="highest")


def _stay(room: np.ndarray, beside: np.ndarray) -> Carry:
    return lambda free, bumped, here: free + bumped


def _wander(room: np.ndarray, beside: np.ndarray) -> Carry:
    """A quarter of the mass tries each way; what is blocked by the room's edge or the agent stays.

    f'(y) = 1/4 ( [y is not the agent's] sum_{n next to y} f(n) + f(y) (4 - open(y)) )
    """
    adjacent = beside.sum(axis=0)  # symmetric
    degree = adjacent.sum(axis=0)

    def carry(free: Mass, bumped: Mass, here: Here) -> Mass:
        f = free + bumped
        num_open = degree - _times(here, adjacent)
        return 0.25 * ((1 - here) * _times(f, adjacent) + f * (4 - num_open))

    return carry


def _bounce(room: np.ndarray, beside: np.ndarray) -> Carry:
    """Straight on; reversed within the step where blocked; still, and reversed, where blocked both ways."""
    reverse = np.array([1, 0, 3, 2])

    def carry(free: Mass, bumped: Mass, here: Here) -> Mass:
        f = free + bumped
        # beside[d, y, y'] = 1: d leads from y to y'. blocked[d, y]: the way d from y is closed.
        blocked = 1 - jnp.einsum("dyz,...z->...dy", beside, 1 - here[..., 0, :], precision="highest")
        turned = (f * blocked)[..., reverse, :]  # by the direction it faces after turning
        gone = jnp.einsum("...dy,dyz->...dz", f + turned, beside, precision="highest") * (1 - here)
        return gone + turned * blocked

    return carry


def _flicker(room: np.ndarray, beside: np.ndarray) -> Carry:
    """Anywhere in its room but on the agent."""

    def carry(free: Mass, bumped: Mass, here: Here) -> Mass:
        num_cells = _times(1 - here, room)  # [..., R]
        return (1 - here) * _times(_times(free + bumped, room) / num_cells, room.T)

    return carry


def _jump_when_bumped(room: np.ndarray, beside: np.ndarray) -> Carry:
    """Still, until bumped: then to another cell of its room, not the agent's."""

    def carry(free: Mass, bumped: Mass, here: Here) -> Mass:
        num_others = _times(_times(1 - here, room), room.T) - 1  # a bumped object is not on the agent's cell
        leaving = bumped / num_others
        return free + (1 - here) * (_times(_times(leaving, room), room.T) - leaving)

    return carry


# room [S, R], beside [4, S, S] -> the law; a kind that has none here has no exact filter, and trains without
CARRY: dict[str, Callable[[np.ndarray, np.ndarray], Carry]] = {
    "fixed": _stay,
    "bouncing": _bounce,
    "brownian": _wander,
    "white_noise": _flicker,
    "movable": _jump_when_bumped,
}
