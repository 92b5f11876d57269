"""A world from a map and a list of objects.

Each step the agent moves first, then the objects, so that at every observation a cell holds one
thing. The agent moves one cell unless a wall or a blocking object is there.

A cell is one flat index, row * stride + col, with stride = columns + V // 2. The spare columns keep
an offset of at most V // 2 from wrapping onto another row's cell, so an object stands at view
position (i, j) exactly when

    cell(object) - cell(agent) = (i - V//2) * stride + (j - V//2)

and a whole channel is one comparison. What walls the agent sees from a cell never changes: it is
packed into bits once, and read with shifts.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, UInt8, UInt32

from ndigo import frames
from ndigo.errors import NdigoError, unknown_name
from ndigo.frames import Channel
from ndigo.frames.frame import require_sequence
from ndigo.types import Truth
from ndigo.worlds.layout import NEIGHBOURS, Layout
from ndigo.worlds.objects import FAR, KINDS, Object, Placed, Places
from ndigo.worlds.world import ACTIONS, World

EPISODE_STEPS = 400  # paper
WORD = 32


class GridState(eqx.Module):
    agent: Int[Array, ""]  # flat cell
    objects: tuple[Placed, ...]


@dataclass(frozen=True, eq=False)
class Grid:
    """The map behind a world, and its dynamics with the random words given from outside."""

    layout: Layout
    objects: tuple[Object, ...]
    view: int
    stride: int
    places: tuple[Places, ...]  # one per object
    num_reset_words: int
    num_step_words: int
    reset_from: Callable[[UInt32[Array, " W"]], GridState]
    step_from: Callable[[UInt32[Array, " W"], GridState, Int[Array, ""]], GridState]
    own: tuple[Callable[..., object], ...] = ()  # the world's reset, step, observe and truth, made of this grid


def grid_world(
    name: str,
    layout: Layout,
    objects: Sequence[Object],
    *,
    view: int = 5,
    num_steps: int = EPISODE_STEPS,
) -> World:
    """The world of `objects` living on `layout`, seen through a `view` x `view` window."""
    if view < 1 or view % 2 == 0:
        raise NdigoError(f"view {view}: the side of the agent's view must be odd and at least 1")
    if num_steps < 1:
        raise NdigoError(f"num_steps {num_steps}: an episode has at least 1 step")
    require_sequence(f"world {name}", objects=objects)
    _check_objects(layout, objects)
    grid = _grid(layout, tuple(objects), view)
    stride = grid.stride
    walls = _constant(_wall_bits(layout, view, stride))
    offsets = _constant(_view_offsets(view, stride))
    bit = np.arange(view * view)

    def reset(key: Array) -> GridState:
        return grid.reset_from(jax.random.bits(key, (grid.num_reset_words,)))

    def step(key: Array, state: GridState, a_t: Int[Array, ""]) -> GridState:
        return grid.step_from(jax.random.bits(key, (grid.num_step_words,)), state, a_t)

    def observe(state: GridState) -> UInt8[Array, "V V C"]:
        """Channel 0 walls, then one channel per object: one-hot, or zero when out of view."""
        wall_t = (walls[state.agent][bit // WORD] >> (bit % WORD).astype(np.uint32)) & 1
        channels = [wall_t.reshape(view, view), *(offsets == p.cell - state.agent for p in state.objects)]
        return jnp.stack([channel.astype(jnp.uint8) for channel in channels], axis=-1)

    def truth(state: GridState) -> Truth:
        cells = jnp.concatenate([jnp.zeros(0, jnp.int32), *(p.cell[None] for p in state.objects)])
        return Truth(
            agent=jnp.stack([state.agent // stride, state.agent % stride]),
            objects=jnp.stack([cells // stride, cells % stride], axis=-1),
        )

    return World(
        name=name,
        frame=frames.bits((Channel("walls", "binary"), *(Channel(o.name, "one_hot") for o in objects)), view),
        actions=ACTIONS,
        num_steps=num_steps,
        reset=reset,
        step=step,
        observe=observe,
        truth=truth,
        objects=tuple(o.name for o in objects),
        map_shape=layout.shape,
        grid=dataclasses.replace(grid, own=(reset, step, observe, truth)),
    )


def _grid(layout: Layout, objects: tuple[Object, ...], view: int) -> Grid:
    """The map and how agent and objects move on it."""
    stride = layout.shape[1] + view // 2
    kinds = [KINDS[o.kind] for o in objects]
    places = tuple(_places_of(layout, o, stride) for o in objects)
    start = layout.start[0] * stride + layout.start[1]
    walk = _constant(walk_table(layout, stride))
    # Object i reads words cuts[i]:cuts[i+1].
    reset_cuts = np.cumsum([0, *(kind.start_words for kind in kinds)]).tolist()
    step_cuts = np.cumsum([0, *(kind.move_words for kind in kinds)]).tolist()

    def reset_from(words: UInt32[Array, " W"]) -> GridState:
        """The first state of an episode, from `num_reset_words` uniform words."""
        placed = tuple(
            kind.start(words[i:j], p) for kind, p, (i, j) in zip(kinds, places, pairwise(reset_cuts), strict=True)
        )
        return GridState(agent=jnp.int32(start), objects=placed)

    def step_from(words: UInt32[Array, " W"], state: GridState, a_t: Int[Array, ""]) -> GridState:
        """The next state, from `num_step_words` uniform words."""
        target = walk[state.agent, a_t]
        is_bumped = [o.is_blocking & (p.cell == target) for o, p in zip(objects, state.objects, strict=True)]
        is_blocked = functools.reduce(operator.or_, is_bumped, jnp.bool_(False))
        agent = jnp.where(is_blocked, state.agent, target)
        moved = tuple(
            kind.move(words[i:j], placed, agent, bumped, p)
            for kind, placed, bumped, p, (i, j) in zip(
                kinds, state.objects, is_bumped, places, pairwise(step_cuts), strict=True
            )
        )
        return GridState(agent=agent, objects=moved)

    return Grid(
        layout=layout,
        objects=objects,
        view=view,
        stride=stride,
        places=places,
        num_reset_words=reset_cuts[-1],
        num_step_words=step_cuts[-1],
        reset_from=reset_from,
        step_from=step_from,
    )


def _check_objects(layout: Layout, objects: Sequence[Object]) -> None:
    holder: dict[str, str] = {}
    names = [o.name for o in objects]
    for o in objects:
        if not o.name:
            raise NdigoError(f"an object has no name; its rooms: {', '.join(o.rooms)}")
        if names.count(o.name) > 1:
            raise NdigoError(f"two objects are called {o.name!r}; each needs a name of its own")
        if not o.rooms:
            raise NdigoError(f"object {o.name!r} has no room; rooms: {', '.join(layout.rooms)}")
        for room in o.rooms:
            if room not in layout.rooms:
                raise unknown_name(f"room of object {o.name!r}", room, layout.rooms)
            if room in holder:
                raise NdigoError(f"room {room!r} may hold both {holder[room]!r} and {o.name!r}; one object a room")
            holder[room] = o.name
            if len(layout.cells_of(room)) < KINDS[o.kind].min_cells:
                raise NdigoError(f"room {room!r} is too small for a {o.kind} object: needs {KINDS[o.kind].min_cells}")
        if not start_cells(layout, o):
            raise NdigoError(f"object {o.name!r} has no free cell to start from in {', '.join(o.rooms)}")


def start_cells(layout: Layout, o: Object) -> list[tuple[int, int]]:
    """Where the object may be at reset."""
    return [
        cell
        for room in o.rooms
        for cell in layout.cells_of(room)
        if cell != layout.start and not (o.avoids_mouths and layout.is_mouth(cell))
    ]


def _places_of(layout: Layout, o: Object, stride: int) -> Places:
    rooms = [layout.cells_of(room) for room in o.rooms]
    cells = np.zeros((len(rooms), max(map(len, rooms))), np.int32)
    room_of = np.full(layout.shape[0] * stride, -1, np.int32)
    rank = np.full_like(room_of, FAR)
    neighbour = np.full((len(room_of), len(NEIGHBOURS)), -1, np.int32)
    for i, room in enumerate(rooms):
        for j, (r, c) in enumerate(room):
            cell = r * stride + c
            cells[i, j], room_of[cell], rank[cell] = cell, i, j
            for d, (dr, dc) in enumerate(NEIGHBOURS):
                if (r + dr, c + dc) in room:
                    neighbour[cell, d] = cell + dr * stride + dc
    flat_starts = [r * stride + c for r, c in start_cells(layout, o)]
    return Places(
        start_cells=_constant(np.array(flat_starts, np.int32)),
        cells=_constant(cells),
        sizes=_constant(np.array([len(room) for room in rooms], np.int32)),
        room_of=_constant(room_of),
        rank=_constant(rank),
        neighbour=_constant(neighbour),
    )


def _constant(table: np.ndarray) -> Array:
    """On the device without a program, which `asarray` would compile for every shape."""
    with jax.ensure_compile_time_eval():  # an array, also where a function that is being traced makes the world
        return jax.device_put(table, may_alias=False)


def walk_table(layout: Layout, stride: int) -> Int[np.ndarray, "F A"]:
    """Where each action leads from each flat cell, walls minded and objects not."""
    is_free = _flat(layout.is_free, stride, False)
    cells = np.arange(len(is_free), dtype=np.int32)
    moves = [0, *(dr * stride + dc for dr, dc in NEIGHBOURS)]
    targets = [np.clip(cells + move, 0, len(cells) - 1) for move in moves]
    return np.stack([np.where(is_free[t], t, cells) for t in targets], axis=-1)


def _wall_bits(layout: Layout, view: int, stride: int) -> UInt32[np.ndarray, "F W"]:
    """The walls in view from each flat cell, as bits in reading order; outside the map is wall."""
    is_wall = np.pad(~layout.is_free, view // 2, constant_values=True)
    crops = np.lib.stride_tricks.sliding_window_view(is_wall, (view, view)).reshape(*layout.shape, -1)
    bits = np.zeros((*layout.shape, -(-view * view // WORD)), np.uint32)
    for k in range(view * view):
        bits[..., k // WORD] |= crops[..., k].astype(np.uint32) << (k % WORD)
    return np.stack([_flat(bits[..., w], stride, 0) for w in range(bits.shape[-1])], axis=-1)


def _view_offsets(view: int, stride: int) -> Int[np.ndarray, "V V"]:
    d = np.arange(view, dtype=np.int32) - view // 2
    return d[:, None] * stride + d[None, :]


def _flat(table: np.ndarray, stride: int, fill: int | bool) -> np.ndarray:
    """A [rows, cols] table over flat cells."""
    spare = stride - table.shape[1]
    return np.pad(table, ((0, 0), (0, spare)), constant_values=fill).ravel()
