"""Slots of a stream: played on the device, and cut into windows, the rows of the replay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from ndigo.agent import time_first
from ndigo.evaluation.true_cells import object_cells
from ndigo.networks import Core
from ndigo.training.streams.actor import Actor, advance, decide, draw_slots
from ndigo.types import Window, action_type
from ndigo.worlds import World
from ndigo.worlds.rollout import begin_where


class Slots(eqx.Module):
    """S slots of a stream, and the frame after the last."""

    o_t: Any  # packed
    a_tm1: Int[Array, " S+1"]
    is_first: Bool[Array, " S+1"]
    is_terminal: Bool[Array, " S+1"]
    cells: Int[Array, "S+1 N"]
    time: Int[Array, " S+1"]
    a_t: Int[Array, " S"]
    mu_t: Float[Array, " S"]
    task_t: Float[Array, " S"]
    h_tm1: Float[Array, "S D"]  # the Q-network's; at every slot, or only where windows begin


def play_slots(
    world: World,
    network: Any,
    key: Array,
    actor: Actor,
    epsilon: Float[Array, ""],
    num_slots: int,
    longest: int,
    note: Callable[[Any], Any] = lambda state: None,
    begin: Callable[..., Any] = begin_where,
) -> tuple[Actor, Slots, Any]:
    """Plays S slots of one actor: the actor after them, the slots, and what `note` makes of each of the S+1 states."""
    assert world.ends is not None
    key_step, key_reset, key_draws = jax.random.split(key, 3)
    draws = (
        jax.random.split(key_step, num_slots),
        jax.random.split(key_reset, num_slots),
        draw_slots(key_draws, epsilon, num_slots, world.num_actions, longest),
    )

    def look(actor: Actor) -> dict[str, Any]:
        return {
            "o_t": world.frame.pack(world.observe(actor.state)),
            "a_tm1": actor.a_tm1,
            "is_first": actor.is_first,
            "is_terminal": world.ends(actor.state)[1],  # type: ignore[misc]
            "cells": object_cells(world, actor.state),
            "time": actor.time,
        }

    def body(actor: Actor, drawn: Any) -> tuple[Actor, Any]:
        key_step, key_reset, draw = drawn
        is_last = world.ends(actor.state)[0]  # type: ignore[misc]
        did = decide(network, epsilon, world.num_actions, world.observe(actor.state), actor, draw)
        state = begin(world.reset, is_last, key_reset, world.step(key_step, actor.state, did.a_t))
        r_t = jnp.float32(0) if world.task_reward is None else world.task_reward(state).astype(jnp.float32)
        r_t = jnp.where(is_last, 0.0, r_t)
        a_t, mu_t = jnp.where(is_last, 0, did.a_t), jnp.where(is_last, 1.0, did.mu_t)
        step = {"a_t": a_t, "mu_t": mu_t, "task_t": r_t, "h_tm1": actor.h_tm1}
        return advance(actor, did, is_last, r_t, state), ((look(actor), note(actor.state)), step)

    after, (seen, steps) = lax.scan(body, actor, draws)
    end = (look(after), note(after.state))
    frames, notes = jax.tree.map(lambda x_t, x: jnp.concatenate([x_t, jnp.asarray(x)[None]]), seen, end)
    return after, Slots(**frames, **steps), notes


def cut_slots(slots: Slots, T: int, num_actions: int) -> Window:
    """One actor's slots as W windows, [W, T, ...]; frames stay packed, and `believe` fills in the beliefs."""
    num, small = len(slots.a_t) // T, action_type(num_actions)

    def rows(x_t: Any, more: int = 0) -> Any:
        return jnp.stack([x_t[w * T : (w + 1) * T + more] for w in range(num)])

    return Window(
        o_t=rows(slots.o_t, 1),
        a_tm1=rows(slots.a_tm1, 1).astype(small),
        a_t=rows(slots.a_t).astype(small),
        mu_t=rows(slots.mu_t),
        belief=jnp.zeros((num, 0)),
        agent_state=slots.h_tm1[:: len(slots.h_tm1) // num],
        start=slots.time[:-1:T],
        cells=rows(slots.cells, 1),
        is_first=rows(slots.is_first, 1),
        discount_t=rows(1.0 - slots.is_terminal[1:]),
        task_t=rows(slots.task_t),
    )


def whole_stream(world: World, slots: Slots, belief_size: int) -> Window:
    """All slots of an actor as one window; they start with the first frame of an episode."""
    rows = cut_slots(slots, len(slots.a_t), world.num_actions)
    return eqx.tree_at(lambda w: w.belief, jax.tree.map(lambda x: x[0], rows), jnp.zeros(belief_size))


def believe(world: World, core: Core, rows: Window, b_tm1: Float[Array, "E D"]) -> tuple[Window, Float[Array, "E D"]]:
    """The windows [E, W, ...] of E actors with the belief before each window, and the beliefs after the last ones."""

    def body(b_tm1: Array, row: Window) -> tuple[Array, Array]:
        z_t = core.encoder(time_first(world.frame.unpack(row.o_t[:, :-1])))
        assert row.is_first is not None
        b_t = core.unroll(z_t, row.a_tm1[:, :-1].T.astype(jnp.int32), b_tm1, row.is_first[:, :-1].T)
        return b_t[-1], b_tm1

    after, before = lax.scan(body, b_tm1, time_first(rows))
    return eqx.tree_at(lambda w: w.belief, rows, jnp.swapaxes(before, 0, 1)), after
