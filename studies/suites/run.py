"""Trains the rows of this study one after another: `python studies/suites/run.py [ROW ...] [--minutes 60]`.

A row is one reward in one world, five seeds. Its run goes to runs/suites/ROW, and what is kept of it to
studies/suites/rows/ROW.json: per seed, means over the 100 greedy episodes that a run ends with, and over the actors'
own. A row that `--total` or a signal cuts short is kept as far as it came, and goes on with the same command: its
minutes count over all sittings. `--keep` trains nothing, and keeps what runs under way have come to. `--list` names the
rows; `--toy` tries them out in a size for a laptop, in folders of their own.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

import ndigo
from ndigo.api import create_run
from ndigo.errors import NdigoError, first_line
from ndigo.interop.finding import find_world
from ndigo.interop.suites import from_xminigrid
from ndigo.storage.run_folder import RunFolder, write_whole
from ndigo.worlds.noise import with_noisy_tile

KEPT = Path(__file__).parent / "rows"
RUNS, TOYS = Path("runs/suites"), Path("runs/suites-toy")
REWARDS = ("random", "pe", "icm", "ndigo-1", "ndigo-4")
LEAST = 0.25  # of a row's minutes that must be left of the whole command's for it to begin: it compiles first

KEY_CORRIDOR = "navix::Navix-KeyCorridorS3R3-v0"
ASK = 6  # MiniGrid's action "done", which does nothing else there


Named = str | Callable[[], ndigo.World]


def noisy(changed_by: int | None) -> Callable[[], ndigo.World]:
    # One record for all rows of a process, which is tried once.
    return cache(lambda: with_noisy_tile(find_world(KEY_CORRIDOR), num_values=6, changed_by=changed_by))


@cache
def rooms_with_a_rule() -> ndigo.World:
    """Four rooms where a square beside a pyramid becomes a star; to hold the ball is the goal, and ends the episode.

    By its id the ruleset is empty: nothing to pick up, and no goal. The suite's own rulesets are a download.
    """
    suite, constants, goals, rules, types = (
        import_module(f"xminigrid{part}") for part in ("", ".core.constants", ".core.goals", ".core.rules", ".types")
    )
    tiles, colours = constants.Tiles, constants.Colors
    ball, square = jnp.array([tiles.BALL, colours.YELLOW]), jnp.array([tiles.SQUARE, colours.RED])
    pyramid, star = jnp.array([tiles.PYRAMID, colours.BLUE]), jnp.array([tiles.STAR, colours.GREEN])
    ruleset = types.RuleSet(
        goal=goals.AgentHoldGoal(ball).encode(),
        rules=rules.TileNearRule(square, pyramid, star).encode()[None],
        init_tiles=jnp.stack([ball, square, pyramid]).astype(jnp.uint8),
    )
    env, params = suite.make("XLand-MiniGrid-R4-13x13")
    world = from_xminigrid(env, params.replace(ruleset=ruleset), name="XLand-MiniGrid-R4-13x13, with a rule")

    def happens(state: Any) -> Any:
        now = state.inner.state
        is_star = (now.grid[..., 0] == tiles.STAR).any() | (now.agent.pocket[0] == tiles.STAR)
        return jnp.stack([state.reward > 0, is_star])

    return replace(world, events=("goal", "star"), happens=happens)


WORLDS: dict[str, Named] = {
    "multiroom": "gymnasium::MiniGrid-MultiRoom-N6-v0",  # NAVIX has none
    "keycorridor": KEY_CORRIDOR,
    "xland-r4": rooms_with_a_rule,
    "craftax-classic": "craftax::Craftax-Classic-Symbolic-v1",
    "craftax": "craftax::Craftax-Symbolic-v1",
    "white-noise": noisy(None),
    "staying-noise": noisy(ASK),
}
SEEDS: dict[str, Any] = {"preset": "gpu", "seeds": 5, "seed": 500}
# A frame has thousands of logits, and a step of some worlds thousands of kernels that take as long for many copies as
# for few. So many actors for few steps; few windows in an update; and no steps ahead that no reward asks for.
CURIOUS: dict[str, Any] = SEEDS | {"actors": 512, "round_steps": 100, "batch": 16, "num_ahead": 5}
# Chunks are short because minutes are counted between them. 120 rounds of 51,200 interactions: 6.1 million per seed.
CURIOUS |= {"updates_per_round": 128, "learner_steps": 120 * 128, "rounds_per_chunk": 10, "chunks_per_evaluation": 4}
# Worlds whose steps take longest have half as many, so that all their rows end before ten minutes are over.
HALF: dict[str, Any] = CURIOUS | {"learner_steps": 60 * 128}
SLOW = ("multiroom", "craftax")
# It learns no policy: what it covers is the same after any number of steps, and on any device.
AT_RANDOM: dict[str, Any] = CURIOUS | {"updates_per_round": 1, "learner_steps": 2, "replay_steps": 2 * 51_200}
# 80 rounds of 128 actors and 100 steps: 1,024,000 interactions per seed.
MILLION: dict[str, Any] = SEEDS | {"actors": 128, "round_steps": 100, "batch": 32, "num_ahead": 5}
MILLION |= {"updates_per_round": 128, "learner_steps": 80 * 128, "rounds_per_chunk": 10, "chunks_per_evaluation": 4}
# NDIGO pays some 3 nats per step here, and the task 0.015 (`craftax-1m-task`): a thousandth makes them of one size.
BOTH = {"task_weight": 1.0, "curiosity_weight": 0.001}
# What --toy has in place of the sizes above: two rounds of a network that learns nothing.
SMALL = {"belief_size": 8, "num_filters": 2, "num_features": 8, "predictor_hidden": 8, "head_hidden": 8, "window": 10}
SHORT = {"seeds": 2, "actors": 2, "round_steps": 20, "updates_per_round": 2, "learner_steps": 4, "replay_steps": 400}
TOY: dict[str, Any] = {"preset": "cpu", "batch": 2, "rounds_per_chunk": 1, "evaluation_episodes": 2} | SMALL | SHORT


@dataclass(frozen=True)
class Row:
    name: str
    world: Named
    reward: str
    settings: dict[str, Any] = field(default_factory=dict)


ROWS = [
    Row(f"{world}-{reward}", name, reward, AT_RANDOM if reward == "random" else HALF if world in SLOW else CURIOUS)
    for world, name in WORLDS.items()
    for reward in REWARDS
] + [
    Row("craftax-1m-task", WORLDS["craftax"], "task", MILLION | {"num_ahead": 1}),  # nothing reads its predictions
    Row("craftax-1m-task-ndigo-4", WORLDS["craftax"], "ndigo-4", MILLION | BOTH),
]


def toy(row: Row) -> Row:
    return replace(row, settings=row.settings | TOY)


def shortened(row: Row, steps: int) -> Row:
    """The row with at most so many learner steps, over which its rates fall."""
    return replace(row, settings=row.settings | {"learner_steps": min(steps, row.settings["learner_steps"])})


def train(row: Row, runs: Path, minutes: float) -> ndigo.Run:
    """A new run, or the one that was begun, for at most so many minutes more."""
    path, world = runs / row.name, row.world if isinstance(row.world, str) else row.world()
    if not (path / "config.json").exists():
        create_run(world, row.reward, out=path, **row.settings)
    # A suite's world goes by its name, and is not tried here: `make peers` does, and for Craftax it takes minutes.
    return ndigo.resume(path, world=None if isinstance(world, str) else world, minutes=minutes)


def minutes_trained(path: Path) -> float:
    """Of all sittings so far."""
    lines = RunFolder(path).metrics()
    return lines[-1]["seconds"] / 60 if lines else 0.0


def keep(row: Row, path: Path, kept: Path) -> Path | None:
    """Per seed, the means of the run's last greedy episodes and of the actors' own; None before there are any."""
    line = next((line for line in reversed(RunFolder(path).metrics()) if "evaluation" in line), None)
    if line is None:
        return None
    settings = RunFolder(path).settings()
    row_numbers = {
        "row": row.name,
        "world": settings["world"]["name"],
        "reward": row.reward,
        "config": settings["config"],
        "device": settings["device"],
        "step": line["step"],
        "world_steps": line["world_steps"],
        "seconds": line["seconds"],
        "channels": settings["world"]["channels"],
        "events": [name for name in settings["world"]["in_view"] if name not in settings["world"]["channels"]],
        "episodes": settings["config"]["evaluation_episodes"],
        "greedy": line["evaluation"],
        "acting": line["acting"],
    }
    kept.mkdir(parents=True, exist_ok=True)
    path = kept / f"{row.name}.json"
    write_whole(path, (json.dumps(row_numbers, indent=1) + "\n").encode())
    return path


def is_over(row: Row, path: Path, kept: Path, minutes: float) -> bool:
    """Whether nothing is left to do: it is kept, and its steps or minutes are done, or it could only begin anew."""
    lines = RunFolder(path).metrics()
    is_done = bool(lines) and (lines[-1]["step"] >= row.settings["learner_steps"] or minutes_trained(path) >= minutes)
    can_go_on = any((path / "checkpoints").glob("step_*"))
    return (kept / f"{row.name}.json").exists() and (is_done or not can_go_on)


def work(rows: Sequence[Row], runs: Path, kept: Path, minutes: float, total: float, forgets: bool = False) -> None:
    """Row after row, until `total` minutes are over; what each has come to by then is kept."""
    ends = time.monotonic() + 60 * total
    for row in rows:
        path = runs / row.name
        if is_over(row, path, kept, minutes):
            print(f"{row.name}: kept already")
            continue
        left, of_row = (ends - time.monotonic()) / 60, max(minutes - minutes_trained(path), 0)
        if left <= LEAST * of_row:
            print(f"{row.name}: not begun, {max(left, 0):.1f} of {total:g} minutes are left")
            return
        try:
            run = train(row, runs, min(of_row, left))
        except (NdigoError, jax.errors.JaxRuntimeError) as error:  # such as memory that is full: other rows may fit
            print(f"{row.name}: {first_line(error)}", flush=True)
            continue
        assert run.outcome is not None
        print(f"{row.name}: {keep(row, path, kept)}", flush=True)
        if run.outcome.why not in ("finished", "time"):
            print(f"{row.name}: stopped by {run.outcome.why}; the same command goes on")
            return
        if run.outcome.why == "time" and left < of_row:
            print(f"{row.name}: cut short, {total:g} minutes are over; the same command goes on")
            return
        if forgets:
            shutil.rmtree(path / "checkpoints", ignore_errors=True)


def chosen(patterns: Sequence[str]) -> list[Row]:
    """The rows of each pattern in turn."""
    found = {row.name: row for p in patterns or ("*",) for row in ROWS if fnmatch.fnmatch(row.name, p)}
    if not found:
        raise SystemExit(f"no row is called {' or '.join(patterns)}; --list names them")
    return list(found.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW", help="names, or patterns as 'craftax-*'; all without")
    parser.add_argument("--minutes", type=float, default=60, help="of training, for each row, at most")
    parser.add_argument("--steps", type=int, default=120 * 128, help="learner steps of each row, at most")
    parser.add_argument("--total", type=float, default=24 * 60, help="minutes of the whole command")
    parser.add_argument("--toy", action="store_true", help="a try-out: tiny networks, four updates, two episodes")
    parser.add_argument("--keep", action="store_true", help="keep what the runs have come to, and train nothing")
    parser.add_argument("--forget", action="store_true", help="remove the checkpoints of a row that is done: gigabytes")
    parser.add_argument("--runs", type=Path, help="the folder of the runs, runs/suites without")
    parser.add_argument("--kept", type=Path, help="the folder of what is kept, studies/suites/rows without")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    rows = [toy(row) if args.toy else shortened(row, args.steps) for row in chosen(args.rows)]
    runs, kept = (TOYS / "runs", TOYS / "rows") if args.toy else (RUNS, KEPT)
    runs, kept = args.runs or runs, args.kept or kept
    if args.list:
        print("\n".join(row.name for row in rows))
    elif args.keep:
        print("\n".join(str(path) for row in rows if (path := keep(row, runs / row.name, kept)) is not None))
    else:
        work(rows, runs, kept, args.minutes, args.total, args.forget)


if __name__ == "__main__":
    main()
