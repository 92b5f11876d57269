"""What curiosity costs: one `pay` of 16 environments, and a PPO loop in one jit with and without it.

    python benchmarks/curiosity.py                        # `pay` on this machine, then the loop with 16 environments
    python benchmarks/curiosity.py --only loop --envs 1024 --preset gpu --learn 8x128 16x64 --json curiosity.json  # GPU

`pay` is timed as a host's loop calls it (`ndigo.Curiosity.pay`): NumPy in, checked, NumPy out. All take turns, so that
a disturbance meets each; a figure is the median, the least, and the median of processor time, which other programs
disturb less.

The loop is PPO in one jit, in Experiment 1: rollouts of 128 steps, four epochs of eight minibatches, two layers of 256
units (studies/minigrid-ppo/ppo.py). It runs without its update, by itself, with `pay` inside the scan over steps, with
`pay_rollout` after it, and with that and `learn`. Differences of medians answer what each costs:

    PPO's own update        PPO alone - PPO without its update
    curiosity, the whole    PPO, pay_rollout and learn - PPO alone

What `learn` costs is a matter of its settings: `--learn 8x128` are 8 updates of the world model after a rollout, each
of 128 windows of 32 steps. Beside its time stands how often it sees a step of the rollout, on average; PPO sees each in
every epoch. `--watch 100` goes on for so many rollouts, and says what the world model then loses per frame.

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
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "studies" / "minigrid-ppo"))
import ppo  # pyright: ignore[reportMissingImports]

import ndigo
from ndigo.config import preset
from ndigo.curiosity import PureCuriosity
from ndigo.curiosity.pending import Pending
from ndigo.curiosity.record import DEFAULT
from ndigo.frames import Frame, tiles
from ndigo.interop.suites.minigrid_view import minigrid_tiles

WORLD = ndigo.EXPERIMENTS["exp1"].world
WINDOW = 32  # steps in a window of the world model's replay
KINDS = [tile for tile in minigrid_tiles(6) if tile[0] != 10]  # a partial view does not show the agent itself
FRAMES: dict[str, Frame] = {
    "Experiment 1, bits 5x5x3": WORLD.frame,
    "MiniGrid, tiles of 48 kinds 7x7": tiles(listed=KINDS),
    "MiniGrid, all 264 combinations 7x7": tiles(),
}


def some_frames(frame: Frame, *lead: int) -> np.ndarray:
    """Random ones that can occur: tiles of every kind, or walls anywhere and each object in one cell."""
    rng = np.random.default_rng(0)
    if frame is not WORLD.frame:
        kinds = np.array(KINDS, np.uint8)
        return kinds[rng.integers(len(kinds), size=(*lead, *frame.spec.shape[:2]))]
    o = rng.integers(0, 2, (*lead, *frame.spec.shape), np.uint8)
    cells = rng.integers(25, size=(*lead, 1, 1, 2))
    o[..., 1:] = np.arange(25).reshape(5, 5, 1) == cells
    return o


def pay_calls(num_envs: int, reward: str, num_steps: int = 64) -> dict[str, Callable[[], Any]]:
    """One `pay` for each kind of frame; what it keeps for `learn` is dropped."""

    def make(frame: Frame) -> Callable[[], Any]:
        o, step = some_frames(frame, num_steps, num_envs), itertools.count()
        curiosity = ndigo.Curiosity(reward, frame, 5, num_envs)
        curiosity.reset(o[0])

        def call() -> None:
            curiosity.pay(np.zeros(num_envs, int), o[next(step) % num_steps])
            curiosity._pending = Pending()

        return call

    def decode(frame: Frame) -> Callable[[], Any]:
        """The output layer of the two predictions that NDIGO reads, and nothing else."""
        num_outputs = frame.likelihood(DEFAULT.likelihood).num_outputs
        x, weight = jnp.ones((2, num_envs, DEFAULT.predictor_hidden)), jnp.ones((DEFAULT.predictor_hidden, num_outputs))
        return lambda: jax.block_until_ready(_product(x, weight))

    calls = {name: make(frame) for name, frame in FRAMES.items()}
    return calls | {f"{name}, floor": decode(frame) for name, frame in FRAMES.items()}


_product = jax.jit(jnp.matmul)


class Amount(NamedTuple):
    """What `learn` does after a rollout."""

    updates: int
    windows: int  # of each update

    @property
    def name(self) -> str:
        return f"learn {self.updates}x{self.windows}"

    @staticmethod
    def parse(text: str) -> Amount:
        updates, windows = map(int, text.split("x"))
        return Amount(updates, windows)


class Loop(NamedTuple):
    """Some rollouts in one program, and what they begin with."""

    run: Callable[[ppo.Carry, int], tuple[ppo.Carry, dict[str, Any]]]
    carry: ppo.Carry

    def __call__(self) -> Any:
        return jax.block_until_ready(self.run(self.carry, 0))


def unlearned(key: Any, state: Any, *_: Any, **__: Any) -> Any:
    return state, ()


def loops(
    curiosities: dict[Amount, PureCuriosity], settings: ppo.Settings, num_rollouts: int
) -> tuple[dict[str, Loop], float]:
    """Whole runs of some rollouts, all from one beginning; and in how many seconds they were compiled."""
    began, whole = time.perf_counter(), next(iter(curiosities.values()))
    paying = dataclasses.replace(whole, learn=unlearned)
    carry = jax.jit(lambda key: ppo.begin(key, WORLD, whole, settings))(jax.random.key(0))
    alone = carry._replace(curiosity=None, flights=None)
    kinds: dict[str, tuple[PureCuriosity | None, ppo.Settings, ppo.Carry]] = {
        "PPO without its update": (None, settings._replace(epochs=0), alone),
        "PPO alone": (None, settings, alone),
        "PPO, pay in the scan": (paying, settings._replace(pays_within=True), carry),
        "PPO, pay_rollout": (paying, settings, carry),
        **{f"PPO, pay_rollout, {amount.name}": (each, settings, carry) for amount, each in curiosities.items()},
    }

    def traced(curiosity: PureCuriosity | None, settings: ppo.Settings, carry: ppo.Carry) -> Any:
        def run(carry: ppo.Carry, number: Any) -> Any:
            def body(carry: ppo.Carry, key: Any) -> Any:
                return ppo.rollout(key, carry, WORLD, curiosity, settings)

            keys = jax.random.split(jax.random.fold_in(jax.random.key(1), number), num_rollouts)
            return jax.lax.scan(body, carry, keys)

        return jax.jit(run).lower(carry, 0)

    # One before the others, which then find the kernels that XLA has chosen for what they share.
    *others, largest = kinds.values()
    first = traced(*largest).compile()
    with ThreadPoolExecutor() as threads:
        programs = [*threads.map(lambda kind: traced(*kind).compile(), others), first]
    compiled = {name: Loop(run, kinds[name][2]) for name, run in zip(kinds, programs, strict=True)}
    return compiled, time.perf_counter() - began


def differences(times: dict[str, dict[str, float]], num_rollouts: int, amounts: Sequence[Amount]) -> dict[str, float]:
    """Milliseconds per rollout, of medians."""
    ms = {name: figure["median_ms"] / num_rollouts for name, figure in times.items()}
    learning = {amount: ms[f"PPO, pay_rollout, {amount.name}"] for amount in amounts}
    return {
        "environment and policy": ms["PPO without its update"],
        "PPO's own update": ms["PPO alone"] - ms["PPO without its update"],
        "pay, in the scan": ms["PPO, pay in the scan"] - ms["PPO alone"],
        "pay_rollout, after it": ms["PPO, pay_rollout"] - ms["PPO alone"],
        **{amount.name: whole - ms["PPO, pay_rollout"] for amount, whole in learning.items()},
        **{f"pay_rollout and {amount.name}": whole - ms["PPO alone"] for amount, whole in learning.items()},
    }


def steps_seen(settings: ppo.Settings, amounts: Sequence[Amount]) -> dict[str, dict[str, float]]:
    """Of each rollout: the updates, the steps in each, and how often they see a step on average."""
    in_rollout = settings.num_envs * settings.num_steps
    ppo_updates = settings.epochs * settings.minibatches
    seen = {"PPO": (ppo_updates, in_rollout // settings.minibatches)}
    seen |= {amount.name: (amount.updates, amount.windows * WINDOW) for amount in amounts}
    return {
        name: {"updates": updates, "steps_of_each": steps, "passes": updates * steps / in_rollout}
        for name, (updates, steps) in seen.items()
    }


def model_losses(compiled: dict[str, Loop], amounts: Sequence[Amount], num_calls: int) -> dict[str, float]:
    """What the world model loses one step ahead, in nats per frame, in the last of so many calls of each loop."""
    losses = {}
    for amount in amounts:
        run, carry = compiled[f"PPO, pay_rollout, {amount.name}"]
        for number in range(num_calls):
            carry, numbers = run(carry, number)
            losses[amount.name] = numbers["model_loss"]
    return {name: float(loss.mean()) for name, loss in losses.items()}


def in_turns(
    calls: Mapping[str, Callable[[], Any]], repeats: int, most_seconds: float = float("inf")
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
    learn = {"nargs": "+", "type": Amount.parse, "default": [Amount(16, 16)], "metavar": "UPDATESxWINDOWS"}
    parser.add_argument("--learn", **learn, help="of the world model, after each rollout; a loop for each")
    parser.add_argument("--watch", type=int, default=0, help="rollouts after which the world model's loss is read")
    parser.add_argument("--repeats", type=int, default=300, help="of `pay`; of the loop 1 for every 60, at least 3")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="of the loop's turns, once compiled")
    parser.add_argument("--only", choices=("pay", "loop"))
    parser.add_argument("--plain", action="store_true", help="the loop's world model without its fast kernels")
    parser.add_argument("--json", type=Path, help="where the figures go")
    return parser.parse_args()


def time_loops(args: argparse.Namespace) -> dict[str, Any]:
    sizes = {"window": WINDOW, "num_ahead": 5, "replay_steps": args.envs * args.steps * 4, "plain": args.plain}

    def curiosity(amount: Amount) -> PureCuriosity:
        config = preset(args.preset, **sizes, batch=amount.windows, updates_per_round=amount.updates)
        return ndigo.curiosity(args.reward, WORLD.frame, WORLD.num_actions, config)

    settings = ppo.Settings(num_envs=args.envs, num_steps=args.steps)
    compiled, seconds = loops({amount: curiosity(amount) for amount in args.learn}, settings, args.rollouts)
    title = f"{args.rollouts} rollouts of {args.steps} steps of {args.envs} environments"
    times = in_turns(compiled, max(args.repeats // 60, 3), args.seconds)
    report: dict[str, Any] = {"compile_s": seconds, "per rollout": steps_seen(settings, args.learn), title: times}
    report["milliseconds per rollout"] = differences(times, args.rollouts, args.learn)
    if num_calls := args.watch // args.rollouts:
        watched = num_calls * args.rollouts
        report[f"nats per frame after {watched} rollouts"] = model_losses(compiled, args.learn, num_calls)
    return report


def shown(name: str, figure: Any) -> str:
    """A line of the printed report."""
    if not isinstance(figure, dict):
        return f"  {name:41} {figure:9.3f}"
    return f"  {name:41} " + "   ".join(f"{kind.removesuffix('_ms')} {x:9.3f}" for kind, x in figure.items())


def main() -> None:
    args = parse()
    report: dict[str, Any] = {"machine": f"{platform.processor()}, {os.cpu_count()} cores, {jax.devices()[0]}"}
    report["load_before"] = os.getloadavg()
    if args.only != "loop":
        report["pay of 16 environments"] = in_turns(pay_calls(16, args.reward), args.repeats)
    if args.only != "pay":
        report["settings"] = {name: x for name, x in vars(args).items() if name not in ("json", "learn")}
        report |= time_loops(args)
    report["load_after"] = os.getloadavg()
    if args.json:
        args.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    for title, figures in report.items():
        if title == "settings" or not isinstance(figures, dict):
            print(f"{title}: {figures}")
        else:
            print(title, *(shown(*row) for row in figures.items()), sep="\n")


if __name__ == "__main__":
    main()
