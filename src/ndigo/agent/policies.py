"""Policies: the random walker, and the learned Q-network acting greedily."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from ndigo.agent.exploration import draw_stretches
from ndigo.types import Policy


def random_walker(world: Any, longest: int = 1) -> Policy:
    """Uniform actions: a new one at every step (the paper's Random), or repeated for stretches of up to `longest`."""

    def start(key: Array) -> tuple[Array, Array, Array]:
        return jnp.int32(0), key, draw_stretches(key, jnp.float32(1), world.num_steps, world.num_actions, longest).a_t

    def act(o_t: Array, a_tm1: Array, state: tuple[Array, ...]) -> tuple[Array, tuple[Array, ...]]:
        t, key, a_t = state
        # The actions of `num_steps` steps are drawn at once; an episode that goes on draws the rest one by one.
        beyond = jax.random.randint(jax.random.fold_in(key, t), (), 0, world.num_actions, a_t.dtype)
        return jnp.where(t < len(a_t), a_t[jnp.minimum(t, len(a_t) - 1)], beyond), (t + 1, key, a_t)

    return Policy(start, act)


def greedy_policy(network: Any) -> Policy:
    """The action with the largest value of a Q-network (or of its form for loops, `Twins.joined`)."""

    def act(o_t: Array, a_tm1: Array, h_tm1: Array) -> tuple[Array, Array]:
        h_t, q_t = network.step(o_t, a_tm1, h_tm1)
        return q_t.argmax(axis=-1).astype(jnp.int32), h_t

    return Policy(lambda key: jnp.zeros(network.size), act)
