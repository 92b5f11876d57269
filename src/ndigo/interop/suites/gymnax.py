"""gymnax (at least 1.0): MinAtar, bsuite, classic control, and your own of its interface.

Its `step` begins the next episode in the step that ends one, and tells the last frame beside it. Asked for here is
`step_env`, which does not, and `is_truncated`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from ndigo.errors import NdigoError, running, unknown_name
from ndigo.frames import Frame, Join, Vector
from ndigo.interop.suites.bounds import OutsideError, refuse_outside
from ndigo.interop.suites.spaces import frame_of
from ndigo.interop.suites.stepped import require_discrete, world_of_steps
from ndigo.worlds import World

TRIED, TRIED_STEPS = 16, 200  # random walkers and their steps, before a world is made


def from_gymnax(
    env: Any,
    params: Any = None,
    *,
    name: str | None = None,
    frame: Frame | None = None,
    read: Callable[[Any], Any] | None = None,
    place: Callable[[Any], Any] | None = None,
) -> World:
    """The world of a gymnax environment; `read` turns its observations into `frame`'s, `place` reads its states."""
    if not hasattr(env, "step_env"):
        kind = type(env).__name__
        raise NdigoError(f"from_gymnax: env is a {kind}, expected an environment: from_gymnax(*gymnax.make(ID))")
    name, params = str(name or env.name), env.default_params if params is None else params
    num_actions = require_discrete(name, env.action_space(params))
    is_read_as_declared = frame is None and read is None

    def show() -> Any:
        first = env.reset_env(jax.random.key(0), params)[0]
        return first if read is None else read(first)

    frame, own = (frame, arrays) if frame is not None else frame_of(name, env.observation_space(params), show)

    def reset(key: Any) -> tuple[Any, Any]:
        observation, state = env.reset_env(key, params)
        return state, observation

    def step(key: Any, state: Any, a_t: Any) -> tuple[Any, ...]:
        observation, state, reward, terminated, _ = env.step_env(key, state, a_t, params)
        return state, observation, reward, terminated | env.is_truncated(state, params), terminated

    world = world_of_steps(
        name,
        frame=frame,
        read_late=read or own,
        num_actions=num_actions,
        num_steps=int(params.max_steps_in_episode),
        reset=reset,
        step=step,
        place=place,
    )
    if isinstance(frame, Vector | Join) and is_read_as_declared:
        with running(f"world {name}: an episode of it"):
            seen = jax.device_get(_walked(world))
        refuse_outside(name, env.observation_space(params), seen)
    return world


def arrays(observation: Any) -> Any:
    return jax.tree.map(jnp.asarray, observation)


def _walked(world: World) -> Array:
    """What random walkers are shown, as gymnax has it, [N, ...]."""

    def body(state: Any, key: Array) -> tuple[Any, Any]:
        key_action, key_world = jax.random.split(key)
        a_t = jax.random.randint(key_action, (), 0, world.num_actions)
        after = lax.cond(state.is_last, lambda: world.reset(key_world), lambda: world.step(key_world, state, a_t))
        return after, state.kept

    def walk(key: Array) -> Any:
        return lax.scan(body, world.reset(key), jax.random.split(key, TRIED_STEPS))[1]

    return jax.jit(lambda keys: lax.collapse(jax.vmap(walk)(keys), 0, 2))(jax.random.split(jax.random.key(0), TRIED))


def by_name(gymnax: Any, id_: str) -> World:
    if id_ not in gymnax.registered_envs:
        raise unknown_name("gymnax environment", id_, gymnax.registered_envs)
    name, (env, params) = f"gymnax::{id_}", gymnax.make(id_)
    try:
        return from_gymnax(env, params, name=name)
    except OutsideError:  # which whoever trains by name cannot correct
        space = env.observation_space(params)
        if not hasattr(space, "low"):
            raise
        print(f"world {name} leaves the bounds that it declares: its numbers are read without them", file=sys.stderr)
        without = SimpleNamespace(low=-np.inf, high=np.inf, shape=space.shape)
        frame, read = frame_of(name, without, lambda: env.reset(jax.random.key(0), params)[0])
        return from_gymnax(env, params, name=name, frame=frame, read=read)
