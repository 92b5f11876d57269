"""Environments of the host, and slots of actors in them: what `slots.py` is for a world on the device.

Each slot is one program, from o_t to a_t, which also writes both into arrays that stay on the device; and one wait, for
a_t. Then the environments step, and meanwhile the host is free.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from ndigo.errors import NdigoError
from ndigo.training.streams.actor import Actor, Draws, advance, decide, draw_slots
from ndigo.training.streams.slots import Slots
from ndigo.types import Twins
from ndigo.worlds import World
from ndigo.worlds.host import Environments, Listen, Told, nobody

Play = Callable[..., tuple[Actor, Told, Slots]]


class SeedEnvironments:
    """E environments for each of S seeds, made on first use; `listen` is called while the host waits for them."""

    def __init__(self, world: World, num_seeds: int, num_actors: int):
        assert world.host is not None
        self._world, self._host, self._shape = world, world.host, (num_seeds, num_actors)
        self._envs: Environments | None = None
        self._num_steps = 0
        self.listen: Listen = nobody

    def begin(self, seed: int) -> Told:
        """Starts new episodes everywhere; what it returns leads with [S, E]."""
        if self._envs is None:
            num = math.prod(self._shape)
            self._envs = self._host.open(num, num_processes(num))
        return self._of_seeds(self._envs.reset(seed, self.listen))

    def step(self, a_t: np.ndarray, meanwhile: Callable[[], None]) -> Told:
        assert self._envs is not None
        self._envs.send(np.asarray(a_t).reshape(-1))
        meanwhile()
        told = self._envs.receive(self.listen)
        self._refuse_wrong(told)
        return self._of_seeds(told)

    def close(self) -> None:
        if self._envs is not None:
            self._envs.close()
        self._envs = None

    def _refuse_wrong(self, told: Told) -> None:
        """An error for a reward that is no number, and for a frame that is not as the world declares.

        Each step checks all rewards, and one environment's frame, in turn: all frames where that is wrong.
        """
        if not np.isfinite(told.reward).all():
            n = int((~np.isfinite(told.reward)).argmax())
            raise NdigoError(
                f"world {self._world.name}: step {self._num_steps + 1} of environment {n} returned the reward "
                f"{told.reward[n]}, expected a finite number"
            )
        n = self._num_steps % math.prod(self._shape)
        self._num_steps += 1
        if self._world.frame.wrong(jax.tree.map(lambda x: x[n : n + 1], told.o_t)) is not None:
            wrong = self._world.frame.wrong(told.o_t)
            raise NdigoError(
                f"world {self._world.name} after {self._num_steps} steps of each environment: {wrong} (frame i is that "
                "of environment i)"
            )

    def _of_seeds(self, told: Told) -> Told:
        # Copies: the processes write the next frames over these.
        return jax.tree.map(lambda x: np.array(x).reshape(*self._shape, *x.shape[1:]), told)


def num_processes(num: int) -> int:
    """The number of cores, or the largest number below it that divides the environments evenly."""
    return max(n for n in range(1, num_cores() + 1) if num % n == 0)


def num_cores() -> int:
    """The cores that this process may use, where the system says so: a scheduler can grant fewer than there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def make_player(world: World, by: Twins) -> Play:
    """play(environments, network, epsilons [E], actors [S, E], draws [S, E, n], told, T, at_slot): n slots of each.

    `network()` is asked at each slot, and `at_slot(t, told)` called while the environments step from what was told.
    Returns the actors after the slots, what they look at, and the slots [S, E, n], with the network's states where rows
    of T slots begin.
    """

    # Over seeds, which have networks of their own, and actors, which have epsilons.
    decide_all = jax.vmap(jax.vmap(decide, (None, 0, None, 0, 0, 0)), (0, None, None, 0, 0, 0))
    advance_all = jax.vmap(jax.vmap(advance, (0, 0, 0, None, None)), (0, 0, 0, None, None))

    def look(slots: Slots, actors: Actor, told: Told, t: Array) -> tuple[Slots, Actor]:
        """Writes what is seen at slot t, and the pay of slot t-1: at t = 0 into the last, which is written again."""
        seen = {"a_tm1": actors.a_tm1, "is_first": actors.is_first, "time": actors.time}
        slots = put(slots, t, o_t=world.frame.pack(told.o_t), is_terminal=told.is_terminal, **seen)
        task_return = actors.task_return + told.reward
        return put(slots, t - 1, task_t=told.reward), dataclasses.replace(actors, task_return=task_return)

    def act(
        slots: Slots, actors: Actor, told: Told, t: Array, network: Any, epsilons: Array, draws: Draws
    ) -> tuple[Slots, Actor, Array]:
        slots, actors = look(slots, actors, told, t)
        draw = jax.tree.map(lambda x: x[:, :, t], draws)
        did = decide_all(network, epsilons, world.num_actions, told.o_t, actors, draw)
        a_t, mu_t = jnp.where(told.is_last, 0, did.a_t), jnp.where(told.is_last, 1.0, did.mu_t)
        slots = put(slots, t, a_t=a_t, mu_t=mu_t)
        # Without the pay, which comes with the next frame (`look`).
        return slots, advance_all(actors, did, jnp.asarray(told.is_last), jnp.float32(0), None), did.a_t

    look_last, act_all = (by.compiled(f, "act", None, donate=0) for f in (look, act))

    def play(
        environments: SeedEnvironments,
        network: Callable[[], Any],
        epsilons: Array,
        actors: Actor,
        draws: Draws,
        told: Told,
        T: int,
        at_slot: Callable[[int, Told], None],
    ) -> tuple[Actor, Told, Slots]:
        *lead, num_slots = draws.is_due.shape
        slots, states = nothing_seen(world, 0, tuple(lead), num_slots, 0), []
        told = told._replace(reward=np.zeros(lead, np.float32))  # the slots before these have it
        for t in range(num_slots):
            if t % T == 0:
                states.append(actors.h_tm1)
            slots, actors, a_t = act_all(slots, actors, told, np.int32(t), network(), epsilons, draws)
            now = environments.step(jax.device_get(a_t), lambda t=t, told=told: at_slot(t, told))
            told = now._replace(reward=np.where(told.is_last, 0, now.reward).astype(np.float32))
        slots, actors = look_last(slots, actors, told, np.int32(num_slots))
        return actors, told, dataclasses.replace(slots, h_tm1=jnp.stack(states, axis=2))

    return play


