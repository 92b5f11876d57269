"""What the mesh costs on one device, and how many seeds one device is best used with.

    python benchmarks/sharding.py overhead --json overhead.json          # a mesh of one device beside no mesh
    python benchmarks/sharding.py seeds --json seeds.json                # memory and speed against seeds

`overhead` runs the same rounds with and without a mesh in turns, the first of each pair being the second of the next,
so that a disturbance meets both. It prints the median of the ratio of their times, with a 95% bootstrap interval.

`seeds` trains more and more until the device is full. Each count is a process of its own, so that its peak of memory
is its own. All compile side by side first, and are timed one after the other. Memory is what XLA asked for at most, of
the 95% of the device that each may take.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ndigo.config import Config, preset
from ndigo.devices.mesh import make_mesh
from ndigo.naming import default_preset
from ndigo.paper.experiments import EXPERIMENTS
from ndigo.rewards import make_reward
from ndigo.training.rounds import RunRounds, TrainState, in_rounds
from ndigo.training.trainer import make_trainer

WORLD, REWARD = EXPERIMENTS["exp1"].world, make_reward("ndigo-4")
COUNTS = (1, 2, 5, 10, 20, 40, 80, 160, 240, 320, 480, 640)
ALLOCATION = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "XLA_PYTHON_CLIENT_MEM_FRACTION": "0.95"}
COMPILING = 0.6  # of the minutes, at most
NEAR = 0.95  # of the best speed


@dataclass(frozen=True)
class Compiled:
    """A run's programs, compiled before anything lies on the device."""

    init: Callable[[Any], TrainState]
    run_rounds: RunRounds
    num_instructions: int  # of acting and learning, after optimisation


def compile_run(config: Config, mesh: Any) -> Compiled:
    """Acting and learning compiled side by side, from the shapes alone."""
    trainer, key = make_trainer(config, WORLD, REWARD, mesh), jax.random.key(0)
    init: Any = trainer.init
    init = init.lower(key).compile()

    def shape(x: Any, lies: Any) -> Any:
        return jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=None if mesh is None else lies)

    state = jax.tree.map(shape, jax.eval_shape(trainer.init, key), init.output_shardings)
    programs: list[tuple[Any, tuple[Any, ...]]] = [
        (trainer.collect_round, (state.key, state.learner.params, state.rows, state.crowd, {})),
        (trainer.learn, (state.learner, state.rows, state.key, {})),
    ]
    with ThreadPoolExecutor() as threads:
        act, learn = threads.map(lambda program: program[0].lower(*program[1]).compile(), programs)
    num_instructions = sum(text.count(" = ") for text in (act.as_text(), learn.as_text()))
    return Compiled(init, in_rounds(act, learn, {}), num_instructions)


def timer(run: Compiled) -> Callable[[int], float]:
    """Seconds of so many rounds, between two visits to the host as in a run; called twice beforehand."""
    state = [run.init(jax.random.key(0))]

    def seconds(count: int) -> float:
        began = time.perf_counter()
        state[0], _ = run.run_rounds(state[0], count)
        return time.perf_counter() - began

    for _ in range(2):
        seconds(1)
    return seconds


def overhead(config: Config, args: argparse.Namespace, began: float) -> dict[str, Any]:
    """A mesh of one device beside no mesh, in turns, until the minutes are over."""
    with ThreadPoolExecutor() as threads:
        runs = list(threads.map(lambda mesh: compile_run(config, mesh), [None, make_mesh()]))
    compiled_s = time.monotonic() - began
    timers, pairs = [timer(run) for run in runs], []
    while len(pairs) < args.repeats and (len(pairs) < 3 or time.monotonic() - began < 60 * args.minutes):
        order = (0, 1) if len(pairs) % 2 == 0 else (1, 0)
        took = {which: timers[which](args.rounds) for which in order}
        pairs.append((took[0], took[1]))
    ms = 1e3 * np.array(pairs) / args.rounds / config.updates_per_round
    return {
        "seeds": config.seeds,
        "plain_ms": float(np.median(ms[:, 0])),
        "meshed_ms": float(np.median(ms[:, 1])),
        **ratios(ms),
        "pairs": len(pairs),
        "rounds": args.rounds,
        "instructions": [run.num_instructions for run in runs],
        "compile_s": compiled_s,
        "each_ms": np.round(ms, 5).tolist(),
    }


def ratios(pairs: np.ndarray) -> dict[str, Any]:
    """The median of second over first, its quartiles, and the median's 95% bootstrap interval."""
    ratio = pairs[:, 1] / pairs[:, 0]
    drawn = np.random.default_rng(0).choice(ratio, (10_000, len(ratio)))
    return {
        "ratio": float(np.median(ratio)),
        "ratio_quartiles": np.percentile(ratio, [25, 75]).tolist(),
        "ratio_interval": np.percentile(np.median(drawn, axis=1), [2.5, 97.5]).tolist(),
    }


