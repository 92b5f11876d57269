"""What the mesh costs on one device, and how many seeds one device is best used with.

    python benchmarks/sharding.py overhead --json overhead.json          # a mesh of one device beside no mesh
    python benchmarks/sharding.py seeds --json seeds.json                # memory and speed against seeds

`overhead` runs the same rounds with and without a mesh in turns, so that a disturbance meets both, and prints the
median of the ratio of their times. `seeds` trains more and more until the device is full; each count is a process of
its own, so that its peak of memory is its own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ndigo.api import default_preset
from ndigo.config import Config, preset
from ndigo.devices.mesh import make_mesh
from ndigo.paper.experiments import EXPERIMENTS
from ndigo.rewards import make_reward
from ndigo.training.trainer import make_trainer

WORLD, REWARD = EXPERIMENTS["exp1"].world, make_reward("ndigo-4")
MOST_SEEDS = 640


def rounds(config: Config, mesh: Any) -> Callable[[int], float]:
    """Seconds of so many rounds, between two visits to the host as in a run; compiled by two calls."""
    trainer = make_trainer(config, WORLD, REWARD, mesh)
    state = [trainer.init(jax.random.key(0))]

    def seconds(count: int) -> float:
        began = time.perf_counter()
        state[0], _ = trainer.run_rounds(state[0], count)
        return time.perf_counter() - began

    for _ in range(2):
        seconds(1)
    return seconds


def overhead(config: Config, repeats: int, count: int) -> dict[str, Any]:
    """A mesh of one device beside no mesh, in turns."""
    plain, meshed = rounds(config, None), rounds(config, make_mesh())
    pairs = np.array([(plain(count), meshed(count)) for _ in range(repeats)]) / count / config.updates_per_round
    low, median, high = np.percentile(pairs[:, 1] / pairs[:, 0], [25, 50, 75])
    plain_ms, meshed_ms = 1e3 * np.median(pairs, axis=0)
    return {"plain_ms": plain_ms, "meshed_ms": meshed_ms, "ratio": median, "ratio_low": low, "ratio_high": high}


def one_count(config: Config, repeats: int, count: int) -> dict[str, Any]:
    """Speed and memory of one number of seeds."""
    seconds = rounds(config, None)
    per_update = np.median([seconds(count) for _ in range(repeats)]) / count / config.updates_per_round
    peak = (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use")
    transitions = config.seeds * config.batch * config.window / per_update
    return {"seeds": config.seeds, "ms": 1e3 * per_update, "transitions_per_s": transitions, "peak_bytes": peak}


def against_seeds(args: argparse.Namespace) -> list[dict[str, Any]]:
    """One, two, five, ten, twenty ... seeds, until one does not fit."""
    counts = [n * 10**i for i in range(3) for n in (1, 2, 5)]
    found = []
    for seeds in [n for n in counts if n <= args.most]:
        words = [
            sys.executable,
            __file__,
            "one",
            "--seeds",
            str(seeds),
            *(["--preset", args.preset] if args.preset else []),
        ]
        words += ["--repeats", str(args.repeats), "--rounds", str(args.rounds)]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            print(f"{seeds} seeds do not fit, or fail: {done.stderr.strip().splitlines()[-1]}")
            break
        found.append(json.loads(done.stdout.splitlines()[-1]))
        print(found[-1], flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("overhead", "seeds", "one"))
    parser.add_argument("--preset", help="without it gpu where JAX finds one, else cpu")
    parser.add_argument("--seeds", type=int, help="without it the preset's")
    parser.add_argument("--most", type=int, default=MOST_SEEDS, help="of `seeds`")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=10, help="in one timing")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    if args.what == "seeds":  # before JAX looks at the device, which would take its memory from the others
        found: Any = against_seeds(args)
    else:
        config = preset(args.preset or default_preset(), **({} if args.seeds is None else {"seeds": args.seeds}))
        found = {"overhead": overhead, "one": one_count}[args.what](config, args.repeats, args.rounds)
        print(json.dumps(found))
    if args.json is not None:
        args.json.write_text(json.dumps({"device": jax.devices()[0].device_kind, "found": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
