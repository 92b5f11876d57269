"""A world with gymnax 1.0's interface, without gymnax: for loops in the style of PureJaxRL.

    world = GymnaxWorld(ndigo.EXPERIMENTS["exp1"].world)
    params = world.default_params
    o_t, state = world.reset(key, params)
    o_t, state, reward, terminated, truncated, info = world.step(key, state, a_t, params)

The step that ends an episode also starts the next: it returns the new o_0, and the frame that ended
the old episode as `info["final_observation"]`, to bootstrap from. Every other step's
`final_observation` equals its observation.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ndigo.frames import Frame, Join
from ndigo.interop.outcome import outcome_of
from ndigo.interop.spaces import bounds_of
from ndigo.worlds import EPISODE_STEPS, World


class GymnaxParams(eqx.Module):
    max_steps_in_episode: int | Int[Array, ""] = EPISODE_STEPS


class GymnaxState(eqx.Module):
    world: Any  # the world's own state
    time: Int[Array, ""]  # steps taken in this episode


class Discrete(eqx.Module):
    """0 ... n-1."""

    n: int
    shape: tuple[int, ...] = ()
    dtype: Any = jnp.int32

    def sample(self, key: Array) -> Int[Array, ""]:
        return jax.random.randint(key, self.shape, 0, self.n, self.dtype)

    def contains(self, x: Int[Array, ""]) -> Bool[Array, ""]:
        return (x >= 0) & (x < self.n)


class Box(eqx.Module):
    """Arrays of one shape: whole numbers from `low` to `high`, or any numbers."""

    low: Any
    high: Any
    shape: tuple[int, ...]
    dtype: Any

    def sample(self, key: Array) -> Array:
        if jnp.issubdtype(self.dtype, jnp.floating):  # without bounds, as frames of numbers are
            return jax.random.normal(key, self.shape, self.dtype)
        return jax.random.randint(key, self.shape, self.low, jnp.int32(self.high) + 1).astype(self.dtype)

    def contains(self, x: Array) -> Bool[Array, ""]:
        return ((x >= self.low) & (x <= self.high)).all()


class Dict(eqx.Module):
    """A space under each name."""

    spaces: dict[str, Any]

    def sample(self, key: Array) -> dict[str, Any]:
        keys = jax.random.split(key, len(self.spaces))
        return {name: space.sample(k) for (name, space), k in zip(self.spaces.items(), keys, strict=True)}

    def contains(self, x: dict[str, Any]) -> Bool[Array, ""]:
        return jnp.array([space.contains(x[name]) for name, space in self.spaces.items()]).all()


class GymnaxWorld:
    """`world` for gymnax's users, with its own task's reward and ends. Same-step autoreset.

    Our own worlds pay 0 and are truncated, never terminated.
    """

    def __init__(self, world: World) -> None:
        self.world = world

    @property
    def name(self) -> str:
        return self.world.name

    @property
    def num_actions(self) -> int:
        return self.world.num_actions

    @property
    def default_params(self) -> GymnaxParams:
        return GymnaxParams(max_steps_in_episode=self.world.num_steps)

    @partial(jax.jit, static_argnames=("self",))
    def reset(self, key: Array, params: GymnaxParams | None = None) -> tuple[Any, GymnaxState]:
        state = GymnaxState(world=self.world.reset(key), time=jnp.int32(0))
        return self.world.observe(state.world), state

    @partial(jax.jit, static_argnames=("self",))
    def step(
        self, key: Array, state: GymnaxState, action: Int[Array, ""], params: GymnaxParams | None = None
    ) -> tuple[Any, GymnaxState, Float[Array, ""], Bool[Array, ""], Bool[Array, ""], dict[str, Any]]:
        """(o_t, state, reward, terminated, truncated, info); `key` is split into a step's and a reset's."""
        params = self.default_params if params is None else params
        key_step, key_reset = jax.random.split(key)
        moved = GymnaxState(world=self.world.step(key_step, state.world, action), time=state.time + 1)
        o_moved = self.world.observe(moved.world)
        o_start, start = self.reset(key_reset, params)
        reward, is_over, terminated = outcome_of(self.world, moved.world)
        is_over = is_over | (moved.time >= params.max_steps_in_episode)
        truncated = is_over & ~terminated
        o_t, state = jax.tree.map(lambda new, old: jnp.where(is_over, new, old), (o_start, start), (o_moved, moved))
        info = {"terminated": terminated, "truncated": truncated, "final_observation": o_moved}
        return o_t, state, reward, terminated, truncated, info

    def action_space(self, params: GymnaxParams | None = None) -> Any:
        return _spaces().Discrete(self.num_actions)

    def observation_space(self, params: GymnaxParams | None = None) -> Any:
        return _space(self.world.frame)


def _space(frame: Frame) -> Any:
    if isinstance(frame, Join):
        return _spaces().Dict({name: _space(part) for name, part in frame.parts})
    return _spaces().Box(*bounds_of(frame), frame.spec.shape, frame.spec.dtype)


def _spaces() -> Any:
    """Who makes the spaces: gymnax where it is in use, since its wrappers ask for its own classes."""
    return sys.modules.get("gymnax.environments.spaces", sys.modules[__name__])
