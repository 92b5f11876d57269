"""Collect, store, learn, evaluate: the whole loop as three compiled functions.

Everything else is written for one seed (and episodes for one world); `vmap` over seeds and the mesh stand here and
nowhere else.
Acting and learning are compiled apart because a GPU's compiler serves each best with settings of its own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jaxtyping import Array

from ndigo.agent import Ring, make_replay
from ndigo.agents.agent import Params
from ndigo.config import Config, varied_values, with_values
from ndigo.devices.mesh import BY_ACTOR, BY_SEED, parts_of
from ndigo.devices.placed import Placed
from ndigo.evaluation.measure import Evaluation, Measured
from ndigo.evaluation.tracking import Tracking
from ndigo.networks import lower
from ndigo.rewards import IntrinsicReward
from ndigo.training.acting import Collector, make_collector
from ndigo.training.learner import Learner, Numbers, has_probe, make_learner
from ndigo.training.rounds import RunRounds, TrainState, in_rounds, make_learn
from ndigo.training.signals import nothing
from ndigo.training.twins import twins
from ndigo.types import Window
from ndigo.worlds import World


@dataclass(frozen=True)
class Trainer:
    """The run's functions, each over all seeds (leading axis S); and parts of them for one seed."""

    init: Callable[[Array], TrainState]  # key -> state [S, ...]
    run_rounds: RunRounds  # state, number of rounds -> state, numbers [S, updates, ...] on the host
    measure: Callable[[Params, Array], Measured]  # params [S, ...], key -> greedy episodes [S, episodes, ...]
    collect_round: Callable[..., Any]  # the two programs of a round
    learn: Callable[..., Any]
    placed: Placed  # where the state's arrays lie
    learner: Learner
    collect: Callable[[Array, Params], Window]  # key, params -> one round's episodes as rows for the replay
    sample: Callable[[Array, Ring], Window]  # key, rows -> a batch for one update
    steps_per_round: int  # of all actors of one seed
    close: Callable[[], None] = nothing  # ends what the host started for it


def make_trainer(
    config: Config,
    world: World,
    reward: IntrinsicReward,
    mesh: Mesh | None = None,
    beside: tuple[Config, ...] = (),
) -> Trainer:
    """A run's functions; over the devices of a mesh, and of several settings side by side (`beside`) that differ in
    nothing but `config.VARIED`. Lane n trains seed n % seeds of setting n // seeds.
    """
    by, parts = twins(config), parts_of(mesh)
    values = varied_values(beside)

    learner, actors = make_learner(config, world, reward, parts), make_collector(config, world, reward, by, parts)

    def made(values: Any) -> tuple[Learner, Collector]:
        """One lane's functions, in which numbers that vary between lanes are the device's."""
        if not values:
            return learner, actors
        own = with_values(config, values)
        return make_learner(own, world, reward, parts), make_collector(own, world, reward, by, parts)

    block = actors.windows_per_round
    num_rounds = max(config.replay_steps // config.window // (block * parts.num), 1)
    replay = make_replay(capacity=num_rounds * block, frame=world.frame)
    placed = Placed(mesh, block)

    def collect(values: Any, key: Array, params: Params, crowd: Any = None) -> tuple[Window, Any]:
        return made(values)[1].explore(key, lower(params, config.precision), crowd)

    def init(key: Array, values: Any) -> TrainState:
        learner, actors = made(values)
        key_learner, key_run = jax.random.split(key)
        state = learner.init(key_learner)
        crowd = actors.start(jax.random.fold_in(key_run, 0), state.params)
        example, _ = jax.eval_shape(collect, values, key_run, state.params, crowd)
        rows = replay.init(jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), example))
        return TrainState(learner=state, rows=rows, key=key_run, crowd=crowd)

    def collect_round(key: Array, params: Params, rows: Ring, crowd: Any, values: Any) -> tuple[Any, ...]:
        """One round's episodes into the replay; (next key, key to learn with, rows, actors)."""
        key, key_collect, key_learn = jax.random.split(key, 3)
        windows, crowd = collect(values, key_collect, params, crowd)
        return key, key_learn, replay.add(rows, windows), crowd

    def measure_greedy(params: Params, key: Array) -> Measured:
        return actors.measure(lower(params, config.precision), key)

    def per_lane(key: Array) -> Array:
        # fold_in, not split: seed i's stream does not depend on how many seeds run.
        lanes = jnp.tile(jnp.arange(config.seeds), max(len(beside), 1))
        return jax.vmap(lambda i: jax.random.fold_in(key, i))(lanes)

    def compiled(name: str, function: Callable[..., Any], like: Any, donate: int | None = None) -> Callable[..., Any]:
        return by.compiled(function, name, None if mesh or beside else (config, world), like, donate)

    state = TrainState(learner=BY_SEED, rows=placed.rows, key=BY_SEED, crowd=BY_ACTOR)  # type: ignore[arg-type]
    all_init = placed(jax.vmap(init), (BY_SEED, BY_SEED), state)
    after_round = BY_SEED, BY_SEED, placed.rows, BY_ACTOR
    all_collect = placed(jax.vmap(collect_round), (*after_round, BY_SEED), after_round)
    all_learn = placed(make_learn(config, replay, made, parts), (BY_SEED, placed.rows, BY_SEED, BY_SEED), BY_SEED)
    all_measure = placed(jax.vmap(measure_greedy), (BY_SEED, BY_SEED), BY_SEED)
    measured = measured_like(world)
    compiled_round = compiled("act", all_collect, lambda key, params, rows, crowd, _: (key, key, rows, crowd), donate=2)
    compiled_learn = compiled("learn", all_learn, lambda state, *_: (state, a_leaf_each(Numbers)), donate=0)
    values = {name: placed.put(name, value) for name, value in values.items()}
    trainer = Trainer(
        init=compiled("init", lambda key: all_init(per_lane(key), values), None),
        run_rounds=in_rounds(compiled_round, compiled_learn, values),
        measure=compiled("measure", lambda params, key: all_measure(params, per_lane(key)), lambda *_: measured),
        collect_round=compiled_round,
        learn=compiled_learn,
        placed=placed,
        learner=learner,
        collect=lambda key, params: collect({}, key, params, actors.start(key, params))[0],
        sample=lambda key, rows: replay.open(replay.pick(key, rows, config.batch)),
        steps_per_round=config.actors * actors.steps,
    )
    return trainer if actors.hosted is None else actors.hosted.instead_of(trainer, replay, make_learn)


def measured_like(world: World) -> Measured:
    return Measured(a_leaf_each(Evaluation), a_leaf_each(Tracking) if has_probe(world) else None)


def a_leaf_each(record: type[eqx.Module]) -> Any:
    """One of these with a leaf in each of its fields but those that may be missing: the structure of a result."""
    required = [field.name for field in dataclasses.fields(record) if field.default is dataclasses.MISSING]
    return record(**dict.fromkeys(required, 0))
