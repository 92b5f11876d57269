"""One episode of a policy in a world, with the truth for those who may read it.

The world's randomness depends on the key alone, not on the policy, which draws from a key of its own. A world that ends
an episode by itself stays in its last state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from ndigo.types import Policy, Truth
from ndigo.worlds.world import World


class Rollout(eqx.Module):
    """o_0, a_0, ..., a_{S-1}, o_S, and where everything was."""

    o_t: Any  #: [S+1, ...] as the frame has it
    a_t: Int[Array, " S"]
    truth_t: Any  #: S+1 times `Truth`; None where the world has none
    notes_t: Any = None  #: S+1 times what `note` makes of a state


def begin_where(reset: Callable[[Array], Any], is_over: Bool[Array, ""], key: Array, state: Any) -> Any:
    """A new episode's state, `reset(key)`, where the episode is over; else `state`."""
    return jax.tree.map(lambda new, old: jnp.where(is_over, new, old).astype(old.dtype), reset(key), state)


def rollout(world: World, policy: Policy, key: Array, note: Callable[[Any], Any] = lambda state: None) -> Rollout:
    """One whole episode; the key is consumed."""
    key_reset, key_world, key_policy = jax.random.split(key, 3)

    def look(state: Any) -> tuple[Any, Truth | None, Any]:
        return world.observe(state), None if world.truth is None else world.truth(state), note(state)

    def body(carry: tuple[Any, Array, Any], key_t: Array):
        s_t, a_tm1, m_t = carry
        seen = look(s_t)
        a_t, m_tp1 = policy.act(seen[0], a_tm1, m_t)
        return (move_on(world, key_t, s_t, a_t), a_t, m_tp1), (a_t, seen)

    first = (world.reset(key_reset), jnp.int32(0), policy.start(key_policy))
    (last, *_), (a_t, looks) = jax.lax.scan(body, first, jax.random.split(key_world, world.num_steps))
    whole = jax.tree.map(lambda x_t, x: jnp.concatenate([x_t, jnp.asarray(x)[None]]), looks, look(last))
    return Rollout(whole[0], a_t, *whole[1:])


def move_on(world: World, key: Array, state: Any, a_t: Array) -> Any:
    """The state after the action, or the same one where it ended its episode."""
    stepped = world.step(key, state, a_t)
    if world.ends is None:
        return stepped
    is_last, _ = world.ends(state)
    return jax.tree.map(lambda here, there: jnp.where(is_last, here, there), state, stepped)
