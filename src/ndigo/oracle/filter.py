"""The exact Bayes filter: what a perfect memory knows after o_0, a_0, ..., o_t.

The agent's cell x_t is known: it starts at a fixed cell of a known map, and whether a move was blocked
shows in the frame before it, because a view of 3x3 or more contains every cell one can step onto and
objects move after the agent. Given the agent's path, one object's move never depends on another's, so
with h_t = (o_0, a_0, ..., o_t)

    p(y^1_t, ..., y^N_t | h_t) = prod_i b^i_t(y^i_t)          (exact: no two objects share a room)

    predict:  b'(y') = sum_y b^i_t(y) K_i(y -> y' | x_{t+1}, bumped)
    correct:  b^i_{t+1}(y) ~ b'(y) p(o^i_{t+1} | x_{t+1}, y)

The last factor is 0 or 1: a frame shows an object exactly, or rules out every cell in view. A frame
that cannot happen (an object moved by hand) leaves NaN, so it cannot pass unnoticed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import xlogy
from jaxtyping import Array, Bool, Float, Int, UInt8

from ndigo.errors import NdigoError
from ndigo.oracle.motion import Motion, motion_of
from ndigo.worlds import Grid, World
from ndigo.worlds.grid_world import walk_table

Observation = UInt8[Array, "V V C"]


class Belief(eqx.Module):
    """p(x_t, y_t | h_t): the agent's cell, which is certain, and a table over the states of each object."""

    agent: Int[Array, ""]  #: flat cell
    objects: tuple[Float[Array, "D S"], ...]  #: over directions and the cells of its rooms; sums to 1


@dataclass(frozen=True, eq=False)
class Tables:
    """The map as arrays over flat cells, shared by everything in the oracle."""

    stride: int
    shape: tuple[int, int]
    start: int
    walk: Int[np.ndarray, "F A"]  #: where an action leads, walls minded and objects not
    walls: Bool[np.ndarray, "F VV"]  #: the walls in view
    wall_pattern: Int[np.ndarray, " F"]  #: equal exactly where the walls in view are equal
    offsets: Int[np.ndarray, " VV"]  #: from the agent's flat cell to each cell of its view
    motions: tuple[Motion, ...]
    in_view: tuple[Float[np.ndarray, "F S"], ...]  #: per object: 1 where the agent at F sees the object's S


