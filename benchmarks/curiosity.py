"""What curiosity costs: one `pay` of 16 environments, and a PPO loop in one jit with and without it.

    python benchmarks/curiosity.py                        # `pay` on this machine, then the loop with 16 environments
    python benchmarks/curiosity.py --only loop --envs 1024 --preset gpu --json curiosity.json     # as on a GPU

`pay` is timed as a host's loop calls it (`ndigo.Curiosity.pay`): NumPy in, checked, NumPy out. All take turns, so that
a disturbance meets each; a figure is the median, the least, and the median of processor time, which other programs
disturb less.

The loop is PPO in one jit, in Experiment 1: rollouts of 128 steps, four epochs of eight minibatches, two layers of 256
units (studies/minigrid-ppo/ppo.py). It runs without its update, by itself, with `pay`, and with `pay` and `learn`. Two
differences of medians answer what curiosity costs:

    PPO's own update        PPO alone - PPO without its update
    curiosity, the whole    PPO, pay and learn - PPO alone

What `learn` costs is a matter of its settings: how many updates of the world model follow a rollout (`--updates`), and
of how many windows each (`--batch`, of 32 steps). As many windows as a rollout has are one pass over what was seen.

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
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "studies" / "minigrid-ppo"))
import ppo  # pyright: ignore[reportMissingImports]

import ndigo
from ndigo.config import preset
from ndigo.curiosity import PureCuriosity
from ndigo.curiosity.record import DEFAULT
from ndigo.frames import Frame, tiles

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


def unlearned(key: Any, state: Any, *_: Any, **__: Any) -> Any:
    return state, ()


def loops(whole: PureCuriosity, settings: ppo.Settings, num_rollouts: int) -> dict[str, Callable[[], Any]]:
    """Whole runs of some rollouts, each from its own beginning."""
    kinds = {
        "PPO without its update": (None, settings._replace(epochs=0)),
        "PPO alone": (None, settings),
        "PPO and pay": (dataclasses.replace(whole, learn=unlearned), settings),
        "PPO, pay and learn": (whole, settings),
    }

    def make(curiosity: PureCuriosity | None, settings: ppo.Settings) -> Callable[[], Any]:
        carry = jax.jit(lambda key: ppo.begin(key, WORLD, curiosity, settings))(jax.random.key(0))

        @jax.jit
        def run(carry: ppo.Carry) -> Any:
            def body(carry: ppo.Carry, key: Any) -> Any:
                return ppo.rollout(key, carry, WORLD, curiosity, settings)

            return jax.lax.scan(body, carry, jax.random.split(jax.random.key(1), num_rollouts))

        return lambda: jax.block_until_ready(run(carry))

    return {name: make(*kind) for name, kind in kinds.items()}


def differences(times: dict[str, dict[str, float]], num_rollouts: int) -> dict[str, float]:
    """Milliseconds per rollout, of medians."""
    ms = {name: figure["median_ms"] / num_rollouts for name, figure in times.items()}
    return {
        "PPO's own update": ms["PPO alone"] - ms["PPO without its update"],
        "curiosity: pay": ms["PPO and pay"] - ms["PPO alone"],
        "curiosity: learn": ms["PPO, pay and learn"] - ms["PPO and pay"],
        "curiosity, the whole": ms["PPO, pay and learn"] - ms["PPO alone"],
    }


def in_turns(
    calls: dict[str, Callable[[], Any]], repeats: int, most_seconds: float = float("inf")
) -> dict[str, dict[str, float]]:
    """Milliseconds: the median over the repeats, the least, and the median of processor time.

    At least three repeats; no more begin when so many seconds are over.
    """
    for call in calls.values():
        call()  # compiles
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    start = time.perf_counter()
    for repeat in range(repeats):
        if repeat >= 3 and time.perf_counter() - start > most_seconds:
            break
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


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reward", default="ndigo-4")
    parser.add_argument("--envs", type=int, default=16, help="environments of the loop; `pay` has 16")
    parser.add_argument("--steps", type=int, default=128, help="of a rollout")
    parser.add_argument("--rollouts", type=int, default=4)
    parser.add_argument("--preset", choices=("cpu", "gpu"), default="cpu", help="sizes of the loop's world model")
    parser.add_argument("--updates", type=int, default=16, help="of the world model, after each rollout")
    parser.add_argument("--batch", type=int, default=64, help="windows in each of them")
    parser.add_argument("--repeats", type=int, default=300, help="of `pay`; of the loop 1 for every 60, at least 3")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="of the loop's turns, once compiled")
    parser.add_argument("--only", choices=("pay", "loop"))
    parser.add_argument("--plain", action="store_true", help="the loop's world model without its fast kernels")
    parser.add_argument("--json", type=Path, help="where the figures go")
    return parser.parse_args()


def main() -> None:
    args = parse()
    report: dict[str, Any] = {"machine": f"{platform.processor()}, {os.cpu_count()} cores, {jax.devices()[0]}"}
    report["load_before"] = os.getloadavg()
    if args.only != "loop":
        report["pay of 16 environments"] = in_turns(pay_calls(16, args.reward), args.repeats)
    if args.only != "pay":
        sizes = {"window": 32, "batch": args.batch, "updates_per_round": args.updates, "num_ahead": 5}
        config = preset(args.preset, replay_steps=args.envs * args.steps * 4, plain=args.plain, **sizes)
        curiosity = ndigo.curiosity(args.reward, WORLD.frame, WORLD.num_actions, config)
        settings = ppo.Settings(num_envs=args.envs, num_steps=args.steps)
        report["settings"] = {name: x for name, x in vars(args).items() if name != "json"}
        calls = loops(curiosity, settings, args.rollouts)
        title = f"{args.rollouts} rollouts of {args.steps} steps of {args.envs} environments"
        report[title] = in_turns(calls, max(args.repeats // 60, 3), args.seconds)
        report["milliseconds per rollout"] = differences(report[title], args.rollouts)
    report["load_after"] = os.getloadavg()
    if args.json:
        args.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    for title, figures in report.items():
        print(title if title.endswith(("environments", "rollout")) else f"{title}: {figures}")
        for name, figure in figures.items() if title.endswith(("environments", "rollout")) else ():
            of = figure if isinstance(figure, dict) else {"median_ms": figure}
            times = (f"{kind.removesuffix('_ms')} {ms:9.3f} ms" for kind, ms in of.items())
            print(f"  {name:41}", "   ".join(times))


if __name__ == "__main__":
    main()