def put(slots: Slots, t: Array, **values: Any) -> Slots:
    """The slots [S, E, n] with values [S, E] at t; in place where the slots are donated."""

    def into(x_t: Array, x: Array) -> Array:
        return lax.dynamic_update_index_in_dim(x_t, jnp.asarray(x), t, axis=2)

    changed = {name: jax.tree.map(into, getattr(slots, name), value) for name, value in values.items()}
    return dataclasses.replace(slots, **changed)


def nothing_seen(world: World, size: int, lead: tuple[int, ...], num_slots: int, num_rows: int) -> Slots:
    """Slots of zeros with the leading axes `lead`; the network's states are [num_rows, size]."""

    def of(shape: tuple[int, ...], dtype: Any, more: int = 0) -> Array:
        return jnp.zeros((*lead, num_slots + more, *shape), dtype)

    return Slots(
        o_t=jax.tree.map(lambda x: of(x.shape, x.dtype, 1), jax.eval_shape(world.frame.pack, world.frame.spec)),
        a_tm1=of((), jnp.int32, 1),
        is_first=of((), bool, 1),
        is_terminal=of((), bool, 1),
        cells=of((0,), jnp.int32, 1),
        time=of((), jnp.int32, 1),
        a_t=of((), jnp.int32),
        mu_t=of((), jnp.float32),
        task_t=of((), jnp.float32),
        h_tm1=jnp.zeros((*lead, num_rows, size)),
    )


def drawing(num_slots: int, num_actions: int, longest: int, epsilons: Array) -> Callable[[Array], Draws]:
    """keys [S] -> the randomness of E actors, [S, E, slots]."""

    def of_actor(key: Array, epsilon: Array) -> Draws:
        return draw_slots(key, epsilon, num_slots, num_actions, longest)

    def of_seed(key: Array) -> Draws:
        return jax.vmap(of_actor)(jax.random.split(key, len(epsilons)), epsilons)

    return jax.jit(jax.vmap(of_seed))
