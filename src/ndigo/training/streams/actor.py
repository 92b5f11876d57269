"""One actor of a stream: what it carries from frame to frame, and how it goes on."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ndigo.agent import chance, draw_lengths


class Actor(eqx.Module):
    """One actor between two slots: its world, what it carries from frame to frame, and its finished episodes."""

    state: Any  # the world's; None where the host has it
    is_first: Bool[Array, ""]  # whether it looks at the first frame of an episode
    time: Int[Array, ""]  # the frame's step in its episode
    a_tm1: Int[Array, ""]
    h_tm1: Float[Array, " D"]  # the Q-network's state
    left: Int[Array, ""]  # steps left of its random stretch
    repeated: Int[Array, ""]  # the stretch's action
    task_return: Float[Array, ""]  # of this episode, undiscounted
    finished: Float[Array, " 3"]  # episodes, and the sums of their steps and of their task returns


def new_actor(state: Any, size: int) -> Actor:
    """At the first frame of an episode, that of `state`."""
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
    """Such actors as `lead` has axes for, whose worlds the host has."""
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (*lead, *x.shape)), new_actor(None, size))


def _strong(x: Any) -> Array:
    """Without the weak type that Python's numbers have: after a round none is left, and `jit` would compile twice."""
    x = jnp.asarray(x)
    return x.astype(x.dtype) if jax.typeof(x).weak_type else x


class Draws(eqx.Module):
    """An actor's chances at S slots, drawn before them: they depend on no state."""

    is_due: Bool[Array, " S"]  # an idle actor begins a random stretch
    length: Int[Array, " S"]  # of that stretch
    action: Int[Array, " S"]  # and what it repeats


def draw_slots(key: Array, epsilon: Float[Array, ""], num_slots: int, num_actions: int, longest: int) -> Draws:
    key_begin, key_length, key_action = jax.random.split(key, 3)
    return Draws(
        is_due=jax.random.uniform(key_begin, (num_slots,)) < epsilon,
        length=draw_lengths(key_length, num_slots, longest),
        action=jax.random.randint(key_action, (num_slots,), 0, num_actions),
    )


class Decision(eqx.Module):
    """What an actor does at a frame, and what it carries on from there."""

    a_t: Int[Array, ""]
    mu_t: Float[Array, ""]
    h_t: Float[Array, " D"]
    left: Int[Array, ""]


def decide(policy: Any, epsilon: Float[Array, ""], num_actions: int, o_t: Any, actor: Actor, draw: Draws) -> Decision:
    """One step of epsilon-z-greedy (`agent/exploration.py`)."""
    h_t, q_t = policy.step(o_t, actor.a_tm1, actor.h_tm1)
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
    """The actor at its next frame, that of `state`; where its frame was the last, all but its tally begins anew."""
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
