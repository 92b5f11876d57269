"""Many steps of our worlds in one compiled program, handed back as NumPy arrays."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ndigo.evaluation.visits import Visits, in_view, visits
from ndigo.types import Truth
from ndigo.worlds import Grid, GridState, World, make_world
from ndigo.worlds.objects import Placed

Cell = tuple[int, int]


class Frames(NamedTuple):
    """What happened in B episodes of T steps."""

    actions: np.ndarray  # [B, T]
    truth: Truth  # [B, T+1, ...]
    observations: np.ndarray  # [B, T+1, V, V, C]


@cache
def world_named(name: str, view: int = 5) -> World:
    """One record a name, so that what was compiled for it is found again."""
    return make_world(name, view=view)


def grid_of(world: World) -> Grid:
    assert world.grid is not None
    return world.grid


def state_at(world: World, agent: Cell, *objects: Cell, direction: int | None = None) -> GridState:
    """A state made by hand; `direction` is that of every object (None where they have none)."""
    stride = grid_of(world).stride
    number = None if direction is None else jnp.int32(direction)
    return GridState(
        agent=jnp.int32(agent[0] * stride + agent[1]),
        objects=tuple(Placed(cell=jnp.int32(r * stride + c), direction=number) for r, c in objects),
    )


def frame(world: World, state):
    assert world.truth is not None
    return world.truth(state), world.observe(state)


def roll(world: World, step, state, keys_or_words, actions):
    """Frames o_0 ... o_T of one episode; `step` takes (key or words, state, action)."""

    def advance(state, x):
        state = step(x[0], state, x[1])
        return state, frame(world, state)

    _, later = jax.lax.scan(advance, state, (keys_or_words, actions))
    return jax.tree.map(lambda first, rest: jnp.concatenate([first[None], rest]), frame(world, state), later)


@cache
def _replay_program(world: World):
    grid = grid_of(world)

    @jax.jit
    @jax.vmap
    def play(agent, reset_words, step_words, actions):
        state = grid.reset_from(reset_words)
        is_taken = jnp.stack([agent == p.cell for p in state.objects]).any()
        state = eqx.tree_at(lambda s: s.agent, state, jnp.where(is_taken, state.agent, agent))
        return roll(world, grid.step_from, state, step_words, actions)

    return play


def replay(world: World, reset_words, step_words, actions, agent=None) -> Frames:
    """Episodes under given random words [B, W] and [B, T, W] and actions [B, T].

    They start from the cells `agent` [B, 2] where these are given and no object lies there.
    """
    grid = grid_of(world)
    row, col = np.broadcast_to(grid.layout.start if agent is None else agent, (len(actions), 2)).T
    flat = (row * grid.stride + col).astype(np.int32)
    truth, observations = _replay_program(world)(flat, reset_words, step_words, actions)
    return Frames(np.asarray(actions), jax.tree.map(np.asarray, truth), np.asarray(observations))


@lru_cache(maxsize=8)
def scattered(world: World, seed: int, persistence: float, num_episodes: int = 12, num_steps: int = 400) -> Frames:
    """Episodes that start with the agent on any free cell, so that no room stays unvisited.

    `persistence` is the chance to repeat the last action: walkers that cross rooms and hit walls.
    """
    grid, rng = grid_of(world), np.random.default_rng(seed)

    def words(num_words: int, *shape: int) -> np.ndarray:
        return rng.integers(2**32, size=(num_episodes, *shape, num_words), dtype=np.uint32)

    fresh = rng.integers(world.num_actions, size=(num_episodes, num_steps))
    is_fresh = rng.random(fresh.shape) >= persistence
    last_fresh = np.maximum.accumulate(np.where(is_fresh, np.arange(num_steps), 0), axis=1)
    return replay(
        world,
        words(grid.num_reset_words),
        words(grid.num_step_words, num_steps),
        np.take_along_axis(fresh, last_fresh, axis=1),
        agent=rng.choice(np.argwhere(grid.layout.is_free), num_episodes),
    )


@cache
def walkers(world: World, num_episodes: int = 4000) -> Visits:
    """Visit statistics [B, N] of a uniform random walker over whole episodes."""

    def episode(key) -> Visits:
        key_reset, key_walk = jax.random.split(key)

        def step(state, key):
            key_act, key_step = jax.random.split(key)
            seen = in_view(world.frame, world.observe(state))
            return world.step(key_step, state, jax.random.randint(key_act, (), 0, world.num_actions)), seen

        _, is_visible = jax.lax.scan(step, world.reset(key_reset), jax.random.split(key_walk, world.num_steps))
        return visits(is_visible)

    keys = jax.random.split(jax.random.key(0), num_episodes)
    return jax.tree.map(np.asarray, jax.jit(jax.vmap(episode))(keys))
