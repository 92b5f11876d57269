"""What a step brought beside its frame: the world's own reward, and whether its episode is over."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp

from ndigo.worlds import World


class Outcome(NamedTuple):
    """Of one step, or [N] of many. An episode that is over and not terminated was cut."""

    reward: Any
    is_over: Any
    is_terminated: Any


def outcome_of(world: World, state: Any) -> Outcome:
    """Of the step into the state. Our own worlds pay nothing and end nothing."""
    is_over, is_terminated = (False, False) if world.ends is None else world.ends(state)
    reward = 0.0 if world.task_reward is None else world.task_reward(state)
    return Outcome(jnp.float32(reward), jnp.bool_(is_over), jnp.bool_(is_terminated))


def has_outcomes(world: World) -> bool:
    """False where every step has the same."""
    return world.ends is not None or world.task_reward is not None
