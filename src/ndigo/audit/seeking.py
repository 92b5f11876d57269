"""Agents that go and look for one object and do nothing else, with nothing but frames and the map.

A seeker walks the best path known (`seek_path`) waypoint by waypoint, and around what stands in its way. Where it is it
always knows, because whether a move is blocked shows in the frame before it.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from ndigo.oracle import seek_path
from ndigo.oracle.exactness import free_cells, steps_to
from ndigo.oracle.filter import tables_of
from ndigo.types import Policy
from ndigo.worlds import World

FAR = 1e6  # steps
Plan = tuple[Int[Array, " S"], Int[Array, ""]]  # flat cells to pass, the last for ever; channel at whose sight to stay


def plan_of(world: World, name: str) -> Plan:
    """The way to the object; one that stays is looked at for good, and 0 stands for no such channel."""
    assert world.grid is not None
    tables, index = tables_of(world.grid), world.objects.index(name)
    cells = [tables.start]
    for a_t in seek_path(world, name)[: world.num_steps]:
        cells.append(int(tables.walk[cells[-1], a_t]))
    passed = np.array([*cells[1:], *[cells[-1]] * world.num_steps], np.int32)[: world.num_steps]
    return jnp.asarray(passed), jnp.int32(1 + index if world.grid.objects[index].kind == "fixed" else 0)


def make_seeker(world: World) -> Callable[[Plan], Policy]:
    assert world.grid is not None
    tables = tables_of(world.grid)
    free = free_cells(tables)
    goal_of = np.zeros(len(tables.walk), np.int32)
    goal_of[free] = np.arange(len(free))
    cells = np.arange(len(tables.walk))
    away = jnp.asarray(steps_to(tables.walk, cells == free[:, None]))  # [goal, F]
    goal_of, walk, offsets = jnp.asarray(goal_of), jnp.asarray(tables.walk), jnp.asarray(tables.offsets)
    blocking = jnp.array([1 + i for i, thing in enumerate(world.grid.objects) if thing.is_blocking], int)

    def is_held(o_t: Array, agent: Int[Array, ""], cell: Int[Array, ""]) -> Bool[Array, ""]:
        """Whether something in view stands on the cell and does not let the agent pass."""
        things = (o_t[..., blocking] > 0).any(axis=-1).ravel()
        return (things & (agent + offsets == cell)).any()

    def seeker(plan: Plan) -> Policy:
        passed, stops_at = plan

        def act(o_t: Array, a_tm1: Array, state: tuple[Array, ...]) -> tuple[Array, tuple[Array, ...]]:
            key, agent, i = state
            key, key_choice = jax.random.split(key)
            is_done = (agent == passed[i]) | is_held(o_t, agent, passed[i])
            i = jnp.minimum(i + is_done, len(passed) - 1)
            there = walk[agent]  # by each action; what is held, or bumps into a wall, is the last resort
            is_useless = jax.vmap(lambda cell: is_held(o_t, agent, cell))(there) | (there == agent)
            steps = away[goal_of[passed[i]], there] + jax.random.uniform(key_choice, there.shape) + FAR * is_useless
            is_there = (agent == passed[i]) | (stops_at > 0) & (o_t[..., stops_at] > 0).any()
            a_t = jnp.where(is_there, 0, steps.argmin().astype(jnp.int32))
            return a_t, (key, jnp.where(is_useless[a_t], agent, there[a_t]), i)

        return Policy(lambda key: (key, jnp.int32(tables.start), jnp.int32(0)), act)

    return seeker


def seeker_of(world: World, name: str) -> Policy:
    """The seeker of one object."""
    return make_seeker(world)(plan_of(world, name))
