"""A round: all actors play, then the learner updates so many times; and as many rounds as the host asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from ndigo.agent import Replay, Ring
from ndigo.config import Config
from ndigo.devices.parts import ALONE, Parts
from ndigo.devices.processes import joined_on_host
from ndigo.training.learner import Learner, LearnerState, Numbers
from ndigo.training.signals import nothing, wait_for
from ndigo.training.streams.collector import Collector


class TrainState(eqx.Module):
    """All that a run needs to go on, bit for bit."""

    learner: LearnerState
    rows: Ring  # the replay; the name is part of the checkpoint's format
    key: Array
    crowd: Any = None  # the actors where they were, in a world whose episodes end by themselves


class RunRounds(Protocol):
    """`listen` is called while the device works."""

    def __call__(
        self, state: TrainState, num_rounds: int, listen: Callable[[], None] = ..., /
    ) -> tuple[TrainState, Numbers]: ...


Made = Callable[[Any], tuple[Learner, Collector]]


def make_learn(
    config: Config, replay: Replay, made: Made, parts: Parts = ALONE
) -> Callable[..., tuple[LearnerState, Numbers]]:
    """A round's updates, for all seeds at once: `vmap` of a loop would trace what is in it once more."""

    def pick(key: Array, rows: Ring) -> Any:
        return replay.pick(parts.draw_with(key), rows, config.batch // parts.num)

    def update(
        rows: Ring, values: Any, state: LearnerState, picked: Any, keys: Array
    ) -> tuple[LearnerState, Any, Numbers]:
        """One update from what was picked, and the next batch picked."""
        key_update, key_next = keys
        state, numbers = made(values)[0].update(key_update, state, replay.open(picked))
        return state, pick(key_next, rows), numbers

    def draw_keys(key_learn: Array) -> Array:
        """To sample with and to update with, for each of a round's updates: [2, updates]."""
        return jax.vmap(jax.random.split, out_axes=1)(jax.random.split(key_learn, config.updates_per_round))

    def learn(state: LearnerState, rows: Ring, key_learn: Array, values: Any) -> tuple[LearnerState, Numbers]:
        # Batches are picked one update ahead: a GPU does so while it learns, and does not wait for it.
        def body(carry: tuple[LearnerState, Any], keys: Array) -> tuple[Any, Numbers]:
            state, picked, numbers = jax.vmap(update)(rows, values, *carry, keys)
            return (state, picked), numbers

        key_sample, key_update = jax.vmap(draw_keys, out_axes=2)(key_learn)
        first = jax.vmap(pick)(key_sample[0], rows)
        following = jnp.concatenate([key_sample[1:], key_sample[:1]])  # what is picked last is not used
        (state, _), numbers = lax.scan(body, (state, first), jnp.stack([key_update, following], axis=2))
        return state, jax.tree.map(lambda x: jnp.swapaxes(x, 0, 1), numbers)

    return learn


def in_rounds(collect_round: Callable[..., Any], learn: Callable[..., Any], values: Any) -> RunRounds:
    """Acting and learning in turns, so many times; the host waits for the last."""

    def run_rounds(
        state: TrainState, num_rounds: int, listen: Callable[[], None] = nothing
    ) -> tuple[TrainState, Numbers]:
        learner_state, rows, key, crowd, rounds = state.learner, state.rows, state.key, state.crowd, []
        for _ in range(num_rounds):  # the host is far ahead of the device
            key, key_learn, rows, crowd = collect_round(key, learner_state.params, rows, crowd, values)
            learner_state, numbers = learn(learner_state, rows, key_learn, values)
            rounds.append(numbers)
        wait_for(rounds[-1], listen)
        return TrainState(learner=learner_state, rows=rows, key=key, crowd=crowd), joined_on_host(rounds)

    return run_rounds
