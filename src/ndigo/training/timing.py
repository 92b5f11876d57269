"""How long training takes on this device, part by part.

Every figure is the median over repeats after one call that compiles, with the device synchronised, and the range of
the middle half. A part is timed alone and with its gradient, so that the parts need not add up to the whole.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.flatten_util import ravel_pytree

from ndigo.agent.retrace import retrace_targets
from ndigo.config import Config
from ndigo.networks import lower
from ndigo.rewards import IntrinsicReward
from ndigo.training.floor import Rates, measure_rates, update_floor
from ndigo.training.trainer import Trainer, TrainState, make_trainer, side_by_side
from ndigo.worlds import World


@dataclass(frozen=True)
class Time:
    """Milliseconds: median and the middle half's ends; and seconds of the first call, which compiles."""

    ms: float
    low: float
    high: float
    first_s: float


@dataclass(frozen=True)
class Timings:
    parts: dict[str, Time]  # "update", "collection" and "iteration" among them
    transitions_per_s: dict[str, float]  # "trained", "collected"
    peak_bytes: int | None
    floor_ms: float
    operations: float
    bytes: float
    rates: Rates


def timed(call: Callable[[], Any], repeats: int) -> Time:
    began = time.perf_counter()
    jax.block_until_ready(call())
    first = time.perf_counter() - began
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        jax.block_until_ready(call())
        times.append(1e3 * (time.perf_counter() - began))
    low, median, high = np.percentile(times, [25, 50, 75])
    return Time(float(median), float(low), float(high), first)


def measure(config: Config, world: World, reward: IntrinsicReward, repeats: int) -> Timings:
    """The whole iteration, its update and collection, and the update's parts."""
    parts, trainer, state = _whole(config, world, reward, repeats)
    parts |= _parts(config, reward, trainer, state, repeats)
    num_params = sum(x.size for x in jax.tree.leaves(state.learner.params)) // config.seeds
    cost, rates = update_floor(config, world, reward, num_params), measure_rates(config.precision)
    trained = config.seeds * config.batch * config.window
    collected = config.seeds * config.actors * world.num_steps
    return Timings(
        parts=parts,
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


def _whole(
    config: Config, world: World, reward: IntrinsicReward, repeats: int
) -> tuple[dict[str, Time], Trainer, TrainState]:
    """One round (an episode per actor, then its updates), a collection and an update."""
    trainer = make_trainer(dataclasses.replace(config, rounds_per_chunk=1), world, reward)
    state = [trainer.init(jax.random.key(0))]

    def one_round() -> Any:
        state[0], numbers = trainer.run_chunk(state[0])
        return numbers

    parts = {"iteration": timed(one_round, repeats)}
    keys = jax.random.split(jax.random.key(1), config.seeds)
    learner, window = state[0].learner, jax.jit(jax.vmap(trainer.sample))(keys, state[0].rows)
    parts["collection"] = timed(_forward(trainer.collect, keys, learner.params), repeats)
    parts["update"] = timed(_forward(trainer.learner.update, keys, learner, window), repeats)
    return parts, trainer, state[0]


def _parts(
    config: Config, reward: IntrinsicReward, trainer: Trainer, state: TrainState, repeats: int
) -> dict[str, Time]:
    keys = jax.random.split(jax.random.key(1), config.seeds)
    sample = jax.jit(jax.vmap(trainer.sample))
    window = sample(keys, state.rows)
    params, memory = lower((state.learner.params, state.learner.memory), config.precision)
    seen = jax.jit(jax.vmap(lambda p, w: p.model.look(w)))(params, window)
    q_t = jax.jit(jax.vmap(lambda p, w: p.q.unroll(w)))(params, window)

    def encoder(p, w, seen, q):
        return p.model.core.encoder(w.o_t).astype(jnp.float32).sum()

    def unroll(p, w, seen, q):
        return p.model.core.unroll(seen.z_t, w.a_tm1, w.belief).sum()

    def model(p, w, seen, q):
        return p.model.learn(w)[0]

    def q_values(p, w, seen, q):
        return p.q.unroll(w).sum()

    def returns(p, m, seen, q):
        paid, v_t = reward.pay(p.reward, m, p.model, seen), q.max(axis=-1)
        return retrace_targets(r_t=paid.r_t, v_tp1=v_t[1:], q_tp1=v_t[1:], c_tp1=v_t[1:], gamma=config.gamma)

    calls = {
        "sampling": lambda: sample(keys, state.rows),
        "encoder, gradient": _gradient(encoder, params, window, seen, q_t),
        "recurrent unroll, gradient": _gradient(unroll, params, window, seen, q_t),
    }
    if params.model.predictor is not None:
        calls["world model, gradient"] = _gradient(model, params, window, seen, q_t)

    if not reward.acts_at_random:
        calls["reward and Retrace"] = _forward(returns, params, memory, seen, q_t)
        calls["Q-network, gradient"] = _gradient(q_values, params, window, seen, q_t)
    adam = optax.scale_by_adam()
    flat = jax.vmap(lambda p: ravel_pytree(p)[0])(state.learner.params)
    step = jax.jit(jax.vmap(adam.update))
    calls["optimiser"] = lambda: step(flat, state.learner.adam)
    return {name: timed(call, repeats) for name, call in calls.items()}


def _forward(part: Callable[..., Any], *inputs: Any) -> Callable[[], Any]:
    run = jax.jit(jax.vmap(part), compiler_options=side_by_side())
    return lambda: run(*inputs)


def _gradient(part: Callable[..., Any], *inputs: Any) -> Callable[[], Any]:
    return _forward(jax.grad(part), *inputs)
