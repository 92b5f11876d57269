"""The uniform random walker: the floor that every agent is compared with (the paper's Random)."""

from __future__ import annotations

import equinox as eqx
import jax
from jaxtyping import Array, Bool

from ndigo.evaluation.visits import in_view
from ndigo.types import Truth
from ndigo.worlds import World


class Walk(eqx.Module):
    """One episode's frames o_0 ... o_{T-1}: where everything was, and what was in view."""

    truth: Truth | None  # each field with a leading T; None where the world has no truth
    is_visible: Bool[Array, "T N"]


def random_walk(world: World, key: Array) -> Walk:
    """One episode of actions drawn uniformly, independently each step."""
    key_reset, key_actions, key_steps = jax.random.split(key, 3)
    a_t = jax.random.randint(key_actions, (world.num_steps,), 0, world.num_actions)

    def step(state, inputs):
        key, a = inputs
        frame = Walk(
            truth=None if world.truth is None else world.truth(state),
            is_visible=in_view(world, world.observe(state)),
        )
        return world.step(key, state, a), frame

    return jax.lax.scan(step, world.reset(key_reset), (jax.random.split(key_steps, world.num_steps), a_t))[1]
