"""A round: every actor plays, then the learner makes `updates_per_round` updates."""

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


class TrainState(eqx.Module):
    """All that a run needs to go on bit for bit; this is what a checkpoint holds."""

    learner: LearnerState
    rows: Ring  # the replay; checkpoints have it under this name
    key: Array
    crowd: Any = None  # the actors in mid-episode, in a world whose episodes end by themselves


class RunRounds(Protocol):
    """Rounds, and the host waits for the last; meanwhile it calls `listen` now and then.

    `played` hears what share of the rounds is done.
    """

    def __call__(
        self,
        state: TrainState,
        num_rounds: int,
        listen: Callable[[], None] = ...,
        played: Callable[[float], None] = ...,
        /,
    ) -> tuple[TrainState, Numbers]: ...


def make_learn(
    config: Config, replay: Replay, learner_of: Callable[[Any], Learner], parts: Parts = ALONE
) -> Callable[..., tuple[LearnerState, Numbers]]:
    """A round's updates, for all lanes at once; `learner_of` takes a lane's values of `config.VARIED`.

    learn(state [S, ...], rows, key_learn [S], values [S]) -> state, numbers [S, updates, ...]

    `vmap` stands within the loop over updates: around it, JAX would trace the update twice.
    """

    def pick(key: Array, rows: Ring) -> Any:
        return replay.pick(parts.draw_with(key), rows, config.batch // parts.num)

    def update(
        rows: Ring, values: Any, state: LearnerState, picked: Any, keys: Array
    ) -> tuple[LearnerState, Any, Numbers]:
        """One update on the batch picked before, and the batch of the next update."""
        key_update, key_next = keys
        state, numbers = learner_of(values).update(key_update, state, replay.open(picked))
        return state, pick(key_next, rows), numbers

    def draw_keys(key_learn: Array) -> Array:
        """For each of a round's updates, a key to pick its batch and one to update with: [2, updates]."""
        return jax.vmap(jax.random.split, out_axes=1)(jax.random.split(key_learn, config.updates_per_round))

    def learn(state: LearnerState, rows: Ring, key_learn: Array, values: Any) -> tuple[LearnerState, Numbers]:
        # Each batch is picked during the update before it, so that a GPU does not wait for the gather.
        def body(carry: tuple[LearnerState, Any], keys: Array) -> tuple[Any, Numbers]:
            state, picked, numbers = jax.vmap(update)(rows, values, *carry, keys)
            return (state, picked), numbers

        key_sample, key_update = jax.vmap(draw_keys, out_axes=2)(key_learn)
        first = jax.vmap(pick)(key_sample[0], rows)
        following = jnp.concatenate([key_sample[1:], key_sample[:1]])  # the last update's pick is not used
        (state, _), numbers = lax.scan(body, (state, first), jnp.stack([key_update, following], axis=2))
        return state, jax.tree.map(lambda x: jnp.swapaxes(x, 0, 1), numbers)

    return learn


def in_rounds(collect_round: Callable[..., Any], learn: Callable[..., Any], values: Any) -> RunRounds:
    """Collecting and learning in turns."""

    def run_rounds(
        state: TrainState,
        num_rounds: int,
        listen: Callable[[], None] = nothing,
        played: Callable[[float], None] = nothing,
    ) -> tuple[TrainState, Numbers]:
        found = []
        for _ in range(num_rounds):  # only dispatches: the device catches up below
            key, key_learn, rows, crowd = collect_round(
                state.key, state.learner.params, state.rows, state.crowd, values
            )
            learner_state, numbers = learn(state.learner, rows, key_learn, values)
            state = TrainState(learner=learner_state, rows=rows, key=key, crowd=crowd)
            found.append(numbers)
        for i, numbers in enumerate(found):
            wait_for(numbers, listen)
            played((i + 1) / num_rounds)
        return state, joined_on_host(found)

    return run_rounds
