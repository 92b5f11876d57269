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
from ndigo.worlds import Grid, World, make_world


class Frames(NamedTuple):
    """What happened in B episodes of T steps."""

    actions: np.ndarray  # [B, T]
    truth: Truth  # [B, T+1, ...]
    observations: np.ndarray  # [B, T+1, V, V, C]


def grid_of(world: World) -> Grid:
    assert world.grid is not None
    return world.grid


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
    def play(reset_words, step_words, actions):
        return roll(world, grid.step_from, grid.reset_from(reset_words), step_words, actions)

    return play


def replay(world: World, reset_words, step_words, actions) -> Frames:
    """Episodes under given random words [B, W] and [B, T, W] and actions [B, T]."""
    truth, observations = _replay_program(world)(reset_words, step_words, actions)
    return Frames(np.asarray(actions), jax.tree.map(np.asarray, truth), np.asarray(observations))


@cache
def _scattered_program(name: str, view: int, num_episodes: int, num_steps: int):
    world = make_world(name, view=view)
    grid = grid_of(world)
    free = jnp.array([r * grid.stride + c for r, c in np.argwhere(grid.layout.is_free)], jnp.int32)

    def episode(key, persistence):
        key_reset, key_agent, key_act, key_keep, key_step = jax.random.split(key, 5)
        state = world.reset(key_reset)
        is_taken = (free[:, None] == jnp.stack([p.cell for p in state.objects])).any(axis=-1)
        agent = jax.random.choice(key_agent, free, p=jnp.where(is_taken, 0.0, 1.0))
        state = eqx.tree_at(lambda s: s.agent, state, agent)
        fresh = jax.random.randint(key_act, (num_steps,), 0, world.num_actions)
        keep = jax.random.uniform(key_keep, (num_steps,)) < persistence
        last = jax.lax.associative_scan(jnp.maximum, jnp.where(keep, 0, jnp.arange(num_steps)))
        actions = fresh[last]
        return actions, roll(world, world.step, state, jax.random.split(key_step, num_steps), actions)

    return jax.jit(
        lambda seed, persistence: jax.vmap(episode, (0, None))(
            jax.random.split(jax.random.key(seed), num_episodes), persistence
        )
    )


@lru_cache(maxsize=8)
def scattered(
    name: str, seed: int, persistence: float, view: int = 5, num_episodes: int = 16, num_steps: int = 400
) -> Frames:
    """Episodes that start with the agent on any free cell, so that no room stays unvisited.

    `persistence` is the chance to repeat the last action: walkers that cross rooms and hit walls.
    """
    actions, (truth, observations) = _scattered_program(name, view, num_episodes, num_steps)(seed, persistence)
    return Frames(np.asarray(actions), jax.tree.map(np.asarray, truth), np.asarray(observations))


@cache
def walkers(name: str, num_episodes: int = 4000) -> Visits:
    """Visit statistics [B, N] of a uniform random walker over whole episodes."""
    world = make_world(name)

    def episode(key) -> Visits:
        key_reset, key_walk = jax.random.split(key)

        def step(state, key):
            key_act, key_step = jax.random.split(key)
            seen = in_view(world, world.observe(state))
            return world.step(key_step, state, jax.random.randint(key_act, (), 0, world.num_actions)), seen

        _, is_visible = jax.lax.scan(step, world.reset(key_reset), jax.random.split(key_walk, world.num_steps))
        return visits(is_visible)

    keys = jax.random.split(jax.random.key(0), num_episodes)
    return jax.tree.map(np.asarray, jax.jit(jax.vmap(episode))(keys))
