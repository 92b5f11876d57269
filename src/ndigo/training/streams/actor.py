"""One actor of a stream: its state, its choice at a frame, its step to the next."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ndigo.agent import chance, draw_lengths


class Actor(eqx.Module):
    """One actor, about to look at a frame."""

    state: Any  # the world's; None where the host steps it
    is_first: Bool[Array, ""]  # the frame is an episode's first
    time: Int[Array, ""]  # steps of the episode before the frame
    a_tm1: Int[Array, ""]
    h_tm1: Float[Array, " D"]  # the Q-network's state
    left: Int[Array, ""]  # steps left of its random stretch
    repeated: Int[Array, ""]  # the stretch's action
    task_return: Float[Array, ""]  # of this episode so far, undiscounted
    finished: Float[Array, " 3"]  # of finished episodes: their number, and the sums of their steps and task returns


def new_actor(state: Any, size: int) -> Actor:
    """An actor at the first frame of an episode, that of `state`."""
    zero = jnp.int32(0)
    return Actor(
        state=jax.tree.map(_strong, state),
        is_first=jnp.bool_(True),
        time=zero,
        a_tm1=zero,
        h_tm1=jnp.zeros(size),
        left=zero,
        repeated=zero,
        task_return=jnp.float32(0),
        finished=jnp.zeros(3),
    )


def new_actors(lead: tuple[int, ...], size: int) -> Actor:
    """An array of new actors of that shape, in worlds that the host steps."""
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (*lead, *x.shape)), new_actor(None, size))


def _strong(x: Any) -> Array:
    """Without the weak type of Python's numbers: a round's results have none, so `jit` would compile a second time."""
    x = jnp.asarray(x)
    return x.astype(x.dtype) if jax.typeof(x).weak_type else x


class Draws(eqx.Module):
    """An actor's randomness for S slots, drawn beforehand since it depends on no state."""

    is_due: Bool[Array, " S"]  # here a random stretch begins, unless one is under way
    length: Int[Array, " S"]  # that stretch's length
    action: Int[Array, " S"]  # and its action


def draw_slots(key: Array, epsilon: Float[Array, ""], num_slots: int, num_actions: int, longest: int) -> Draws:
    key_begin, key_length, key_action = jax.random.split(key, 3)
    return Draws(
        is_due=jax.random.uniform(key_begin, (num_slots,)) < epsilon,
        length=draw_lengths(key_length, num_slots, longest),
        action=jax.random.randint(key_action, (num_slots,), 0, num_actions),
    )


class Decision(eqx.Module):
    """What an actor does at a frame, and its state after it."""

    a_t: Int[Array, ""]
    mu_t: Float[Array, ""]
    h_t: Float[Array, " D"]
    left: Int[Array, ""]


def decide(network: Any, epsilon: Float[Array, ""], num_actions: int, o_t: Any, actor: Actor, draw: Draws) -> Decision:
    """One step of epsilon-z-greedy (`agent/exploration.py`)."""
    h_t, q_t = network.step(o_t, actor.a_tm1, actor.h_tm1)
    greedy = q_t.argmax(axis=-1).astype(jnp.int32)
    is_repeat, begins = actor.left > 0, (actor.left == 0) & draw.is_due
    a_t = jnp.where(is_repeat, actor.repeated, jnp.where(begins, draw.action, greedy))
    return Decision(
        a_t=a_t,
        mu_t=chance(is_repeat, a_t == greedy, epsilon, num_actions),
        h_t=h_t,
        left=jnp.where(is_repeat, actor.left - 1, jnp.where(begins, draw.length - 1, 0)),
    )


def advance(actor: Actor, did: Decision, is_last: Bool[Array, ""], r_t: Float[Array, ""], state: Any) -> Actor:
    """The actor at its next frame, that of `state`; after an episode's last frame all but `finished` starts again."""
    over = is_last.astype(jnp.float32)
    return Actor(
        state=state,
        is_first=is_last,
        time=jnp.where(is_last, 0, actor.time + 1),
        a_tm1=jnp.where(is_last, 0, did.a_t),
        h_tm1=jnp.where(is_last, 0.0, did.h_t),
        left=jnp.where(is_last, 0, did.left),
        repeated=did.a_t,
        task_return=jnp.where(is_last, 0.0, actor.task_return + r_t),
        finished=actor.finished + over * jnp.stack([over, actor.time.astype(jnp.float32), actor.task_return]),
    )
