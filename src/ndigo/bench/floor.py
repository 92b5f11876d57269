"""The least that one joint update can cost: its arithmetic and its bytes, counted, at this device's own rates.

Arithmetic: two operations for every weight that a row meets; three times that where there is a gradient (forward,
input's share, weight's share), once for the target network. Bytes: weights, gradients and Adam's two moments, and
every layer's activations written once, read by the next layer and read again on the way back. An implementation may
do less traffic by recomputing, or more by copying; it may not do less arithmetic.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from ndigo.bench.layers import encoder_layers, features
from ndigo.config import Config
from ndigo.model import make_likelihood
from ndigo.rewards import IntrinsicReward
from ndigo.training.learner import num_picked
from ndigo.worlds import World


@dataclass(frozen=True)
class Cost:
    operations: float
    bytes: float

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.operations + other.operations, self.bytes + other.bytes)

    def seconds(self, rates: Rates) -> float:
        """Arithmetic and traffic overlap at best."""
        return max(self.operations / rates.operations, self.bytes / rates.bytes)


@dataclass(frozen=True)
class Rates:
    """What this device does in a second: operations of a large matrix product, bytes copied (read and written)."""

    operations: float
    bytes: float


def update_floor(config: Config, world: World, reward: IntrinsicReward, num_params: int) -> Cost:
    """One update of all seeds."""
    D, encoder = config.belief_size, encoder_layers(world.frame, config.num_features, config.num_filters)
    Z = features(world.frame, config.num_features)
    size = 4 if config.precision == "float32" else 2
    frames, steps = config.batch * (config.window + 1), config.batch * config.window

    def layers(rows: int, *shapes: tuple[int, int, int], learns: bool = True) -> Cost:
        """(positions, inputs, outputs) of each layer, for every row."""
        operations = sum(2 * p * i * o for p, i, o in shapes) * (3 if learns else 1)
        numbers = sum(p * o for p, _, o in shapes) * (3 if learns else 2)
        return Cost(rows * operations, rows * numbers * size)

    core = (*encoder, (1, Z, 3 * D), (1, D, 3 * D))
    heads = ((1, D, config.head_hidden), (1, config.head_hidden, 1), (1, D, config.head_hidden))
    heads = (*heads, (1, config.head_hidden, world.num_actions))
    total = layers(frames, *core)  # the model's
    if not reward.acts_at_random:
        total += layers(frames, *core, *heads) + layers(frames, *core, *heads, learns=False)
    if not reward.trains_belief and config.predictor in ("mlp", "action_gru", "open_loop"):  # of others nobody knows
        hidden = config.predictor_hidden
        num_outputs = make_likelihood(config.likelihood, world.frame).num_outputs
        recurrent = () if config.predictor == "mlp" else ((1, D, 3 * D),)
        K = max(config.num_ahead, reward.num_ahead)
        total += layers(steps * K, *recurrent, (1, D, hidden), (1, hidden, num_outputs))
    if world.truth is not None and world.map_shape is not None and world.objects:
        cells = len(world.objects) * math.prod(world.map_shape)
        picked = config.batch * num_picked(config.probe_stride, config.window + 1)
        total += layers(picked, (1, D, config.probe_hidden), (1, config.probe_hidden, cells))
    adam = Cost(12 * num_params, 8 * 4 * num_params)  # gradient, weight and two moments, each read and written
    total += adam
    return Cost(config.seeds * total.operations, config.seeds * total.bytes)


def measure_rates(precision: str) -> Rates:
    on_cpu = jax.default_backend() == "cpu"
    side, length = (1024, 2**24) if on_cpu else (8192, 2**28)
    a = jnp.ones((side, side), precision)
    x = jnp.ones(length, jnp.float32)
    multiply, copy = jax.jit(lambda a: a @ a), jax.jit(lambda x: x + 1)
    return Rates(
        operations=2 * side**3 / best_seconds(lambda: multiply(a)), bytes=8 * length / best_seconds(lambda: copy(x))
    )


def best_seconds(call: Callable[[], Any], repeats: int = 7) -> float:
    """The fastest of the repeats: a floor is what the device can do undisturbed."""
    return min(seconds_of(call, repeats))


def seconds_of(call: Callable[[], Any], repeats: int) -> list[float]:
    """Each of the repeats, after one call that compiles."""
    jax.block_until_ready(call())
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        jax.block_until_ready(call())
        seconds.append(time.perf_counter() - began)
    return seconds
