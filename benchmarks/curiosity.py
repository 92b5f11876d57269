"""What curiosity costs: one `pay` of 16 environments, and a PPO loop in one jit with and without it.

    python benchmarks/curiosity.py                        # `pay` on this machine, then the loop with 16 environments
    python benchmarks/curiosity.py --envs 1024 --preset gpu --json curiosity.json     # the loop as on a GPU

`pay` is timed as a host's loop calls it (`ndigo.Curiosity.pay`): NumPy in, checked, NumPy out. The loop is
examples/purejaxrl_ppo.py in Experiment 1, whole runs of some rollouts: with nothing, with `pay` alone, and with `pay`
and `learn`. All take turns, so that a disturbance meets each; a figure is the median, the least, and the median of
processor time, which other programs disturb less.

The floor of `pay` is its two decodings: beside it stands the product of their hidden layers with the output layer.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
import purejaxrl_ppo

import ndigo
from ndigo.config import Config, preset
from ndigo.curiosity import PureCuriosity
from ndigo.curiosity.gymnax import CuriousGymnax
from ndigo.curiosity.record import DEFAULT
from ndigo.frames import Frame, tiles
from ndigo.interop.gymnax import GymnaxWorld

WORLD = ndigo.EXPERIMENTS["exp1"].world
COLOURED = [(kind, colour, 0) for kind in (3, 5, 6, 7) for colour in range(6)]
DOORS = [(4, colour, state) for colour in range(6) for state in range(3)]
PLAIN = [(0, 0, 0), (1, 0, 0), (2, 5, 0), (8, 1, 0), (9, 0, 0)]
FRAMES: dict[str, Frame] = {
    "Experiment 1, bits 5x5x3": WORLD.frame,
    "MiniGrid, tiles of 48 kinds 7x7": tiles(listed=COLOURED + DOORS + PLAIN),
    "MiniGrid, all 264 combinations 7x7": tiles(),
}


def some_frames(frame: Frame, *lead: int) -> np.ndarray:
    """Random ones that can occur: tiles of every kind, or walls anywhere and each object in one cell."""
    rng = np.random.default_rng(0)
    if frame is not WORLD.frame:
        kinds = np.array(COLOURED + DOORS + PLAIN, np.uint8)
        return kinds[rng.integers(len(kinds), size=(*lead, *frame.spec.shape[:2]))]
    o = rng.integers(0, 2, (*lead, *frame.spec.shape), np.uint8)
    cells = rng.integers(25, size=(*lead, 1, 1, 2))
    o[..., 1:] = np.arange(25).reshape(5, 5, 1) == cells
    return o


def pay_calls(num_envs: int, reward: str, num_steps: int = 64) -> dict[str, Callable[[], Any]]:
    """One `pay` for each kind of frame; what it keeps for `learn` is dropped."""

    def make(frame: Frame) -> Callable[[], Any]:
        o, step = some_frames(frame, num_steps, num_envs), itertools.count()
        bonus = ndigo.Curiosity(reward, frame, 5, num_envs)
        bonus.reset(o[0])

        def call() -> None:
            bonus.pay(np.zeros(num_envs, int), o[next(step) % num_steps])
            bonus._pending.clear()

        return call

    def decode(frame: Frame) -> Callable[[], Any]:
        """The output layer of the two predictions that NDIGO reads, and nothing else."""
        num_outputs = frame.likelihood(DEFAULT.likelihood).num_outputs
        x, weight = jnp.ones((2, num_envs, DEFAULT.predictor_hidden)), jnp.ones((DEFAULT.predictor_hidden, num_outputs))
        return lambda: jax.block_until_ready(_product(x, weight))

    calls = {name: make(frame) for name, frame in FRAMES.items()}
    return calls | {f"{name}, floor": decode(frame) for name, frame in FRAMES.items()}


_product = jax.jit(jnp.matmul)


class NoState(NamedTuple):
    params: Any = ()


def nothing(curiosity: PureCuriosity) -> PureCuriosity:
    """Pays 0 and learns nothing: the loop by itself."""

    def pay(params: Any, carry: Any, a_t: Any, o_tp1: Any, is_first: Any, o_last: Any = None) -> Any:
        return carry, jnp.zeros(jnp.shape(a_t)), jnp.zeros((*jnp.shape(a_t), 1))

    return dataclasses.replace(
        curiosity, init=lambda key, num_envs: NoState(), start=lambda num_envs: (), pay=pay, learn=unlearned
    )


def unlearned(key: Any, state: Any, *_: Any, **__: Any) -> Any:
    return state, ()


def loops(reward: str, config: Config, num_envs: int, T: int, num_rollouts: int) -> dict[str, Callable[[], Any]]:
    whole = ndigo.curiosity(reward, WORLD.frame, WORLD.num_actions, config)
    kinds = {
        "PPO alone": nothing(whole),
        "PPO and pay": dataclasses.replace(whole, learn=unlearned),
        "PPO, pay and learn": whole,
    }

    def make(curiosity: PureCuriosity) -> Callable[[], Any]:
        env = CuriousGymnax(GymnaxWorld(WORLD), curiosity)
        # With the frames, which the policy led to: else a loop without pay would be optimised away.
        run = jax.jit(lambda key: purejaxrl_ppo.train(key, env, num_envs, T, num_rollouts))
        return lambda: jax.block_until_ready(run(jax.random.key(0)))

    return {name: make(curiosity) for name, curiosity in kinds.items()}


def in_turns(calls: dict[str, Callable[[], Any]], repeats: int) -> dict[str, dict[str, float]]:
    """Milliseconds: the median over the repeats, the least, and the median of processor time."""
    for call in calls.values():
        call()  # compiles
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            began, processor = time.perf_counter(), time.process_time()
            call()
            seconds[name].append((time.perf_counter() - began, time.process_time() - processor))
    times = {}
    for name, taken in seconds.items():
        wall, processor = 1e3 * np.array(taken).T
        times[name] = {"median_ms": float(np.median(wall)), "least_ms": float(wall.min())}
        times[name]["processor_ms"] = float(np.median(processor))
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reward", default="ndigo-4")
    parser.add_argument("--envs", type=int, default=16, help="environments of the loop; `pay` has 16")
    parser.add_argument("--steps", type=int, default=128, help="of a rollout")
    parser.add_argument("--rollouts", type=int, default=4)
    parser.add_argument("--preset", choices=("cpu", "gpu"), default="cpu", help="sizes of the loop's world model")
    parser.add_argument("--repeats", type=int, default=300, help="of `pay`; of the loop 1 for every 60, at least 3")
    parser.add_argument("--only", choices=("pay", "loop"))
    parser.add_argument("--json", type=Path, help="where the figures go")
    args = parser.parse_args()
    report: dict[str, Any] = {"machine": f"{platform.processor()}, {os.cpu_count()} cores, {jax.devices()[0]}"}
    report["load_before"] = os.getloadavg()
    if args.only != "loop":
        report["pay of 16 environments"] = in_turns(pay_calls(16, args.reward), args.repeats)
    if args.only != "pay":
        config = DEFAULT if args.preset == "cpu" else preset("gpu", window=32, replay_steps=1024 * args.steps * 4)
        calls = loops(args.reward, config, args.envs, args.steps, args.rollouts)
        title = f"{args.rollouts} rollouts of {args.steps} steps of {args.envs} environments"
        report[title] = in_turns(calls, max(args.repeats // 60, 3))
    report["load_after"] = os.getloadavg()
    for title, figures in report.items():
        print(title if isinstance(figures, dict) else f"{title}: {figures}")
        for name, figure in figures.items() if isinstance(figures, dict) else ():
            times = (f"{kind} {figure[f'{kind}_ms']:9.3f} ms" for kind in ("median", "least", "processor"))
            print(f"  {name:41}", "   ".join(times))
    if args.json:
        args.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
