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
from jaxtyping import Array, Bool, Float, Int, UInt8

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
    """Arrays of one shape, whole numbers from `low` to `high`."""

    low: int
    high: int
    shape: tuple[int, ...]
    dtype: Any

    def sample(self, key: Array) -> Array:
        return jax.random.randint(key, self.shape, self.low, self.high + 1).astype(self.dtype)

    def contains(self, x: Array) -> Bool[Array, ""]:
        return ((x >= self.low) & (x <= self.high)).all()


class GymnaxWorld:
    """`world` for gymnax's users. Same-step autoreset; reward 0; truncated, never terminated."""

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
    def reset(self, key: Array, params: GymnaxParams | None = None) -> tuple[UInt8[Array, "V V C"], GymnaxState]:
        state = GymnaxState(world=self.world.reset(key), time=jnp.int32(0))
        return self.world.observe(state.world), state

    @partial(jax.jit, static_argnames=("self",))
    def step(
        self, key: Array, state: GymnaxState, action: Int[Array, ""], params: GymnaxParams | None = None
    ) -> tuple[
        UInt8[Array, "V V C"], GymnaxState, Float[Array, ""], Bool[Array, ""], Bool[Array, ""], dict[str, Array]
    ]:
        """(o_t, state, reward, terminated, truncated, info); `key` is split into a step's and a reset's."""
        params = self.default_params if params is None else params
        key_step, key_reset = jax.random.split(key)
        moved = GymnaxState(world=self.world.step(key_step, state.world, action), time=state.time + 1)
        o_moved = self.world.observe(moved.world)
        o_start, start = self.reset(key_reset, params)
        terminated = jnp.bool_(False)
        truncated = moved.time >= params.max_steps_in_episode
        o_t, state = jax.tree.map(lambda new, old: jnp.where(truncated, new, old), (o_start, start), (o_moved, moved))
        info = {"terminated": terminated, "truncated": truncated, "final_observation": o_moved}
        return o_t, state, jnp.float32(0), terminated, truncated, info

    def action_space(self, params: GymnaxParams | None = None) -> Any:
        return _spaces().Discrete(self.num_actions)

    def observation_space(self, params: GymnaxParams | None = None) -> Any:
        return _spaces().Box(0, 1, self.world.shape, jnp.uint8)


def _spaces() -> Any:
    """Who makes the spaces: gymnax where it is in use, since its wrappers ask for its own classes."""
    return sys.modules.get("gymnax.environments.spaces", sys.modules[__name__])
