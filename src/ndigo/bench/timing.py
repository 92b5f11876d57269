"""How long training takes on this device, part by part.

Every figure is the median over repeats after one call that compiles, with the device synchronised, and the range of
the middle half. A part is timed alone and with its gradient, so that the parts need not add up to the whole. The parts
are compiled side by side, the whole iteration before them and alone: its compile time is what a run waits for.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ndigo.agent.retrace import retrace_targets
from ndigo.bench.floor import Rates, measure_rates, seconds_of, update_floor
from ndigo.config import Config
from ndigo.fast.compiling import Options, acting_options, learning_options
from ndigo.networks import lower
from ndigo.rewards import IntrinsicReward
from ndigo.training.learner import make_optimiser
from ndigo.training.rounds import TrainState
from ndigo.training.trainer import Trainer, make_trainer
from ndigo.training.twins import twins
from ndigo.worlds import World


@dataclass(frozen=True)
class Time:
    """Milliseconds: median and the middle half's ends."""

    ms: float
    low: float
    high: float


@dataclass(frozen=True)
class Timings:
    parts: dict[str, Time]  # "iteration", its share for one learner step, "collection" and "update" among them
    compile_s: float  # the first iteration: traced, compiled and run
    transitions_per_s: dict[str, float]  # "trained", "collected"
    peak_bytes: int | None
    floor_ms: float
    operations: float
    bytes: float
    rates: Rates


def quartiles(seconds: list[float]) -> Time:
    low, median, high = np.percentile(seconds, [25, 50, 75])
    return Time(1e3 * float(median), 1e3 * float(low), 1e3 * float(high))


def measure(config: Config, world: World, reward: IntrinsicReward, repeats: int) -> Timings:
    """The whole iteration, its update and collection, and the update's parts."""
    trainer = make_trainer(config, world, reward)
    state = trainer.init(jax.random.key(0))

    def iterations(count: int) -> float:
        """Seconds of so many, between two visits to the host as in a run."""
        nonlocal state
        began = time.perf_counter()
        state, _ = trainer.run_rounds(state, count)
        return time.perf_counter() - began

    compile_s, once = iterations(1), iterations(1)
    count = max(1, min(config.rounds_per_chunk, int(1 / once)))  # within a second
    whole = quartiles([iterations(count) / count for _ in range(repeats)])
    share = Time(*(ms / config.updates_per_round for ms in dataclasses.astuple(whole)))
    parts = {"iteration": whole, "learner step, its share": share}
    calls = _calls(config, reward, trainer, state)
    with ThreadPoolExecutor() as threads:
        jax.block_until_ready(list(threads.map(lambda call: call(), calls.values())))
    parts |= {name: quartiles(seconds_of(call, repeats)) for name, call in calls.items()}
    num_params = sum(x.size for x in jax.tree.leaves(state.learner.params)) // config.seeds
    cost, rates = update_floor(config, world, reward, num_params), measure_rates(config.precision)
    trained = config.seeds * config.batch * config.window
    collected = config.seeds * trainer.steps_per_round
    return Timings(
        parts=parts,
        compile_s=compile_s,
        transitions_per_s={
            "trained": 1e3 * trained / parts["update"].ms,
            "collected": 1e3 * collected / parts["collection"].ms,
        },
        peak_bytes=(jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use"),
        floor_ms=1e3 * cost.seconds(rates),
        operations=cost.operations,
        bytes=cost.bytes,
        rates=rates,
    )


def _calls(
    config: Config, reward: IntrinsicReward, trainer: Trainer, state: TrainState
) -> dict[str, Callable[[], Any]]:
    """A collection, an update and the update's parts, each ready to be called."""
    keys = jax.random.split(jax.random.key(1), config.seeds)
    sample = jax.jit(jax.vmap(lambda key, rows: trainer.replay.sample(key, rows, config.batch)))
    window = sample(keys, state.rows)
    params, memory = lower((state.learner.params, state.learner.memory), config.precision)
    seen = jax.jit(jax.vmap(lambda p, w: p.model.look(w)))(params, window)
    q_t = jax.jit(jax.vmap(lambda p, w: p.agent.unroll(w)))(params, window)

    def collect(key, params):
        return trainer.collector.explore(key, params, trainer.collector.start(key, params))[0]

    def encoder(p, w, seen, q):
        return p.model.core.encoder(w.o_t).astype(jnp.float32).sum()

    def unroll(p, w, seen, q):
        return p.model.core.unroll(seen.z_t, w.a_tm1, w.belief).sum()

    def model(p, w, seen, q):
        return twins(config).predict(p.model, w)[0]

    def q_values(p, w, seen, q):
        return p.agent.unroll(w).sum()

    def returns(p, m, seen, q):
        paid, v_t = reward.pay(p.reward, m, p.model, seen), q.max(axis=-1)
        return retrace_targets(r_t=paid.r_t, v_tp1=v_t[1:], q_tp1=v_t[1:], c_tp1=v_t[1:], gamma=config.gamma)

    calls = {
        "collection": _forward(collect, keys, state.learner.params, options=acting_options()),
        "update": _forward(trainer.learner.update, keys, state.learner, window),
        "sampling": lambda: sample(keys, state.rows),
        "encoder, gradient": _gradient(encoder, params, window, seen, q_t),
        "recurrent unroll, gradient": _gradient(unroll, params, window, seen, q_t),
    }
    if params.model.predictor is not None:
        calls["world model, gradient"] = _gradient(model, params, window, seen, q_t)

    if not reward.acts_at_random:
        calls["reward and Retrace"] = _forward(returns, params, memory, seen, q_t)
        calls["Q-network, gradient"] = _gradient(q_values, params, window, seen, q_t)
    step = jax.jit(jax.vmap(make_optimiser(config).update))
    calls["optimiser"] = lambda: step(state.learner.params, state.learner.optimiser)
    return calls


def _forward(part: Callable[..., Any], *inputs: Any, options: Options | None = None) -> Callable[[], Any]:
    run = jax.jit(jax.vmap(part), compiler_options=options or learning_options())
    return lambda: run(*inputs)


def _gradient(part: Callable[..., Any], *inputs: Any) -> Callable[[], Any]:
    return _forward(jax.grad(part), *inputs)
