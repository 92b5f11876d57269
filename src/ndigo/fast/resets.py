"""The twin of `worlds.rollout.begin_where`: new episodes inside a loop, made only for the actors that need one.

Under `vmap` a choice computes both sides, and to make a world can take a hundred times as long as to step in it. So the
actors whose episode is over are found in the whole batch, whatever axes it has, and their worlds made a few at a time:

    while some actor still waits:  make `at_once` worlds, for the first that wait

Where a world takes few operations it is made for every actor: at each step a GPU waits longer for such a loop to end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Bool

from ndigo.worlds import rollout

FEW = 128  # operations of a reset: CartPole's has 31, MinAtar's Breakout 95, NAVIX's DoorKey 408, Craftax-Classic 1,167
SHARE = 16  # one world of so many is made at a time: at most a sixteenth of the work is in vain


def begin_where(reset: Callable[[Array], Any], is_over: Bool[Array, ""], key: Array, state: Any) -> Any:
    """`reset(key)` where the episode is over, else the state: for one actor, or under any number of `vmap`s."""
    if num_operations(jax.make_jaxpr(reset)(key).jaxpr) <= FEW:
        return rollout.begin_where(reset, is_over, key, state)
    one = jax.tree.map(lambda x: jnp.asarray(x)[None], (is_over, jax.random.key_data(key), state))
    return jax.tree.map(lambda x: x[0], _many(reset)(*one))


def num_operations(jaxpr: Any) -> int:
    """Of a program and those it calls; a loop's body counts once."""
    inner = [[p for p in jax.tree.leaves(eqn.params) if hasattr(p, "eqns")] for eqn in jaxpr.eqns]
    return sum(sum(map(num_operations, called)) if called else 1 for called in inner)


def _many(reset: Callable[[Array], Any]) -> Callable[..., Any]:
    """`begin_where` for N actors; under `vmap` the actors of all axes are one batch."""

    @custom_vmap
    def many(is_over: Array, words: Array, state: Any) -> Any:
        N = len(is_over)
        at_once = max(N // SHARE, 1)

        def some_wait(carry: Any) -> Array:
            return carry[0].any()

        def begin_some(carry: Any) -> Any:
            waits, state = carry
            who = jnp.nonzero(waits, size=at_once, fill_value=N)[0]  # N: nobody, and what is written there is dropped
            made = jax.vmap(lambda w: reset(jax.random.wrap_key_data(w)))(words[jnp.minimum(who, N - 1)])
            state = jax.tree.map(lambda x, new: x.at[who].set(new, mode="drop"), state, made)
            return waits.at[who].set(False, mode="drop"), state

        return lax.while_loop(some_wait, begin_some, (is_over, state))[1]

    @many.def_vmap
    def over_more(axis_size: int, is_batched: Any, *args: Any) -> Any:
        whole = _with_axis(axis_size, is_batched, args)
        flat = jax.tree.map(lambda x: lax.collapse(x, 0, 2), whole)
        out = jax.tree.map(lambda x: x.reshape(axis_size, -1, *x.shape[1:]), _many(reset)(*flat))
        return out, jax.tree.map(lambda _: True, args[2])

    return many


def _with_axis(axis_size: int, is_batched: Any, args: Any) -> Any:
    return jax.tree.map(
        lambda has, x: x if has else jnp.broadcast_to(x, (axis_size, *jnp.shape(x))), tuple(is_batched), args
    )
