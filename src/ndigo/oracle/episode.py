"""One episode of one agent, recorded with the truth, for the oracle to judge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, UInt8

from ndigo.errors import NdigoError
from ndigo.types import Truth
from ndigo.worlds import World


class Episode(eqx.Module):
    """o_0, a_0, ..., a_{T-1}, o_T, and where everything was."""

    o_t: UInt8[Array, "T+1 V V C"]
    a_t: Int[Array, " T"]
    truth_t: Truth  # T+1 of them


@dataclass(frozen=True, eq=False)
class ReferenceAgent:
    """A policy that needs no training. Its state before o_0 is `start`."""

    name: str
    start: Any
    act: Callable[[Array, UInt8[Array, "V V C"], Any], tuple[Int[Array, ""], Any]]  # key, o_t, state -> a_t, state


def random_walker(world: World) -> ReferenceAgent:
    """Uniform actions."""
    return ReferenceAgent(
        "random", (), lambda key, o_t, state: (jax.random.randint(key, (), 0, world.num_actions), state)
    )


def follow(a_t: Int[Array, " T"], name: str = "path") -> ReferenceAgent:
    """Takes the given actions, then stays."""
    path = jnp.append(jnp.asarray(a_t, jnp.int32), 0)

    def act(key: Array, o_t: Array, t: Array) -> tuple[Array, Array]:
        return path[jnp.minimum(t, len(path) - 1)], t + 1

    return ReferenceAgent(name, jnp.int32(0), act)


def play(world: World, agent: ReferenceAgent, key: Array) -> Episode:
    """One whole episode; the key is consumed."""
    if world.truth is None:
        raise NdigoError(f"world {world.name}: the oracle needs a world that tells the truth")
    truth = world.truth
    key_reset, key_steps = jax.random.split(key)

    def body(carry: tuple[Any, Any], key_t: Array):
        s_t, m_t = carry
        key_act, key_step = jax.random.split(key_t)
        a_t, m_tp1 = agent.act(key_act, world.observe(s_t), m_t)
        s_tp1 = world.step(key_step, s_t, a_t)
        return (s_tp1, m_tp1), (a_t, world.observe(s_tp1), truth(s_tp1))

    s_0 = world.reset(key_reset)
    _, (a_t, o_later, truth_later) = jax.lax.scan(
        body, (s_0, agent.start), jax.random.split(key_steps, world.num_steps)
    )
    o_t, truth_t = jax.tree.map(
        lambda first, later: jnp.concatenate([jnp.asarray(first)[None], later]),
        (world.observe(s_0), truth(s_0)),
        (o_later, truth_later),
    )
    return Episode(o_t=o_t, a_t=a_t, truth_t=truth_t)
