"""Environments of the host, and slots of actors in them: what `slots.py` is for a world on the device."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jaxtyping import Array

from ndigo.training.streams.actor import Actor, Decision, Draws, advance, decide, draw_slots
from ndigo.training.streams.slots import Slots
from ndigo.worlds import World
from ndigo.worlds.host import Environments, Told

Play = Callable[..., tuple[Actor, Told, Slots, Told]]


class SeedEnvironments:
    """E environments for each of S seeds, made when they are first asked for."""

    def __init__(self, world: World, num_seeds: int, num_actors: int):
        assert world.host is not None
        self._host, self._shape = world.host, (num_seeds, num_actors)
        self._envs: Environments | None = None

    def begin(self, seed: int) -> Told:
        """New episodes everywhere; what is told is [S, E, ...]."""
        if self._envs is None:
            num = math.prod(self._shape)
            self._envs = self._host.open(num, num_processes(num))
        return self._of_seeds(self._envs.reset(seed))

    def step(self, a_t: np.ndarray, meanwhile: Callable[[], None]) -> Told:
        assert self._envs is not None
        self._envs.send(np.asarray(a_t).reshape(-1))
        meanwhile()
        return self._of_seeds(self._envs.receive())

    def close(self) -> None:
        if self._envs is not None:
            self._envs.close()
        self._envs = None

    def _of_seeds(self, told: Told) -> Told:
        return jax.tree.map(lambda x: np.array(x).reshape(*self._shape, *x.shape[1:]), told)


def num_processes(num: int) -> int:
    """The largest number of cores that divides the environments."""
    return max(n for n in range(1, num_cores() + 1) if num % n == 0)


def num_cores() -> int:
    """Those that this process may use, where the system says so: a scheduler lends some of a machine's."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def make_player(world: World) -> Play:
    """play(environments, policy, epsilons [E], actors [S, E], draws [S, E, n], told, at_slot): n slots of every actor.

    `policy()` is asked at each slot, and `at_slot(t)` called while the environments step. Returns the actors after
    the slots, what they look at, the slots in NumPy with frames as they came, and all that was told, [S, E, n+1].
    """

    def decide_one(policy: Any, epsilon: Array, o_t: Any, actor: Actor, draws: Draws, t: Array) -> Decision:
        return decide(policy, epsilon, world.num_actions, o_t, actor, jax.tree.map(lambda x: x[t], draws))

    def advance_one(actor: Actor, did: Decision, is_last: Array, r_t: Array) -> Actor:
        return advance(actor, did, is_last, r_t, None)

    over_actors = jax.vmap(decide_one, in_axes=(None, 0, 0, 0, 0, None))
    decide_all = jax.jit(jax.vmap(over_actors, in_axes=(0, None, 0, 0, 0, None)))
    advance_all = jax.jit(jax.vmap(jax.vmap(advance_one)))

    def look(actor: Actor) -> tuple[Array, Array, Array]:
        return actor.a_tm1, actor.is_first, actor.time

    def play(
        environments: SeedEnvironments,
        policy: Callable[[], Any],
        epsilons: Array,
        actors: Actor,
        draws: Draws,
        told: Told,
        at_slot: Callable[[int], None],
    ) -> tuple[Actor, Told, Slots, Told]:
        seen, steps, everything = [look(actors)], [], [told]
        for t in range(draws.is_due.shape[-1]):
            did = decide_all(policy(), epsilons, told.o_t, actors, draws, np.int32(t))
            before, told = told, environments.step(jax.device_get(did.a_t), lambda t=t: at_slot(t))
            r_t = np.where(before.is_last, 0, told.reward).astype(np.float32)
            steps.append((did.a_t, did.mu_t, r_t, actors.h_tm1))
            actors = advance_all(actors, did, before.is_last, r_t)
            seen.append(look(actors))
            everything.append(told)
        whole = stacked(everything)
        return actors, told, slots_of(whole, stacked(jax.device_get(seen)), stacked(jax.device_get(steps))), whole

    return play


def slots_of(told: Told, seen: Any, steps: Any) -> Slots:
    (a_tm1, is_first, time), (a_t, mu_t, task_t, h_tm1) = seen, steps
    is_step = ~told.is_last[..., :-1]
    return Slots(
        o_t=told.o_t,
        a_tm1=a_tm1,
        is_first=is_first,
        is_terminal=told.is_terminal,  # type: ignore[arg-type]
        cells=np.zeros((*a_tm1.shape, 0), np.int32),  # type: ignore[arg-type]
        time=time,
        a_t=np.where(is_step, a_t, 0),  # type: ignore[arg-type]
        mu_t=np.where(is_step, mu_t, 1).astype(np.float32),  # type: ignore[arg-type]
        task_t=task_t,
        h_tm1=h_tm1,
    )


def stacked(trees: list[Any]) -> Any:
    """Trees of [S, E, ...] as one of [S, E, T, ...]."""
    return jax.tree.map(lambda *parts: np.stack(parts, axis=2), *trees)


def drawing(num_slots: int, num_actions: int, longest: int, epsilons: Array) -> Callable[[Array], Draws]:
    """keys [S] -> the chances of E actors, [S, E, slots]."""

    def of_actor(key: Array, epsilon: Array) -> Draws:
        return draw_slots(key, epsilon, num_slots, num_actions, longest)

    def of_seed(key: Array) -> Draws:
        return jax.vmap(of_actor)(jax.random.split(key, len(epsilons)), epsilons)

    return jax.jit(jax.vmap(of_seed))
