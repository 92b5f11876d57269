"""Collect, store, learn, evaluate: the whole loop as three compiled functions.

Acting and learning are compiled apart because a GPU's compiler serves each best with settings of its own. Everything
else is written for one seed (and episodes for one world); `vmap` over actors, evaluation episodes and seeds, and every
`jit` (that of programs which later commands find again by `kept`), stand here and nowhere else.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from ndigo.agent import Rows, actor_epsilons, make_replay, unpack, window_starts
from ndigo.config import Config
from ndigo.evaluation.glass_box import discovery_loss
from ndigo.evaluation.tracking import Tracking, track
from ndigo.evaluation.visits import in_view, visits
from ndigo.kernels import on_gpu
from ndigo.networks import lower
from ndigo.rewards import IntrinsicReward
from ndigo.training.acting import Episode, beliefs, cut_windows, run_episode
from ndigo.training.learner import Learner, LearnerState, Numbers, Params, make_learner
from ndigo.training.programs import kept, made_from
from ndigo.types import Window
from ndigo.worlds import World


class TrainState(eqx.Module):
    """All that a run needs to go on, bit for bit."""

    learner: LearnerState
    rows: Rows
    key: Array


class Evaluation(eqx.Module):
    """Greedy episodes of one seed: means over episodes, per object (one-hot channel or truth)."""

    visits: Float[Array, " N"]
    first_visit: Float[Array, " N"]
    frequency: Float[Array, " N"]  # share of episodes that saw it
    discovery_loss: Float[Array, " N"]  # nats, mean over steps


@dataclass(frozen=True)
class Trainer:
    """The run's functions, each over all seeds (leading axis S)."""

    learner: Learner
    init: Callable[[Array], TrainState]  # key -> state [S, ...]
    run_rounds: RunRounds  # state, number of rounds -> state, numbers [S, updates, ...] on the host
    evaluate: Callable[[Params, Array], Evaluation]  # params [S, ...], key -> [S, episodes, N]
    track: Callable[[Params, Array], Tracking]  # sums over the same episodes, [S, N, ages]; needs a probe
    sample: Callable[[Array, Rows], Window]  # one seed's next batch, as the chunk draws it
    collect: Callable[[Array, Params], Window]  # one seed's round of episodes, as rows for the replay


class RunRounds(Protocol):
    """`listen` is called while the device works."""

    def __call__(
        self, state: TrainState, num_rounds: int, listen: Callable[[], None] = ..., /
    ) -> tuple[TrainState, Numbers]: ...


Options = dict[str, bool | int | str]

WAIT = 1e-3  # seconds between two looks whether the device is done


def nothing() -> None:
    pass


def wait_for(results: Any, listen: Callable[[], None] = nothing) -> None:
    """Returns when the device has made them. One long wait inside JAX would hear no signal."""
    while not all(x.is_ready() for x in jax.tree.leaves(results)):
        time.sleep(WAIT)
        listen()


def acting_options() -> Options | None:
    """How acting is compiled: on a GPU, of which each network fills a fraction, all run at once."""
    return {"xla_gpu_command_buffer_scheduling_mode": "CONCURRENT"} if on_gpu() else None


def learning_options() -> Options | None:
    """How learning is: as acting, but no product is a kernel that XLA generates.

    It would generate a hundred and try each in many shapes, which doubles the time to compile, for nothing: products of
    this size are as fast in the library (docs/performance.md). Acting's are small, and gain from being fused.
    """
    options = acting_options()
    return None if options is None else options | {"xla_gpu_enable_triton_gemm": False}


