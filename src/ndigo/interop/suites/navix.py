"""NAVIX: MiniGrid's worlds in JAX.

Its `step` begins the next episode in the step after the one that ends one, and that step's action is lost. Asked for
here is `_step`, which does not.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ndigo import frames
from ndigo.errors import NdigoError, unknown_name
from ndigo.frames import Frame
from ndigo.interop.suites.minigrid_view import minigrid_tiles
from ndigo.interop.suites.stepped import GOAL, require_discrete, world_of_steps
from ndigo.worlds import World

VALUES, NO_COLOUR = (11, 7, 4), 255  # entities, colours and no colour, which is read as 6, states
NAMES = ("entity", "colour", "state")


def from_navix(
    env: Any,
    *,
    name: str | None = None,
    frame: Frame | None = None,
    read: Callable[[Any], Any] | None = None,
    place: Callable[[Any], Any] | None = None,
) -> World:
    """The world of a NAVIX environment with symbolic observations, or with a `frame` for any other."""
    name = name or type(env).__name__
    num_actions = require_discrete(name, env.action_space)
    if frame is None:
        shape = tuple(env.observation_space.shape)
        if len(shape) != 3 or shape[2] != len(VALUES) or not _is_symbolic(jax.jit(env.reset)(jax.random.key(0))):
            raise NdigoError(f"world {name}: its observations {shape} are not symbolic ones: hand over a frame")
        listed = minigrid_tiles(*VALUES[1:])  # a locked door is state 3 in some of its versions, 2 in others
        frame, read = frames.tiles(VALUES, shape[0], shape[1], names=NAMES, listed=listed), read or read_tiles

    def reset(key: Any) -> tuple[Any, Any]:
        timestep = env.reset(key)
        return timestep, timestep.observation

    def step(key: Any, timestep: Any, a_t: Any) -> tuple[Any, ...]:
        after = env._step(timestep, a_t)
        return after, after.observation, after.reward, after.step_type > 0, after.step_type == 2

    return world_of_steps(
        name,
        frame=frame,
        read=read or jnp.asarray,
        num_actions=num_actions,
        num_steps=int(env.max_steps),
        reset=reset,
        step=step,
        place=place or player_place,
        events=GOAL,
        draw=lambda timestep: _renderer()(timestep.state),
    )


def _is_symbolic(timestep: Any) -> bool:
    """Whether a frame's entities and colours are some; a picture has the same axes. Of states any number occurs."""
    entity, colour, _ = np.moveaxis(np.asarray(timestep.observation), -1, 0)
    return bool((entity < VALUES[0]).all() and ((colour < VALUES[1] - 1) | (colour == NO_COLOUR)).all())


def read_tiles(observation: Any) -> Any:
    return jnp.minimum(observation, jnp.array(VALUES, jnp.uint8) - 1).astype(jnp.uint8)


def player_place(timestep: Any) -> Any:
    player = timestep.state.get_player()
    return player.position, player.direction


@cache
def _renderer() -> Any:
    """NAVIX's own picture of the whole grid."""
    return jax.jit(importlib.import_module("navix.observations").rgb)


def by_name(navix: Any, id_: str) -> World:
    if id_ not in navix.registry():
        raise unknown_name("NAVIX environment", id_, navix.registry())
    return from_navix(navix.make(id_), name=f"navix::{id_}")
