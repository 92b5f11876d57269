"""Collect, store, learn, evaluate: the whole loop as three compiled functions.

Everything else is written for one seed (and episodes for one world); `vmap` over seeds stands here and nowhere else.
Acting and learning are compiled apart because a GPU's compiler serves each best with settings of its own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from ndigo.agent import Replay, Rows, make_replay
from ndigo.agents.agent import Params
from ndigo.config import Config
from ndigo.evaluation.measure import Evaluation, Measured
from ndigo.evaluation.tracking import Tracking
from ndigo.networks import lower
from ndigo.rewards import IntrinsicReward
from ndigo.training.acting import make_collector
from ndigo.training.learner import Learner, LearnerState, Numbers, has_probe, make_learner
from ndigo.training.signals import nothing, wait_for
from ndigo.training.twins import twins
from ndigo.types import Window
from ndigo.worlds import World


class TrainState(eqx.Module):
    """All that a run needs to go on, bit for bit."""

    learner: LearnerState
    rows: Rows
    key: Array
    crowd: Any = None  # the actors where they were, in a world whose episodes end by themselves


@dataclass(frozen=True)
class Trainer:
    """The run's functions, each over all seeds (leading axis S); and parts of them for one seed."""

    init: Callable[[Array], TrainState]  # key -> state [S, ...]
    run_rounds: RunRounds  # state, number of rounds -> state, numbers [S, updates, ...] on the host
    measure: Callable[[Params, Array], Measured]  # params [S, ...], key -> greedy episodes [S, episodes, ...]
    learner: Learner
    collect: Callable[[Array, Params], Window]  # key, params -> one round's episodes as rows for the replay
    sample: Callable[[Array, Rows], Window]  # key, rows -> a batch for one update
    steps_per_round: int  # of all actors of one seed
    close: Callable[[], None] = nothing  # ends what the host started for it


class RunRounds(Protocol):
    """`listen` is called while the device works."""

    def __call__(
        self, state: TrainState, num_rounds: int, listen: Callable[[], None] = ..., /
    ) -> tuple[TrainState, Numbers]: ...


def make_trainer(config: Config, world: World, reward: IntrinsicReward) -> Trainer:
    by = twins(config)
    learner, actors = make_learner(config, world, reward), make_collector(config, world, reward, by)
    num_rounds = max(config.replay_steps // config.window // actors.windows_per_round, 1)
    replay = make_replay(capacity=num_rounds * actors.windows_per_round, frame=world.frame)

    def collect(key: Array, params: Params, crowd: Any = None) -> tuple[Window, Any]:
        return actors.explore(key, lower(params, config.precision), crowd)

    def sample(key: Array, rows: Rows) -> Window:
        return replay.open(replay.pick(key, rows, config.batch))

    def init(key: Array) -> TrainState:
        key_learner, key_run = jax.random.split(key)
        state = learner.init(key_learner)
        crowd = actors.start(jax.random.fold_in(key_run, 0), state.params)
        example, _ = jax.eval_shape(collect, key_run, state.params, crowd)
        rows = replay.init(jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), example))
        return TrainState(learner=state, rows=rows, key=key_run, crowd=crowd)

    def act(key: Array, params: Params, rows: Rows, crowd: Any) -> tuple[Array, Array, Rows, Any]:
        """One round's episodes into the replay; (next key, key to learn with, rows, actors)."""
        key, key_collect, key_learn = jax.random.split(key, 3)
        windows, crowd = collect(key_collect, params, crowd)
        return key, key_learn, replay.add(rows, windows), crowd

    def measure_greedy(params: Params, key: Array) -> Measured:
        return jax.vmap(actors.measure)(lower(params, config.precision), per_seed(key))

    def per_seed(key: Array) -> Array:
        # fold_in, not split: seed i's stream does not depend on how many seeds run.
        return jax.vmap(lambda i: jax.random.fold_in(key, i))(jnp.arange(config.seeds))

    def compiled(name: str, function: Callable[..., Any], like: Any, donate: int | None = None) -> Callable[..., Any]:
        return by.compiled(function, name, (config, world), like, donate)

    learn, measured = make_learn(config, replay, learner), measured_like(world)
    compiled_act = compiled("act", jax.vmap(act), lambda key, params, rows, crowd: (key, key, rows, crowd), donate=2)
    compiled_learn = compiled("learn", learn, lambda state, rows, key: (state, a_leaf_each(Numbers)), donate=0)
    trainer = Trainer(
        init=compiled("init", lambda key: jax.vmap(init)(per_seed(key)), None),
        run_rounds=in_rounds(compiled_act, compiled_learn),
        measure=compiled("measure", measure_greedy, lambda *_: measured),
        learner=learner,
        collect=lambda key, params: collect(key, params, actors.start(key, params))[0],
        sample=sample,
        steps_per_round=config.actors * actors.steps,
    )
    return trainer if actors.hosted is None else actors.hosted.instead_of(trainer, replay, make_learn)


