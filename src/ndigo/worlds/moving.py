"""Moving an object by hand, in the middle of an episode: to see a belief break and heal."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp

from ndigo.errors import NdigoError
from ndigo.worlds.grid_world import Grid, GridState
from ndigo.worlds.world import World


def move_object(world: World, state: GridState, index: int, row: int, col: int) -> GridState:
    """The state with one object elsewhere in its rooms; an error says why it cannot stand there."""
    grid = world.grid
    if grid is None:
        raise NdigoError(f"world {world.name!r} has no map to move its objects on")
    if not 0 <= index < len(grid.objects):
        raise NdigoError(f"object {index}: there are objects 0 to {len(grid.objects) - 1}")
    thing = grid.objects[index]
    where = f"{thing.name!r} cannot stand at row {row}, column {col}"
    rows, columns = grid.layout.shape
    if not (0 <= row < rows and 0 <= col < columns):
        raise NdigoError(f"{where}: the map has rows 0 to {rows - 1} and columns 0 to {columns - 1}")
    if not grid.layout.is_free[row, col]:
        raise NdigoError(f"{where}: there is a wall")
    # The laws of worlds rest on it: one object a room, none leaves its own.
    if room_name(grid, row, col) not in thing.rooms:
        raise NdigoError(f"{where}: it lives in {' or '.join(thing.rooms)} and never leaves")
    if thing.avoids_mouths and grid.layout.is_mouth((row, col)):
        raise NdigoError(f"{where}: it would cut the way through the corridor")
    cell = row * grid.stride + col
    if cell == int(state.agent):
        raise NdigoError(f"{where}: the agent is there")
    return eqx.tree_at(lambda s: s.objects[index].cell, state, jnp.asarray(cell, state.objects[index].cell.dtype))


def room_name(grid: Grid, row: int, col: int) -> str | None:
    """The room a cell belongs to; None in doors and corridors."""
    room = int(grid.layout.room_of[row, col])
    return None if room < 0 else grid.layout.rooms[room]
