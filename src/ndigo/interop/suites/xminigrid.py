"""XLand-MiniGrid: worlds of tiles and rules. Its `step` begins no next episode unless a wrapper makes it."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from ndigo import frames
from ndigo.errors import unknown_name
from ndigo.frames import Frame
from ndigo.interop.suites.stepped import GOAL, world_of_steps
from ndigo.worlds import World

VALUES, NAMES = (13, 12), ("tile", "colour")
ACTIONS = ("forward", "right", "left", "pick up", "put down", "toggle")


def from_xminigrid(
    env: Any,
    params: Any,
    *,
    name: str | None = None,
    frame: Frame | None = None,
    read: Callable[[Any], Any] | None = None,
    place: Callable[[Any], Any] | None = None,
) -> World:
    """The world of an XLand-MiniGrid environment with its own observations, or with a `frame` for any other.

    Parameters whose ruleset is empty, as `xminigrid.make` returns them, make rooms without a goal: no task, no event.
    """
    name, num_actions = name or type(env).__name__, int(env.num_actions(params))
    if frame is None:
        height, width, _ = env.observation_shape(params)
        frame, read = frames.tiles(VALUES, height, width, names=NAMES), read or (lambda o: o.astype(jnp.uint8))

    ruleset = getattr(params, "ruleset", None)  # worlds with rules of their own have none
    has_goal = ruleset is None or bool(np.any(ruleset.goal))

    def reset(key: Any) -> tuple[Any, Any]:
        timestep = env.reset(params, key)
        return timestep, timestep.observation

    def step(key: Any, timestep: Any, a_t: Any) -> tuple[Any, ...]:
        after = env.step(params, timestep, a_t)
        return after, after.observation, after.reward, after.last(), after.last() & (after.discount == 0)

    return world_of_steps(
        name,
        frame=frame,
        read=read or jnp.asarray,
        num_actions=num_actions,
        num_steps=params.max_steps,
        reset=reset,
        step=step,
        actions=ACTIONS if num_actions == len(ACTIONS) else (),
        place=place or agent_place,
        events=GOAL if has_goal else (),
        draw=lambda timestep: _render(timestep.state, params.view_size),
        has_task=has_goal,
    )


def agent_place(timestep: Any) -> Any:
    agent = timestep.state.agent
    return agent.position, agent.direction


def _render(state: Any, view_size: int) -> Any:
    """XLand-MiniGrid's own picture."""
    render = importlib.import_module("xminigrid.rendering.rgb_render").render
    return render(np.asarray(state.grid), state.agent, view_size)


def by_name(xminigrid: Any, id_: str) -> World:
    if id_ not in xminigrid.registered_environments():
        raise unknown_name("XLand-MiniGrid environment", id_, xminigrid.registered_environments())
    return from_xminigrid(*xminigrid.make(id_), name=f"xminigrid::{id_}")
