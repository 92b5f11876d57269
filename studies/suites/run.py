"""Trains the rows of this study one after another: `python studies/suites/run.py [ROW ...] [--minutes 10]`.

A row is one reward in one world, five seeds. Its run goes to runs/suites/ROW, and what is kept of it to
studies/suites/rows/ROW.json: per seed, means over 100 greedy episodes and over the actors' own. A row is kept when its
steps or its minutes are done, over all sittings; one that was stopped before goes on with the same command. A row that
is kept is not trained again. `--list` names the rows; `--toy` tries them out in a size for a laptop, in folders of
their own.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

import ndigo
from ndigo.errors import NdigoError
from ndigo.paper.experiments import find_world
from ndigo.storage.run_folder import write_whole
from ndigo.worlds.noise import with_noisy_tile

KEPT = Path(__file__).parent / "rows"
RUNS, TOYS = Path("runs/suites"), Path("runs/suites-toy")
REWARDS = ("random", "pe", "icm", "ndigo-1", "ndigo-4")
EPISODES = 100

KEY_CORRIDOR = "navix::Navix-KeyCorridorS3R3-v0"
ASK = 6  # MiniGrid's action "done", which does nothing else there


def noisy(changed_by: int | None) -> Callable[[], ndigo.World]:
    return lambda: with_noisy_tile(find_world(KEY_CORRIDOR), num_values=6, changed_by=changed_by)


def named(name: str) -> Callable[[], ndigo.World]:
    return lambda: find_world(name)


WORLDS: dict[str, Callable[[], ndigo.World]] = {
    "multiroom": named("gymnasium::MiniGrid-MultiRoom-N6-v0"),  # NAVIX has none
    "keycorridor": named(KEY_CORRIDOR),
    "xland-r4": named("xminigrid::XLand-MiniGrid-R4-13x13"),
    "craftax-classic": named("craftax::Craftax-Classic-Symbolic-v1"),
    "craftax": named("craftax::Craftax-Symbolic-v1"),
    "white-noise": noisy(None),
    "staying-noise": noisy(ASK),
}
SEEDS: dict[str, Any] = {"preset": "gpu", "seeds": 5, "seed": 500}
CURIOUS: dict[str, Any] = SEEDS | {"actors": 64, "learner_steps": 8_000}
# 80 rounds of 32 actors and 400 steps: 1,024,000 interactions per seed.
MILLION: dict[str, Any] = SEEDS | {"actors": 32, "round_steps": 400, "updates_per_round": 64, "learner_steps": 80 * 64}
BOTH = {"task_weight": 1.0, "curiosity_weight": 0.1}  # of the task's reward, and of NDIGO's nats
# What --toy has in place of the sizes above: two rounds of a network that learns nothing.
SMALL = {"belief_size": 8, "num_filters": 2, "num_features": 8, "predictor_hidden": 8, "head_hidden": 8, "window": 10}
SHORT = {"seeds": 2, "actors": 2, "round_steps": 20, "updates_per_round": 2, "learner_steps": 4, "replay_steps": 400}
TOY: dict[str, Any] = {"preset": "cpu", "batch": 2, "rounds_per_chunk": 1, "evaluation_episodes": 2} | SMALL | SHORT


@dataclass(frozen=True)
class Row:
    name: str
    world: Callable[[], ndigo.World]
    reward: str
    settings: dict[str, Any] = field(default_factory=dict)


ROWS = [Row(f"{world}-{reward}", make, reward, CURIOUS) for world, make in WORLDS.items() for reward in REWARDS] + [
    Row("craftax-1m-task", WORLDS["craftax"], "task", MILLION),
    Row("craftax-1m-task-ndigo-4", WORLDS["craftax"], "ndigo-4", MILLION | BOTH),
]


def toy(row: Row) -> Row:
    return replace(row, settings=row.settings | TOY)


def train(row: Row, runs: Path, minutes: float) -> ndigo.Run:
    """A new run, or the one that was begun, for at most so many minutes more."""
    path, world = runs / row.name, row.world()
    if (path / "config.json").exists():
        return ndigo.resume(path, world=world, minutes=minutes)
    return ndigo.train(world, row.reward, out=path, minutes=minutes, **row.settings)


def minutes_trained(path: Path) -> float:
    """Of all sittings so far, by the last line of the run's metrics."""
    metrics = path / "metrics.jsonl"
    lines = metrics.read_text(encoding="utf-8").splitlines() if metrics.exists() else []
    return json.loads(lines[-1])["seconds"] / 60 if lines else 0.0


def keep(row: Row, run: ndigo.Run, kept: Path, episodes: int = EPISODES) -> Path:
    """Per seed: the mean over greedy episodes of each number, and of the actors' finished ones."""
    found, line = run.evaluate(episodes), run.metrics()[-1]
    numbers = {name: np.asarray(x).mean(axis=1).tolist() for name, x in vars(found).items() if x is not None}
    row_numbers = {
        "row": row.name,
        "world": run.world.name,
        "reward": row.reward,
        "config": vars(run.config),
        "step": line["step"],
        "world_steps": line["world_steps"],
        "seconds": line["seconds"],
        "channels": [channel.name for channel in run.world.channels],
        "events": list(run.world.events),
        "episodes": episodes,
        "greedy": numbers,
        "acting": line["acting"],
    }
    kept.mkdir(parents=True, exist_ok=True)
    path = kept / f"{row.name}.json"
    write_whole(path, (json.dumps(row_numbers, indent=1) + "\n").encode())
    return path


def work(rows: Sequence[Row], runs: Path, kept: Path, minutes: float, total: float, episodes: int = EPISODES) -> None:
    """Row after row; none is begun when `total` minutes are over, and one that they cut short is not kept yet."""
    ends = time.monotonic() + 60 * total
    for row in rows:
        if (kept / f"{row.name}.json").exists():
            print(f"{row.name}: kept already")
            continue
        left = (ends - time.monotonic()) / 60
        if left <= 0:
            print(f"{row.name}: not begun, {total:g} minutes are over")
            return
        of_row = max(minutes - minutes_trained(runs / row.name), 0)
        try:
            run = train(row, runs, min(of_row, left))
        except NdigoError as error:
            print(f"{row.name}: {error}", flush=True)
            continue
        assert run.outcome is not None
        if run.outcome.why not in ("finished", "time"):
            print(f"{row.name}: stopped by {run.outcome.why}")
            return
        if run.outcome.why == "time" and left < of_row:
            print(f"{row.name}: cut short, {total:g} minutes are over; the same command goes on")
            return
        print(f"{row.name}: {keep(row, run, kept, episodes)}", flush=True)


def chosen(patterns: Sequence[str]) -> list[Row]:
    found = [row for row in ROWS if not patterns or any(fnmatch.fnmatch(row.name, p) for p in patterns)]
    if not found:
        raise SystemExit(f"no row is called {' or '.join(patterns)}; --list names them")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW", help="names, or patterns as 'craftax-*'; all without")
    parser.add_argument("--minutes", type=float, default=10, help="of training, for each row")
    parser.add_argument("--total", type=float, default=24 * 60, help="minutes of the whole command")
    parser.add_argument("--toy", action="store_true", help="a try-out: tiny networks, four updates, two episodes")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    if args.list:
        print("\n".join(row.name for row in chosen(args.rows)))
        return
    if args.toy:
        work([toy(row) for row in chosen(args.rows)], TOYS / "runs", TOYS / "rows", args.minutes, args.total, 2)
    else:
        work(chosen(args.rows), RUNS, KEPT, args.minutes, args.total)


if __name__ == "__main__":
    main()
