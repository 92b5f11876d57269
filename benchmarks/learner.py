"""Times the learner on this machine's device: collection, one joint update and its parts, evaluation.

    python benchmarks/learner.py                                   # the preset for this device
    python benchmarks/learner.py --preset gpu --seeds 10 --batch 32 --json learner.json

Each figure is the median over repeats after one call that compiles, with the device synchronised; the
spread is the range of the middle half. `kernel` and `scan` are the two forms of the recurrent unroll.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.table import Table

from ndigo import gru
from ndigo.config import Config, preset
from ndigo.experiments import EXPERIMENTS
from ndigo.model import prediction_loss
from ndigo.networks import lower
from ndigo.rewards import make_reward
from ndigo.training.trainer import Trainer, TrainState, make_trainer


def timed(call: Callable[[], Any], repeats: int) -> dict[str, float]:
    """Seconds to the first answer, then milliseconds: median and middle half."""
    began = time.perf_counter()
    jax.block_until_ready(call())
    first = time.perf_counter() - began
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        jax.block_until_ready(call())
        times.append(1e3 * (time.perf_counter() - began))
    low, median, high = np.percentile(times, [25, 50, 75])
    return {"first_s": first, "ms": float(median), "low_ms": float(low), "high_ms": float(high)}


def time_rounds(config: Config, repeats: int) -> tuple[dict[str, dict[str, float]], Trainer, TrainState]:
    """A round with 1 and with 9 updates: their difference is eight updates, the rest is collection."""
    experiment = EXPERIMENTS[config.world]
    rows, trainers = {}, {}
    for updates in (1, 9):
        settings = {**vars(config), "rounds_per_chunk": 1, "updates_per_round": updates}
        trainers[updates] = trainer = make_trainer(Config(**settings), experiment.world, make_reward(config.reward))
        state = [trainer.init(jax.random.key(0))]

        def one_round(trainer: Trainer = trainer, state: list[TrainState] = state) -> Any:
            state[0], numbers = trainer.run_chunk(state[0])
            return numbers

        rows[updates] = timed(one_round, repeats)
        last = state[0]
    update = {name: (rows[9][name] - rows[1][name]) / 8 for name in ("ms", "low_ms", "high_ms")}
    collect = {name: rows[1][name] - update[name] for name in update}
    compiled = {"first_s": rows[9]["first_s"]}
    return {"collect": collect, "update": update | compiled}, trainers[9], last


def time_parts(config: Config, trainer: Trainer, state: TrainState, repeats: int) -> dict[str, dict[str, float]]:
    """The parts of an update, each with its gradient and alone, so that they add up to more than the whole."""
    keys = jax.random.split(jax.random.key(1), config.seeds)
    window = jax.jit(jax.vmap(trainer.sample))(keys, state.rows)
    params = lower(state.learner.params, config.precision)
    z_t = jax.jit(jax.vmap(lambda p, w: p.model.core.encoder(w.o_t)))(params, window)
    b_t = jax.jit(jax.vmap(lambda p, w, z: p.model.core.unroll(z, w.a_tm1, w.belief)))(params, window, z_t)

    def encoder(p, w, z, b):
        return p.model.core.encoder(w.o_t).astype(jnp.float32).sum()

    def unroll(p, w, z, b):
        return p.model.core.unroll(z, w.a_tm1, w.belief).sum()

    def predictor(p, w, z, b):
        return prediction_loss(p.model.losses(b[:-1], w.a_t, w.o_t[1:]))

    parts = {}
    for part in (encoder, unroll, predictor):
        gradient = jax.jit(jax.vmap(jax.grad(part)))
        parts[f"{part.__name__} and gradient"] = timed(lambda f=gradient: f(params, window, z_t, b_t), repeats)
    x_t = jax.jit(jax.vmap(lambda p, w, z: p.model.core.inputs(z, w.a_tm1)))(params, window, z_t)
    weight, h_0 = params.model.core.gru.weight, window.belief
    forms = {"scan": gru.forward_scan}
    if jax.default_backend() == "gpu":
        forms["kernel"] = gru.forward_kernel
    for name, form in forms.items():
        run = jax.jit(jax.vmap(form))
        parts[f"unroll by {name}, forward"] = timed(lambda f=run: f(x_t, weight, h_0), repeats)
    parts["evaluation"] = timed(lambda: trainer.evaluate(state.learner.params, keys[0]), max(repeats // 3, 1))
    return parts


def main() -> None:
    is_gpu = jax.default_backend() == "gpu"
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--preset", default="gpu" if is_gpu else "cpu")
    parser.add_argument("--world", default="exp1")
    parser.add_argument("--reward", default="ndigo-4")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    changes = {name: value for name, value in vars(args).items() if name in ("seeds", "batch") and value}
    config = preset(args.preset, world=args.world, reward=args.reward, **changes)
    rows, trainer, state = time_rounds(config, args.repeats)
    rows |= time_parts(config, trainer, state, args.repeats)
    per_update = config.seeds * config.batch * config.window
    per_round = config.seeds * config.actors * EXPERIMENTS[config.world].world.num_steps
    device = jax.devices()[0]
    peak = (device.memory_stats() or {}).get("peak_bytes_in_use")
    table = Table(title=f"{config.seeds} seeds x {config.batch} windows x {config.window} steps, {config.predictor}")
    for column in ("part", "ms", "middle half", "first call, s"):
        table.add_column(column, justify="left" if column == "part" else "right")
    for name, row in rows.items():
        first = f"{row['first_s']:.1f}" if "first_s" in row else ""
        table.add_row(name, f"{row['ms']:.2f}", f"{row['low_ms']:.2f} to {row['high_ms']:.2f}", first)
    console = Console()
    console.print(table)
    console.print(f"{per_update / rows['update']['ms']:,.0f} thousand transitions trained a second,")
    console.print(
        f"{per_round / rows['collect']['ms']:,.0f} thousand steps collected a second, on {device.device_kind};"
    )
    console.print(
        f"jax {jax.__version__}, Python {platform.python_version()}" + (f", peak {peak / 1e9:.1f} GB" if peak else "")
    )
    if args.json:
        args.json.write_text(json.dumps({"config": vars(config), "device": device.device_kind, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
