"""How training's time grows: with seeds, worlds, the window's length and the steps predicted ahead.

    python benchmarks/growth.py --json growth.json --figure growth.png       # about ten minutes on two cores

One quantity at a time, all others as in the preset for this device. Worlds grow the collection of a round, the rest an
update. The exponent is the slope of log time against log count by least squares over all counts: 1 means in proportion.
All cases are compiled side by side first, and timed one after the other.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from ndigo.agent import Ring
from ndigo.bench.floor import best_seconds
from ndigo.config import Config, preset
from ndigo.fast.compiling import acting_options, learning_options
from ndigo.naming import default_preset
from ndigo.palette import SERIES
from ndigo.paper.experiments import EXPERIMENTS
from ndigo.report.figures import PAGE, STYLE, plain, save_figure
from ndigo.rewards import make_reward
from ndigo.training.learner import LearnerState
from ndigo.training.trainer import make_trainer

COUNTS: dict[str, tuple[int, ...]] = {
    "seeds": (1, 2, 5, 10, 20, 40),
    "actors": (1, 8, 64, 512, 4096),
    "window": (25, 50, 100, 200, 400),
    "num_ahead": (1, 2, 5, 10, 20),
}
REWARD = "pe"  # needs one step ahead: K is free
TITLES = {
    "seeds": "update, seeds side by side",
    "actors": "an episode, worlds at once",
    "window": "update, steps in a window",
    "num_ahead": "update, steps ahead (K)",
}
NAMES = {"seeds": "seeds", "actors": "worlds", "window": "steps", "num_ahead": "K"}  # on the axis, and in the slope
RAISED = str.maketrans("0123456789.", "⁰¹²³⁴⁵⁶⁷⁸⁹·")


@functools.cache
def played(config: Config) -> tuple[LearnerState, Ring]:
    """One seed's learner, fresh, and the windows of the episodes it played: all seeds of a case start as this one."""
    trainer = make_trainer(config, EXPERIMENTS["exp1"].world, make_reward(REWARD))
    state = jax.tree.map(lambda x: x[0], trainer.init(jax.random.key(0)).learner)
    collected, _ = jax.jit(trainer.collector.explore)(jax.random.key(1), state.params, None)
    return state, Ring(windows=collected, num_added=jnp.int32(len(collected.start)))


def alone(config: Config) -> Config:
    """What `played` depends on: one seed, in 32 worlds."""
    return dataclasses.replace(config, seeds=1, actors=32)


def collection(config: Config) -> Callable[[], Any]:
    """One episode in every world, without a learner's step; called once."""
    trainer = make_trainer(config, EXPERIMENTS["exp1"].world, make_reward(REWARD))
    params = played(alone(config))[0].params
    collect = jax.jit(trainer.collector.explore, compiler_options=acting_options())
    jax.block_until_ready(collect(jax.random.key(1), params, None))
    return lambda: collect(jax.random.key(1), params, None)


def update(config: Config) -> Callable[[], Any]:
    """One update of all seeds, on windows that were played; called once."""
    trainer = make_trainer(config, EXPERIMENTS["exp1"].world, make_reward(REWARD))
    one, rows = played(alone(config))
    state = jax.tree.map(lambda x: jnp.repeat(x[None], config.seeds, axis=0), one)
    keys = jax.random.split(jax.random.key(1), config.seeds)
    window = jax.jit(jax.vmap(lambda key: trainer.replay.sample(key, rows, config.batch)))(keys)
    step = jax.jit(jax.vmap(trainer.learner.update), compiler_options=learning_options())
    jax.block_until_ready(step(keys, state, window))
    return lambda: step(keys, state, window)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default=default_preset())
    parser.add_argument("--only", nargs="+", choices=COUNTS, default=list(COUNTS))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--figure", type=Path)
    args = parser.parse_args()
    load = os.getloadavg()[0]

    configs = {
        (name, n): preset(args.preset, **{"seeds": 1, "replay_steps": 20_000, name: n})
        for name in args.only
        for n in COUNTS[name]
    }

    def prepare(case: tuple[str, int]) -> Callable[[], Any]:
        call = (collection if case[0] == "actors" else update)(configs[case])
        print("compiled:", *case, flush=True)
        return call

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        list(threads.map(played, {alone(config) for config in configs.values()}))
        ready = dict(zip(configs, threads.map(prepare, configs), strict=True))
    growth: dict[str, Any] = {}
    for name in args.only:
        times = {n: [1e3 * best_seconds(ready[name, n], 1) for _ in range(args.repeats)] for n in COUNTS[name]}
        medians = [float(np.median(ms)) for ms in times.values()]
        slope, intercept = np.polyfit(np.log(COUNTS[name]), np.log(medians), 1)
        growth[name] = {"ms": times, "exponent": slope, "at_one_ms": float(np.exp(intercept))}
        for count, median in zip(times, medians, strict=True):
            print(f"{name} {count:>5}: {median:9.2f} ms")
        print(f"{name}: time grows as count^{slope:.2f}", flush=True)
    about = {"device": jax.devices()[0].device_kind, "jax": jax.__version__, "preset": args.preset}
    about |= {"load_before": load, "load_after": os.getloadavg()[0]}
    if args.json:
        args.json.write_text(json.dumps({"about": about, "growth": growth}, indent=1))
    if args.figure:
        draw(growth, about, args.figure)


def draw(growth: dict[str, Any], about: dict[str, Any], path: Path) -> None:
    with rc_context(STYLE):
        figure = _panels(growth)
        figure.suptitle(f"{about['device']}, preset {about['preset']}, jax {about['jax']}", fontsize=7.5)
        save_figure(figure, path.with_suffix(""), (path.suffix[1:],))


def _panels(growth: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(PAGE, 2.0), layout="constrained")
    measured, fitted = SERIES[:2]
    for axis, (name, found) in zip(figure.subplots(1, len(growth), squeeze=False)[0], growth.items(), strict=True):
        counts = np.array(list(found["ms"]), float)
        middle, low, high = (np.array([np.percentile(ms, q) for ms in found["ms"].values()]) for q in (50, 25, 75))
        ends = [middle - low, high - middle]
        axis.errorbar(counts, middle, yerr=ends, fmt=measured.marker, color=measured.colour, markersize=3)
        fit = found["at_one_ms"] * counts ** found["exponent"]
        axis.plot(counts, fit, color=fitted.colour, linestyle=fitted.dash, linewidth=1)
        slope = f"∝ {NAMES[name]}{found['exponent']:.2f}".translate(RAISED)
        axis.annotate(slope, (0.05, 0.9), xycoords="axes fraction", color=fitted.colour)
        axis.set(xscale="log", yscale="log", xlabel=NAMES[name], title=TITLES[name])
        axis.set_xticks(counts, [f"{count:,.0f}" for count in counts], fontsize=6)
        axis.minorticks_off()
        axis.set_ylim(middle.min() / 2, 2 * middle.max())  # what does not grow should look it
        axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.yaxis.set_major_formatter(lambda ms, _: f"{ms:,g}")
        axis.tick_params(axis="y", labelsize=6)
        axis.title.set_fontsize(6.5)
        plain(axis)
    figure.axes[0].set_ylabel("ms")
    return figure


if __name__ == "__main__":
    main()