def one_count(config: Config, args: argparse.Namespace, began: float) -> dict[str, Any]:
    """Speed and memory of one number of seeds; timed when a line comes in."""
    run = compile_run(config, None)
    compiled_s = time.monotonic() - began
    print("ready", flush=True)
    if not sys.stdin.readline():
        sys.exit("whoever asked is gone")
    seconds = timer(run)
    count = max(1, min(config.rounds_per_chunk, int(0.5 / seconds(1))))  # within half a second
    began, times = time.monotonic(), []
    while len(times) < 3 or (len(times) < args.repeats and time.monotonic() - began < args.seconds):
        times.append(seconds(count) / count)
    low, median, high = np.percentile(times, [25, 50, 75])
    memory = jax.devices()[0].memory_stats() or {}
    return {
        "seeds": config.seeds,
        "ms": 1e3 * median / config.updates_per_round,
        "ms_quartiles": [1e3 * x / config.updates_per_round for x in (low, high)],
        "transitions_per_s": config.seeds * config.batch * config.window * config.updates_per_round / median,
        "peak_bytes": memory.get("peak_bytes_in_use"),
        "limit_bytes": memory.get("bytes_limit"),
        "compile_s": compiled_s,
        "device": jax.devices()[0].device_kind,
    }


def against_seeds(args: argparse.Namespace, began: float) -> dict[str, Any]:
    """More and more seeds, until so many do not fit or the minutes are over; and how many are the best use."""
    counts = [count for count in COUNTS if count <= args.most]
    words = [sys.executable, __file__, "one", "--repeats", str(args.repeats), "--seconds", str(args.seconds)]
    words += ["--preset", args.preset] if args.preset else []
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        workers = {count: start([*words, "--seeds", str(count)], Path(folder, str(count))) for count in counts}
        try:
            for count, worker in workers.items():
                assert worker.stdout is not None
                left = began + COMPILING * 60 * args.minutes - time.monotonic()
                if not select.select([worker.stdout], [], [], max(left, 0))[0]:
                    print(f"{count} seeds: not compiled in time", flush=True)
                    worker.kill()  # or it would disturb the others' times
                    counts.remove(count)
            print(f"compiled after {time.monotonic() - began:.0f} s", flush=True)
            for count in counts:
                left = began + 60 * args.minutes - time.monotonic()
                out, _ = workers[count].communicate("go\n", timeout=max(left, 0))
                if workers[count].returncode:
                    lines = Path(folder, str(count)).read_text(errors="replace").strip().splitlines()
                    print(f"{count} seeds do not fit, or fail: {lines[-1] if lines else 'without a word'}")
                    break
                found.append(json.loads(out.splitlines()[-1]))
                print(found[-1], flush=True)
        except subprocess.TimeoutExpired:
            print("the minutes are over")
        finally:
            for worker in workers.values():
                worker.kill()
    return {"counts": found, "best": best_use(found)}


def start(words: list[str], errors: Path) -> subprocess.Popen[str]:
    with errors.open("w") as file:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": file}
        return subprocess.Popen(words, text=True, env=ALLOCATION | os.environ, **pipes)


def best_use(found: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The fastest count, and the fewest seeds that come near its speed."""
    if not found:
        return None
    fastest = max(found, key=lambda one: one["transitions_per_s"])
    enough = next(one for one in found if one["transitions_per_s"] >= NEAR * fastest["transitions_per_s"])
    return {"fastest": fastest["seeds"], f"within_{NEAR:.0%}": enough["seeds"]}


def main() -> None:
    began = time.monotonic()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("overhead", "seeds", "one"))
    parser.add_argument("--preset", help="without it gpu where JAX finds one, else cpu")
    parser.add_argument("--seeds", type=int, help="of `overhead`; without it the preset's")
    parser.add_argument("--most", type=int, default=320, help="of `seeds`")
    parser.add_argument("--minutes", type=float, default=2.5, help="for all of it, with compiling")
    parser.add_argument("--seconds", type=float, default=3, help="of `seeds`, to time one count for")
    parser.add_argument("--repeats", type=int, default=200, help="timings at most")
    parser.add_argument("--rounds", type=int, default=2, help="of `overhead`, in one timing")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    if args.what == "seeds":  # before JAX looks at the device, which would take its memory from the others
        found = against_seeds(args, began)
        device = found["counts"][0]["device"] if found["counts"] else None
    else:
        config = preset(args.preset or default_preset(), **({} if args.seeds is None else {"seeds": args.seeds}))
        found = {"overhead": overhead, "one": one_count}[args.what](config, args, began)
        device = jax.devices()[0].device_kind
    shown = {name: value for name, value in found.items() if name not in ("each_ms", "counts")}
    print(json.dumps(found if args.what == "one" else shown))
    if args.json is not None:
        about = {"device": device, "jax": jax.__version__, "preset": args.preset or "the device's"}
        args.json.write_text(json.dumps({"about": about, "found": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