def make_trainer(config: Config, world: World, reward: IntrinsicReward) -> Trainer:
    learner = make_learner(config, world, reward)
    starts = window_starts(world.num_steps, config.window)
    every = math.gcd(world.num_steps, *starts)  # the Q-network's state is kept where a window can start
    rows_per_round = config.actors * len(starts)
    num_blocks = max(config.replay_steps // config.window // rows_per_round, 1)
    replay = make_replay(capacity=num_blocks * rows_per_round, shape=world.shape)
    judge = None if reward.on_episode is None else reward.on_episode(world)
    # Random's actors are the paper's uniform walker, at every step and in evaluation too.
    epsilons = actor_epsilons(config.actors, config.first_epsilon, config.last_epsilon)
    epsilons, longest = (jnp.ones_like(epsilons), 1) if reward.acts_at_random else (epsilons, config.longest_stretch)

    def play(key: Array, params: Params, epsilons: Float[Array, " E"]) -> tuple[Episode, Float[Array, "E S+1 D"]]:
        """One episode for each epsilon, and the beliefs of the world model along it."""
        keys = jax.random.split(key, len(epsilons))
        act = jax.vmap(lambda key, epsilon: run_episode(world, params.q, key, epsilon, every, longest))
        episodes = act(keys, epsilons)
        return episodes, beliefs(params.model.core, episodes, world.shape)

    def collect(key: Array, params: Params) -> Window:
        """One episode per actor, as replay rows; with what it pays where that takes the whole episode."""
        episodes, b_t = play(key, lower(params, config.precision), epsilons)
        r_tc = None
        if judge is not None:
            r_tc = jax.vmap(judge)(episodes.a_t.astype(jnp.int32), unpack(episodes.o_t, world.shape))
        cut = jax.vmap(lambda episode, b_t, r_tc: cut_windows(episode, b_t, config.window, r_tc))
        windows = cut(episodes, b_t, r_tc)
        return jax.tree.map(lambda x: lax.collapse(x, 0, 2), windows)

    def init(key: Array) -> TrainState:
        key_learner, key_run = jax.random.split(key)
        state = learner.init(key_learner)
        example = jax.eval_shape(collect, key_run, state.params)
        rows = replay.init(jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), example))
        return TrainState(learner=state, rows=rows, key=key_run)

    def sample(key: Array, rows: Rows) -> Window:
        return replay.open(replay.pick(key, rows, config.batch))

    def act(key: Array, params: Params, rows: Rows) -> tuple[Array, Array, Rows]:
        """One round's episodes into the replay; (next key, key to learn with, rows)."""
        key, key_collect, key_learn = jax.random.split(key, 3)
        return key, key_learn, replay.add(rows, collect(key_collect, params))

    def draw_keys(key_learn: Array) -> Array:
        """To sample with and to update with, for each of a round's updates: [2, updates]."""
        return jax.vmap(jax.random.split, out_axes=1)(jax.random.split(key_learn, config.updates_per_round))

    def pick(key: Array, rows: Rows) -> Any:
        return replay.pick(key, rows, config.batch)

    def update(rows: Rows, state: LearnerState, picked: Any, keys: Array) -> tuple[LearnerState, Any, Numbers]:
        """One update from what was picked, and the next batch picked.

        An update ahead: a GPU does so while it learns, and does not wait for it.
        """
        key_update, key_next = keys
        state, numbers = learner.update(key_update, state, replay.open(picked))
        return state, pick(key_next, rows), numbers

    def learn(state: LearnerState, rows: Rows, key_learn: Array) -> tuple[LearnerState, Numbers]:
        """The round's updates, for all seeds at once: `vmap` of a loop would trace what is in it once more."""

        def body(carry: tuple[LearnerState, Any], keys: Array) -> tuple[Any, Numbers]:
            state, picked, numbers = jax.vmap(update)(rows, *carry, keys)
            return (state, picked), numbers

        key_sample, key_update = jax.vmap(draw_keys, out_axes=2)(key_learn)
        first = jax.vmap(pick)(key_sample[0], rows)
        following = jnp.concatenate([key_sample[1:], key_sample[:1]])  # what is picked last is not used
        (state, _), numbers = lax.scan(body, (state, first), jnp.stack([key_update, following], axis=2))
        return state, jax.tree.map(lambda x: jnp.swapaxes(x, 0, 1), numbers)

    settings = made_from(config, world)
    compiled_act = kept(
        "act",
        jax.vmap(act),
        settings,
        like=lambda key, params, rows: (key, key, rows),
        donate=2,
        compiler_options=acting_options(),
    )
    compiled_learn = kept(
        "learn",
        learn,
        settings,
        like=lambda state, rows, key: (state, structure_of(Numbers)),
        donate=0,
        compiler_options=learning_options(),
    )

    def run_rounds(
        state: TrainState, num_rounds: int, listen: Callable[[], None] = nothing
    ) -> tuple[TrainState, Numbers]:
        learner_state, rows, key, told = state.learner, state.rows, state.key, []
        for _ in range(num_rounds):  # the host is far ahead of the device
            key, key_learn, rows = compiled_act(key, learner_state.params, rows)
            learner_state, numbers = compiled_learn(learner_state, rows, key_learn)
            told.append(numbers)
        wait_for(told[-1], listen)
        joined = jax.tree.map(lambda *rounds: np.concatenate(rounds, axis=1), *jax.device_get(told))
        return TrainState(learner=learner_state, rows=rows, key=key), joined

    def greedy(key: Array, params: Params) -> tuple[Episode, Float[Array, "E S+1 D"]]:
        return play(key, params, jnp.full(config.evaluation_episodes, float(reward.acts_at_random)))

    def evaluate(params: Params, key: Array) -> Evaluation:
        params = lower(params, config.precision)
        episodes, b_t = greedy(key, params)
        probe, S = params.probe, world.num_steps  # o_S is not counted

        def measure(episode: Episode, b_t: Float[Array, "S+1 D"]) -> Evaluation:
            seen = visits(in_view(world, unpack(episode.o_t[:S], world.shape)))
            losses = jnp.zeros(0) if probe is None else discovery_loss(probe, b_t[:S], episode.cells[:S]).mean(axis=0)
            return Evaluation(
                visits=seen.count,
                first_visit=seen.first,
                frequency=seen.is_seen.astype(jnp.float32),
                discovery_loss=losses,
            )

        if probe is None:
            return jax.vmap(measure)(episodes, b_t)
        # A few episodes at a time: the probe's answers over all cells are by far the largest array.
        return lax.map(lambda pair: measure(*pair), (episodes, b_t), batch_size=10)

    def track_episodes(params: Params, key: Array) -> Tracking:
        params = lower(params, config.precision)
        episodes, b_t = greedy(key, params)
        probe, S = params.probe, world.num_steps
        assert probe is not None

        def measure(pair: tuple[Episode, Float[Array, "S+1 D"]]) -> Tracking:
            episode, b_t = pair
            loss = discovery_loss(probe, b_t[:S], episode.cells[:S])
            return track(in_view(world, unpack(episode.o_t[:S], world.shape)), loss)

        return jax.tree.map(lambda x: x.sum(axis=0), lax.map(measure, (episodes, b_t), batch_size=10))

    def per_seed(key: Array) -> Array:
        # fold_in, not split: seed i's stream does not depend on how many seeds run.
        return jax.vmap(lambda i: jax.random.fold_in(key, i))(jnp.arange(config.seeds))

    def judging(judge_seed: Callable[[Params, Array], Any], gives: type[eqx.Module]) -> Callable[[Params, Array], Any]:
        def judge(params: Params, key: Array) -> Any:
            return jax.vmap(judge_seed)(params, per_seed(key))

        # Called seldom, so that compiling it takes longer than all its calls.
        like = structure_of(gives)
        return kept(gives.__name__, judge, settings, like=lambda *_: like, compiler_options=learning_options())

    # Runs once, and is half of what a small run compiles: on a CPU it is compiled in half the time, unoptimised.
    quickly = {"xla_backend_optimization_level": 0} if jax.default_backend() == "cpu" else None
    return Trainer(
        learner=learner,
        init=jax.jit(lambda key: jax.vmap(init)(per_seed(key)), compiler_options=quickly),
        run_rounds=run_rounds,
        evaluate=judging(evaluate, Evaluation),
        track=judging(track_episodes, Tracking),
        sample=sample,
        collect=collect,
    )


def structure_of(record: type[eqx.Module]) -> eqx.Module:
    """One of these with a leaf in each of its fields."""
    return record(**{field.name: 0 for field in dataclasses.fields(record)})
