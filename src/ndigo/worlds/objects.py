"""The five kinds of object, each a start and a move (paper, section "Test environments").

A kind is written for one object. Its randomness comes in as `words`, uniform uint32 numbers, so the
same move can be replayed by another simulator under the same draws. Cells are flat indices into the
map (see `grid_world`); an object never leaves the room it started in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, UInt32

from ndigo.errors import NdigoError, unknown_name

FAR = 2**15  # a rank beyond every room's size


@dataclass(frozen=True)
class Object:
    """One object of a world: what it is called, how it moves and where it lives."""

    name: str
    kind: str
    rooms: tuple[str, ...]  # one of them is drawn each episode (by its cells, uniformly)
    blocks: bool | None = None  # None: as its kind does; True makes white noise block
    avoids_mouths: bool = False  # never starts where a corridor meets its room

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise unknown_name("object kind", self.kind, KINDS)
        if isinstance(self.rooms, str):  # whose every letter would be a room
            raise NdigoError(f"object {self.name!r}: rooms {self.rooms!r} is text, expected ({self.rooms!r},)")
        if self.blocks is False and KINDS[self.kind].blocks:
            # Only white noise always leaves the agent's cell: the others would share it.
            raise NdigoError(f"object {self.name!r}: a {self.kind} object always blocks the agent")

    @property
    def is_blocking(self) -> bool:
        """True when the agent cannot step onto it."""
        return KINDS[self.kind].blocks if self.blocks is None else self.blocks


class Placed(eqx.Module):
    """An object's part of the state."""

    cell: Int[Array, ""]
    direction: Int[Array, ""] | None = None  # 0..3 up, down, right, left; None where it has none


class Places(eqx.Module):
    """Tables of the map as one object sees it: its own rooms, numbered 0..R-1, and no others."""

    start_cells: Int[Array, " M"]  # where it may be at o_0
    cells: Int[Array, "R S"]  # each room's cells in reading order, padded to the largest
    sizes: Int[Array, " R"]  # cells in each room
    room_of: Int[Array, " F"]  # a flat cell's room; -1 outside the object's rooms
    rank: Int[Array, " F"]  # a flat cell's position among its room's cells; FAR outside
    neighbour: Int[Array, "F 4"]  # the flat cell next to it in its room, or -1

    def room(self, cell: Int[Array, ""]) -> Int[Array, ""]:
        """The room of a cell the object can be in (no look-up where it has one room)."""
        return jnp.int32(0) if self.sizes.shape[0] == 1 else self.room_of[cell]

    def rank_in(self, room: Int[Array, ""], cell: Int[Array, ""]) -> Int[Array, ""]:
        """The cell's position among `room`'s cells, or FAR when it lies elsewhere."""
        return jnp.where(self.room(cell) == room, self.rank[cell], FAR)


@dataclass(frozen=True)
class Kind:
    """A way to move. `start(words, places)` and `move(words, placed, agent, is_bumped, places)`."""

    blocks: bool
    start_words: int  # uniform words that `start` reads
    move_words: int  # uniform words that `move` reads
    min_cells: int  # the smallest room it can live in
    start: Callable[[UInt32[Array, " W"], Places], Placed]
    move: Callable[[UInt32[Array, " W"], Placed, Int[Array, ""], Bool[Array, ""], Places], Placed]


def below(word: UInt32[Array, ""], n: Int[Array, ""] | int) -> Int[Array, ""]:
    """A uniform integer in 0..n-1: floor(word * n / 2^32), for n < 2^16, in 32-bit arithmetic.

    Its bias is under n / 2^32; a modulo would cost a division.
    """
    n_ = jnp.asarray(n).astype(jnp.uint32)
    high, low = word >> 16, word & 0xFFFF
    return ((high * n_ + ((low * n_) >> 16)) >> 16).astype(jnp.int32)


def start_anywhere(words: UInt32[Array, " W"], places: Places) -> Placed:
    return Placed(cell=places.start_cells[below(words[0], places.start_cells.shape[0])])


def start_with_direction(words: UInt32[Array, " W"], places: Places) -> Placed:
    return Placed(cell=start_anywhere(words, places).cell, direction=below(words[1], 4))


def stay(words, placed, agent, is_bumped, places: Places) -> Placed:
    return placed


def bounce(words, placed: Placed, agent, is_bumped, places: Places) -> Placed:
    """One cell straight on; reversed within the step where blocked; still where blocked both ways."""
    assert placed.direction is not None
    reverse = placed.direction ^ 1  # up <-> down, right <-> left
    in_front = places.neighbour[placed.cell, placed.direction]
    behind = places.neighbour[placed.cell, reverse]
    can_go_on = (in_front >= 0) & (in_front != agent)
    can_turn = (behind >= 0) & (behind != agent)
    return Placed(
        cell=jnp.where(can_go_on, in_front, jnp.where(can_turn, behind, placed.cell)),
        direction=jnp.where(can_go_on, placed.direction, reverse),
    )


def wander(words, placed: Placed, agent, is_bumped, places: Places) -> Placed:
    """One of four directions, uniformly, each step; stays where that way is blocked."""
    target = places.neighbour[placed.cell, below(words[0], 4)]
    return Placed(cell=jnp.where((target >= 0) & (target != agent), target, placed.cell))


def flicker(words, placed: Placed, agent, is_bumped, places: Places) -> Placed:
    """Anywhere in its room but on the agent, uniformly, each step: nothing to learn."""
    room = places.room(placed.cell)
    agents = places.rank_in(room, agent)
    j = below(words[0], places.sizes[room] - (agents < FAR))
    return Placed(cell=places.cells[room, j + (j >= agents)])


def jump_when_bumped(words, placed: Placed, agent, is_bumped, places: Places) -> Placed:
    """Still until the agent pushes it; then to another cell of its room, not the agent's."""
    room = places.room(placed.cell)
    own, agents = places.rank[placed.cell], places.rank_in(room, agent)
    j = below(words[0], places.sizes[room] - 1 - (agents < FAR))
    j = j + (j >= jnp.minimum(own, agents))
    j = j + (j >= jnp.maximum(own, agents))
    return Placed(cell=jnp.where(is_bumped, places.cells[room, j], placed.cell))


KINDS = {
    "fixed": Kind(blocks=True, start_words=1, move_words=0, min_cells=1, start=start_anywhere, move=stay),
    "bouncing": Kind(blocks=True, start_words=2, move_words=0, min_cells=1, start=start_with_direction, move=bounce),
    "brownian": Kind(blocks=True, start_words=1, move_words=1, min_cells=1, start=start_anywhere, move=wander),
    "white_noise": Kind(blocks=False, start_words=1, move_words=1, min_cells=2, start=start_anywhere, move=flicker),
    "movable": Kind(blocks=True, start_words=1, move_words=1, min_cells=3, start=start_anywhere, move=jump_when_bumped),
}
