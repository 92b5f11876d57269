"""One joint update, one seed, beside a plain PyTorch version of the same update, in one run on this machine's CPU.

    python benchmarks/learner.py                 # 32 windows of 100 steps, the sizes of the preset `gpu`, float32
    python benchmarks/learner.py --rounds 5 --json learner.json

The two take turns, each in a process of its own (PyTorch in an environment of its own under `.bench/`), so that a
disturbance meets both; every figure is the median over all rounds. `ndigo bench` has the parts of ours.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
ENVIRONMENT = ROOT / ".bench" / "torch"
TORCH = "torch==2.13.0"
SIZES = ROOT / ".bench" / "learner_sizes.json"


def ours(batch: int, repeats: int) -> dict[str, Any]:
    """Called in a process of its own: our update on windows of episodes played in Experiment 1."""
    import jax
    import jax.numpy as jnp

    from ndigo.agent import Ring
    from ndigo.bench.floor import best_seconds, measure_rates, update_floor
    from ndigo.config import preset
    from ndigo.paper.experiments import EXPERIMENTS
    from ndigo.rewards import make_reward
    from ndigo.training.learner import make_learner
    from ndigo.training.trainer import make_trainer

    config = preset("gpu", seeds=1, batch=batch, precision="float32", replay_steps=20_000, updates_per_round=1)
    world, reward = EXPERIMENTS["exp1"].world, make_reward("ndigo-4")
    trainer = make_trainer(config, world, reward)
    learner_state = [jax.tree.map(lambda x: x[0], trainer.init(jax.random.key(0)).learner)]
    collected, _ = jax.jit(trainer.collector.explore)(jax.random.key(1), learner_state[0].params, None)
    rows = Ring(windows=collected, num_added=jnp.int32(len(collected.start)))
    window = jax.jit(lambda key, rows: trainer.replay.sample(key, rows, batch))(jax.random.key(2), rows)
    step = jax.jit(make_learner(config, world, reward).update, donate_argnums=1)

    def update() -> Any:
        learner_state[0], numbers = step(jax.random.key(2), learner_state[0], window)
        return numbers

    times = [1e3 * best_seconds(update, 1) for _ in range(repeats)]
    num_params = sum(x.size for x in jax.tree.leaves(learner_state[0].params))
    cost, rates = update_floor(config, world, reward, num_params), measure_rates("float32")
    return {"ms": times, "floor_ms": 1e3 * cost.seconds(rates), "operations": cost.operations}


def sizes(batch: int, repeats: int) -> dict[str, int]:
    """What the PyTorch version needs to know."""
    from ndigo.config import preset
    from ndigo.model import make_likelihood
    from ndigo.paper.experiments import EXPERIMENTS

    config, world = preset("gpu"), EXPERIMENTS["exp1"].world
    assert world.map_shape is not None
    V, _, C = world.shape
    return {
        "view": V,
        "channels": C,
        "actions": world.num_actions,
        "objects": len(world.objects),
        "cells": world.map_shape[0] * world.map_shape[1],
        "outputs": make_likelihood("categorical", world.frame).num_outputs,
        "filters": config.num_filters,
        "features": config.num_features,
        "belief": config.belief_size,
        "hidden": config.predictor_hidden,
        "head": config.head_hidden,
        "probe": config.probe_hidden,
        "ahead": config.num_ahead,
        "horizon": 4,
        "window": config.window,
        "stride": config.probe_stride,
        "batch": batch,
        "threads": len(os.sched_getaffinity(0)),
        "warm_up": 2,
        "repeats": repeats,
    }


def call(command: list[str]) -> dict[str, Any]:
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=32, help="windows in an update")
    parser.add_argument("--repeats", type=int, default=7, help="timed updates of each in a round")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each")
    parser.add_argument("--json", type=Path, help="where the figures go")
    parser.add_argument("--ours", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.ours:
        print(json.dumps(ours(args.batch, args.repeats)))
        return
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        print(f"installing {TORCH} under {ENVIRONMENT.relative_to(ROOT)} ...", flush=True)
        venv.create(ENVIRONMENT, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", TORCH, "numpy"], check=True)
    SIZES.write_text(json.dumps(sizes(args.batch, args.repeats)))
    times: dict[str, list[float]] = {"ndigo": [], "PyTorch, eager": []}
    floor, load = {}, os.getloadavg()[0]
    mine = [sys.executable, __file__, "--ours", "--batch", str(args.batch), "--repeats", str(args.repeats)]
    for i in range(args.rounds):
        floor = call(mine)
        times["ndigo"] += floor["ms"]
        times["PyTorch, eager"] += call([str(python), str(ROOT / "benchmarks" / "torch_learner.py"), str(SIZES)])["ms"]
        print(f"round {i + 1} of {args.rounds}", flush=True)
    medians = {name: float(np.median(ms)) for name, ms in times.items()}
    for name, ms in times.items():
        low, high = np.percentile(ms, [25, 75])
        print(f"{name:<16} {medians[name]:7.1f} ms   middle half {low:.1f} to {high:.1f}")
    ratio, over_floor = medians["PyTorch, eager"] / medians["ndigo"], medians["ndigo"] / floor["floor_ms"]
    print(
        f"ndigo is {ratio:.2f} times as fast, and takes {over_floor:.1f} times its floor of {floor['floor_ms']:.0f} ms"
    )
    print(f"load {load:.1f} before and {os.getloadavg()[0]:.1f} after, {len(os.sched_getaffinity(0))} cores")
    if args.json:
        args.json.write_text(json.dumps({"ms": times, **floor, "load_before": load}, indent=1))


if __name__ == "__main__":
    main()
