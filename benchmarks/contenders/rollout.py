"""One way to time every JAX world: a jitted scan of vmapped steps under random actions.

Observations are summed, so that none can be optimised away; whatever else a library computes and
nobody reads (rewards, ends) may be, which favours the peers: ours computes neither.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from contenders.contender import Run

EPISODE = 400  # steps, as in the paper


def scanned(
    reset: Callable[[Any], Any],
    step: Callable[[Any, Any, Any], tuple[Any, Any]],
    num_actions: int,
    copies: int,
    num_steps: int = EPISODE,
) -> Run:
    """`reset(key) -> state` and `step(key, state, action) -> (state, observation)`, for one copy."""

    @jax.jit
    def rollout(key: jax.Array) -> jax.Array:
        key_reset, key_steps = jax.random.split(key)
        states = jax.vmap(reset)(jax.random.split(key_reset, copies))

        def body(carry: tuple[Any, jax.Array], key: jax.Array) -> tuple[Any, None]:
            states, total = carry
            key_act, key_step = jax.random.split(key)
            a_t = jax.random.randint(key_act, (copies,), 0, num_actions)
            states, o_t = jax.vmap(step)(jax.random.split(key_step, copies), states, a_t)
            return (states, total + o_t.sum(dtype=total.dtype)), None

        o_like = jax.eval_shape(lambda: step(key, reset(key), jnp.int32(0))[1])
        total = jnp.zeros((), jnp.float32 if jnp.issubdtype(o_like.dtype, jnp.floating) else jnp.int32)
        return jax.lax.scan(body, (states, total), jax.random.split(key_steps, num_steps))[0][1]

    def run(seed: int) -> int:
        rollout(jax.random.key(seed)).block_until_ready()
        return copies * num_steps

    return run