@dataclass(frozen=True, eq=False)
class Filter:
    """The filter of one world, for one stream; every function is safe under jit, vmap and scan."""

    tables: Tables
    prior: Belief  #: before o_0
    predict: Callable[[Belief, Int[Array, ""]], Belief]  #: b_t, a_t -> before o_{t+1}
    correct: Callable[[Belief, Observation], Belief]  #: before and after seeing the frame

    def init(self, o_0: Observation) -> Belief:
        return self.correct(self.prior, o_0)

    def update(self, b_t: Belief, a_t: Int[Array, ""], o_tp1: Observation) -> Belief:
        return self.correct(self.predict(b_t, a_t), o_tp1)

    def run(self, a_t: Int[Array, " T"], o_t: UInt8[Array, "T+1 V V C"]) -> Belief:
        """The beliefs b_0 ... b_T of an episode, stacked along a leading axis."""

        def body(b_t: Belief, x: tuple[Array, Array]) -> tuple[Belief, Belief]:
            b_tp1 = self.update(b_t, *x)
            return b_tp1, b_tp1

        b_0 = self.init(o_t[0])
        later = jax.lax.scan(body, b_0, (a_t, o_t[1:]))[1]
        return jax.tree.map(lambda first, rest: jnp.concatenate([first[None], rest]), b_0, later)

    def locate(self, b_t: Belief) -> Float[Array, "N cells"]:
        """Each object's distribution over all rows * cols cells of the map, in reading order."""
        rows, cols = self.tables.shape
        flat = [m.cells // self.tables.stride * cols + m.cells % self.tables.stride for m in self.tables.motions]
        return jnp.stack(
            [jnp.zeros(rows * cols).at[c].set(f.sum(axis=0)) for c, f in zip(flat, b_t.objects, strict=True)]
        )

    def entropy(self, b_t: Belief) -> Float[Array, " N"]:
        """Nats still unknown about each object's cell."""
        return jnp.stack([-xlogy(p, p).sum() for p in (f.sum(axis=0) for f in b_t.objects)])


def make_filter(world: World) -> Filter:
    """The exact filter of a grid world whose view reaches at least the neighbouring cells."""
    if world.grid is None or not world.grid.objects:
        raise NdigoError(f"world {world.name}: the exact filter needs a grid world with objects")
    if world.own_grid is None:
        raise NdigoError(f"world {world.name}: the exact filter reads its map, and it has functions of its own")
    if world.grid.view < 3:
        raise NdigoError(f"world {world.name}: view {world.grid.view} hides what blocks a move; the filter needs 3")
    tables = tables_of(world.grid)
    prior = Belief(agent=jnp.int32(tables.start), objects=tuple(jnp.asarray(motion.prior) for motion in tables.motions))

    def predict(b_t: Belief, a_t: Int[Array, ""]) -> Belief:
        target = jnp.asarray(tables.walk)[b_t.agent, a_t]
        # What stands on a cell in view is certain: these sums are 0 or 1.
        is_bumped = [
            m.is_blocking & ((f * m.here(target)).sum() > 0.5) for m, f in zip(tables.motions, b_t.objects, strict=True)
        ]
        agent = jnp.where(jnp.stack(is_bumped).any(), b_t.agent, target)
        moved = [
            m.move(jnp.where(bumped, 0, f), jnp.where(bumped, f, 0), agent)
            for m, f, bumped in zip(tables.motions, b_t.objects, is_bumped, strict=True)
        ]
        return Belief(agent=agent, objects=tuple(moved))

    def correct(b_t: Belief, o_t: Observation) -> Belief:
        seen = views_of(tables, o_t)
        consistent = [
            f * jnp.where(v < len(tables.offsets), m.here(cell_in_view(tables, b_t.agent, v)), 1 - hides[b_t.agent])
            for m, f, v, hides in zip(tables.motions, b_t.objects, seen, map(jnp.asarray, tables.in_view), strict=True)
        ]
        return Belief(agent=b_t.agent, objects=tuple(f / f.sum() for f in consistent))

    return Filter(tables=tables, prior=prior, predict=predict, correct=correct)


def views_of(tables: Tables, o_t: Observation) -> Int[Array, " N"]:
    """Where in the view each object stands: 0 .. V*V-1 in reading order, or V*V when out of view."""
    channels = o_t[..., 1:].reshape(len(tables.offsets), -1).astype(jnp.int32)
    # At most one cell is 1, so a sum finds it.
    position = jnp.arange(len(tables.offsets)) @ channels
    return jnp.where(channels.sum(axis=0) > 0, position, len(tables.offsets))


def cell_in_view(tables: Tables, agent: Int[Array, "*B"], v: Int[Array, ""]) -> Int[Array, "*B"]:
    """The flat cell at view position v; only meaningful for v < V*V."""
    return agent + jnp.asarray(tables.offsets)[jnp.minimum(v, len(tables.offsets) - 1)]


def tables_of(grid: Grid) -> Tables:
    layout, stride, half = grid.layout, grid.stride, grid.view // 2
    cols = layout.shape[1]
    cells = np.arange(layout.shape[0] * stride)
    is_wall = np.pad(~layout.is_free, ((half, half), (half, half + stride - cols)), constant_values=True)
    crops = np.lib.stride_tricks.sliding_window_view(is_wall, (grid.view, grid.view)).reshape(cells.size, -1)
    wall_pattern = np.unique(crops, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int32)

    d = np.arange(-half, half + 1, dtype=np.int32)
    motions = tuple(motion_of(grid, i) for i in range(len(grid.objects)))

    def sees(targets: np.ndarray) -> np.ndarray:
        near_row = abs(cells[:, None] // stride - targets // stride) <= half
        near_col = abs(cells[:, None] % stride - targets % stride) <= half
        return (near_row & near_col).astype(np.float32)

    return Tables(
        stride=stride,
        shape=layout.shape,
        start=layout.start[0] * stride + layout.start[1],
        walk=walk_table(layout, stride),
        walls=crops,
        wall_pattern=wall_pattern,
        offsets=(d[:, None] * stride + d).ravel(),
        motions=motions,
        in_view=tuple(sees(m.cells) for m in motions),
    )