def make_learn(config: Config, replay: Replay, learner: Learner) -> Callable[..., tuple[LearnerState, Numbers]]:
    """A round's updates, for all seeds at once: `vmap` of a loop would trace what is in it once more."""

    def pick(key: Array, rows: Rows) -> Any:
        return replay.pick(key, rows, config.batch)

    def update(rows: Rows, state: LearnerState, picked: Any, keys: Array) -> tuple[LearnerState, Any, Numbers]:
        """One update from what was picked, and the next batch picked."""
        key_update, key_next = keys
        state, numbers = learner.update(key_update, state, replay.open(picked))
        return state, pick(key_next, rows), numbers

    def draw_keys(key_learn: Array) -> Array:
        """To sample with and to update with, for each of a round's updates: [2, updates]."""
        return jax.vmap(jax.random.split, out_axes=1)(jax.random.split(key_learn, config.updates_per_round))

    def learn(state: LearnerState, rows: Rows, key_learn: Array) -> tuple[LearnerState, Numbers]:
        # Batches are picked one update ahead: a GPU does so while it learns, and does not wait for it.
        def body(carry: tuple[LearnerState, Any], keys: Array) -> tuple[Any, Numbers]:
            state, picked, numbers = jax.vmap(update)(rows, *carry, keys)
            return (state, picked), numbers

        key_sample, key_update = jax.vmap(draw_keys, out_axes=2)(key_learn)
        first = jax.vmap(pick)(key_sample[0], rows)
        following = jnp.concatenate([key_sample[1:], key_sample[:1]])  # what is picked last is not used
        (state, _), numbers = lax.scan(body, (state, first), jnp.stack([key_update, following], axis=2))
        return state, jax.tree.map(lambda x: jnp.swapaxes(x, 0, 1), numbers)

    return learn


def in_rounds(act: Callable[..., Any], learn: Callable[..., Any]) -> RunRounds:
    """Acting and learning in turns, so many times; the host waits for the last."""

    def run_rounds(
        state: TrainState, num_rounds: int, listen: Callable[[], None] = nothing
    ) -> tuple[TrainState, Numbers]:
        learner_state, rows, key, crowd, rounds = state.learner, state.rows, state.key, state.crowd, []
        for _ in range(num_rounds):  # the host is far ahead of the device
            key, key_learn, rows, crowd = act(key, learner_state.params, rows, crowd)
            learner_state, numbers = learn(learner_state, rows, key_learn)
            rounds.append(numbers)
        wait_for(rounds[-1], listen)
        joined = jax.tree.map(lambda *parts: np.concatenate(parts, axis=1), *jax.device_get(rounds))
        return TrainState(learner=learner_state, rows=rows, key=key, crowd=crowd), joined

    return run_rounds


def measured_like(world: World) -> Measured:
    return Measured(a_leaf_each(Evaluation), a_leaf_each(Tracking) if has_probe(world) else None)


def a_leaf_each(record: type[eqx.Module]) -> Any:
    """One of these with a leaf in each of its fields but those that may be missing: the structure of a result."""
    required = [field.name for field in dataclasses.fields(record) if field.default is dataclasses.MISSING]
    return record(**dict.fromkeys(required, 0))
