"""Streams of a world whose environments the host steps, in processes, while the device learns.

    each slot   device   a_t = decide(o_t), for all actors of all seeds at once
                host     sends a_t; the processes step; receives o_{t+1}
                device   every few slots an update, sent off while the processes step

The windows are those of a stream on the device: the same functions choose, advance and cut. Actions come from the
network as it was before the update under way, so that acting never waits for learning; mu_t is the probability they
had under that network.

An environment's own state cannot be saved. A resumed run begins new episodes, and is not the same bit for bit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ndigo.agent import Ring
from ndigo.agents.agent import Params
from ndigo.config import Config
from ndigo.devices.processes import joined_on_host
from ndigo.networks import lower
from ndigo.rewards import IntrinsicReward
from ndigo.training.rounds import make_learn
from ndigo.training.signals import nothing, wait_for
from ndigo.training.streams.collector import exploring
from ndigo.training.streams.crowd import Crowd, rows_of
from ndigo.training.streams.host_episodes import make_measure
from ndigo.training.streams.host_slots import SeedEnvironments, drawing, make_player
from ndigo.training.streams.slots import Slots
from ndigo.types import Twins
from ndigo.worlds import World
from ndigo.worlds.host import Told, seed_of

if TYPE_CHECKING:
    from ndigo.training.trainer import Trainer


def hosted(trainer: Trainer, config: Config, world: World, reward: IntrinsicReward, by: Twins) -> Trainer:
    """The trainer, with rounds and evaluations played in environments of the host."""
    epsilons, longest, evaluation_epsilon = exploring(config, reward)
    num_watched = min(config.actors, config.evaluation_episodes)
    watched_epsilons = jnp.full(num_watched, evaluation_epsilon)
    explorers, watched = (SeedEnvironments(world, config.seeds, num) for num in (config.actors, num_watched))
    play = make_player(world, by)
    joined = by.compiled(jax.vmap(lambda params: by.joined(lower(params, config.precision).agent)), "act", None)
    num_slots = trainer.collector.steps
    draw = drawing(num_slots, world.num_actions, longest, epsilons)

    def collect(network: Any, key: Array, crowd: Crowd, told: Told, at_slot: Any) -> tuple[Crowd, Told, Slots]:
        actors, told, slots = play(explorers, network, epsilons, crowd.actors, draw(key), told, config.window, at_slot)
        return dataclasses.replace(crowd, actors=actors), told, slots

    def store(stored: Ring, params: Params, slots: Slots, crowd: Crowd) -> tuple[Ring, Crowd]:
        rows, crowd = rows_of(config, world, lower(params, config.precision).model.core, slots, crowd)
        return trainer.replay.add(stored, rows), crowd

    def begin(params: Params, crowd: Crowd, key: Array) -> tuple[Crowd, Told]:
        """New actors at the first frames of new episodes; only the tally of finished episodes is kept."""
        new = start_all(key, params)
        actors = dataclasses.replace(new.actors, finished=crowd.actors.finished)
        return dataclasses.replace(new, actors=actors), explorers.begin(seed_of(key[0]))

    def close() -> None:
        explorers.close()
        watched.close()

    start_all = jax.jit(jax.vmap(trainer.collector.start))
    store_all = by.compiled(jax.vmap(store), "act", None, donate=0)
    one_update = dataclasses.replace(config, updates_per_round=1)
    learn = make_learn(one_update, trainer.replay, lambda _: trainer.learner)
    once = by.compiled(lambda state, rows, key: learn(state, rows, key, {}), "learn", None, donate=0)
    spread = spread_over_slots(config.updates_per_round, num_slots, begin, collect, store_all, once, joined)

    def run_rounds(state: Any, num_rounds: int, listen: Callable[[], None] = nothing, *played: Any) -> tuple[Any, Any]:
        explorers.listen = watched.listen = listen
        return spread(state, num_rounds, listen, *played)

    return dataclasses.replace(
        trainer,
        run_rounds=run_rounds,
        measure=make_measure(config, world, reward, by, watched, play, joined, watched_epsilons),
        close=close,
    )


def spread_over_slots(
    num_updates: int,
    num_slots: int,
    begin: Callable[..., tuple[Crowd, Told]],
    collect: Callable[..., tuple[Crowd, Told, Slots]],
    store: Callable[..., tuple[Any, Crowd]],
    learn: Callable[..., Any],
    joined: Callable[[Params], Any],
) -> Callable[..., Any]:
    """A trainer's `run_rounds`, in which a round's updates are spread over its slots and learn from earlier rounds.

    With an empty replay the first round is collected before anything is learned.
    """
    looked_at: Told | None = None  # what the actors see between two calls
    split = jax.jit(jax.vmap(lambda key: jax.random.split(key, 3), out_axes=1))
    split_updates = jax.jit(jax.vmap(lambda key: jax.random.split(key, num_updates), out_axes=1))

    def one_round(
        state: Any, told: Told, listen: Callable[[], None], played: Callable[[float], None]
    ) -> tuple[Any, Told, list[Any]]:
        key, key_collect, key_learn = split(state.key)
        learner, keys, found = state.learner, list(split_updates(key_learn)), []
        network, is_learning = joined(learner.params), bool((np.asarray(state.rows.num_added) > 0).all())

        def update(rows: Any) -> None:
            nonlocal learner, network
            network = joined(learner.params)  # a copy: the learner's is overwritten
            learner, numbers = learn(learner, rows, keys[len(found)])
            found.append(numbers)

        def at_slot(t: int, _: Told) -> None:
            listen()
            played(t / num_slots)
            while is_learning and len(found) * num_slots < (t + 1) * num_updates:
                update(state.rows)

        crowd, told, slots = collect(lambda: network, key_collect, state.crowd, told, at_slot)
        rows, crowd = store(state.rows, learner.params, slots, crowd)
        while len(found) < num_updates:
            update(rows)
        return dataclasses.replace(state, learner=learner, rows=rows, key=key, crowd=crowd), told, found

    def run_rounds(
        state: Any,
        num_rounds: int,
        listen: Callable[[], None] = nothing,
        played: Callable[[float], None] = nothing,
    ) -> tuple[Any, Any]:
        nonlocal looked_at
        if looked_at is None:
            crowd, looked_at = begin(state.learner.params, state.crowd, state.key)
            state = dataclasses.replace(state, crowd=crowd)
        found = []
        for i in range(num_rounds):
            state, looked_at, numbers = one_round(
                state, looked_at, listen, lambda share, i=i: played((i + share) / num_rounds)
            )
            found += numbers
        wait_for(found[-1], listen)
        return state, joined_on_host(found)

    return run_rounds
