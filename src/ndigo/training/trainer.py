"""The whole training loop as four compiled functions: init, collect_round (and store), learn, measure.

Everything else is written for one seed, and an episode for one world. `vmap` over seeds and the mesh of devices are
added here, in `rounds.py`, and, for worlds that the host steps, in `streams/host*.py`. Acting and learning are two
programs, because a GPU's compiler does best with different options for each.

A *lane* is one seed of one setting: usually the seeds of a run, but runs that differ only in numbers such as a rate or
gamma can train side by side in the same programs. Lane n trains seed n % seeds of setting n // seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jaxtyping import Array

from ndigo.agent import Replay, Ring, make_replay
from ndigo.agents.agent import Params
from ndigo.config import Config, varied_values, with_values
from ndigo.devices.mesh import BY_ACTOR, BY_SEED, parts_of
from ndigo.devices.placed import Placed
from ndigo.evaluation.measure import Measured
from ndigo.rewards import IntrinsicReward
from ndigo.training.acting import make_collector
from ndigo.training.learner import Learner, make_learner
from ndigo.training.rounds import RunRounds, TrainState, in_rounds, make_learn
from ndigo.training.signals import nothing
from ndigo.training.streams.collector import Collector
from ndigo.training.streams.hosted import hosted
from ndigo.training.twins import twins
from ndigo.worlds import World


@dataclass(frozen=True)
class Trainer:
    """A run's functions over all lanes (leading axis S), and the functions of one seed that they are made of."""

    init: Callable[[Array], TrainState]  # key -> state [S, ...]
    run_rounds: RunRounds  # state, number of rounds -> state, numbers [S, updates, ...] on the host
    measure: Callable[[Params, Array], Measured]  # params [S, ...], key -> greedy episodes [S, episodes, ...]
    collect_round: Callable[..., Any]  # key, params, rows, crowd, values -> the next key, key_learn, rows, crowd
    learn: Callable[..., Any]  # learner's state, rows, key_learn, values -> learner's state, numbers
    placed: Placed  # how the state's arrays lie on the devices
    learner: Learner
    collector: Collector
    replay: Replay
    steps_per_round: int  # by all actors of one seed; where episodes end by themselves, resets included
    close: Callable[[], None] = nothing  # stops the environments' processes, where the host steps the world


def make_trainer(
    config: Config,
    world: World,
    reward: IntrinsicReward,
    mesh: Mesh | None = None,
    beside: tuple[Config, ...] = (),
) -> Trainer:
    """A run's functions, over the devices of a mesh; with several settings `beside`, those of all runs side by side."""
    by, parts = twins(config), parts_of(mesh)
    learner, collector = make_learner(config, world, reward, parts), make_collector(config, world, reward, by, parts)

    # One lane's functions; `values` are the numbers in which it differs from others, as JAX arrays.
    def learner_of(values: Any) -> Learner:
        return make_learner(with_values(config, values), world, reward, parts) if values else learner

    def collector_of(values: Any) -> Collector:
        return make_collector(with_values(config, values), world, reward, by, parts) if values else collector

    block = collector.windows_per_round
    num_rounds = max(config.replay_steps // config.window // (block * parts.num), 1)
    replay = make_replay(capacity=num_rounds * block, frame=world.frame)

    def init(key: Array, values: Any) -> TrainState:
        actors = collector_of(values)
        key_learner, key_run = jax.random.split(key)
        state = learner_of(values).init(key_learner)
        # Not 0 to 2: those are the keys of a round's `split`.
        crowd = actors.start(jax.random.fold_in(key_run, 3), state.params)
        example, _ = jax.eval_shape(actors.explore, key_run, state.params, crowd)
        rows = replay.init(jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), example))
        return TrainState(learner=state, rows=rows, key=key_run, crowd=crowd)

    def collect_round(key: Array, params: Params, rows: Ring, crowd: Any, values: Any) -> tuple[Any, ...]:
        """Plays a round into the replay: (the next round's key, the key to learn with, replay, actors)."""
        key, key_collect, key_learn = jax.random.split(key, 3)
        windows, crowd = collector_of(values).explore(key_collect, params, crowd)
        return key, key_learn, replay.add(rows, windows), crowd

    # From here on, all lanes: `placed` says how arguments and results lie on the mesh, `compiled` makes the programs.
    placed = Placed(mesh, block)
    values = {name: placed.put(name, value) for name, value in varied_values(beside).items()}

    def per_lane(key: Array) -> Array:
        # fold_in, not split: seed i's stream does not depend on how many seeds run.
        lanes = jnp.tile(jnp.arange(config.seeds), max(len(beside), 1))
        return jax.vmap(lambda i: jax.random.fold_in(key, i))(lanes)

    def compiled(name: str, function: Callable[..., Any], donate: int | None = None) -> Callable[..., Any]:
        return by.compiled(function, name, None if mesh or beside else (config, world), donate)

    state = TrainState(learner=BY_SEED, rows=placed.rows, key=BY_SEED, crowd=BY_ACTOR)  # type: ignore[arg-type]
    after_round = BY_SEED, BY_SEED, placed.rows, BY_ACTOR
    learn = make_learn(config, replay, learner_of, parts)
    all_init = placed(jax.vmap(init), (BY_SEED, BY_SEED), state)
    all_collect = placed(jax.vmap(collect_round), (*after_round, BY_SEED), after_round)
    all_learn = placed(learn, (BY_SEED, placed.rows, BY_SEED, BY_SEED), BY_SEED)
    all_measure = placed(jax.vmap(collector.measure), (BY_SEED, BY_SEED), BY_SEED)
    compiled_round, compiled_learn = compiled("act", all_collect, donate=2), compiled("learn", all_learn, donate=0)
    trainer = Trainer(
        init=compiled("init", lambda key: all_init(per_lane(key), values)),
        run_rounds=in_rounds(compiled_round, compiled_learn, values),
        measure=compiled("measure", lambda params, key: all_measure(params, per_lane(key))),
        collect_round=compiled_round,
        learn=compiled_learn,
        placed=placed,
        learner=learner,
        collector=collector,
        replay=replay,
        steps_per_round=config.actors * collector.steps,
    )
    return trainer if world.host is None else hosted(trainer, config, world, reward, by)
