"""PPO in KeyCorridor for each cell of the study: a reward, a noisy tile or none, a seed. One jit, on one device.

    python studies/minigrid-ppo/run.py                                   # all 18 cells, six at a time
    python studies/minigrid-ppo/run.py --reward ndigo-4 --seconds 120    # one reward, for so long at most
    python studies/minigrid-ppo/run.py --envs 64 --steps 200000 --out data-small

The cells of one reward run side by side. Each writes a file: what it is, then a line per rollout as it comes. The file
is REWARD-TILE-SEED.part and, when all steps are done, .jsonl. A reward whose cells are all done is not run again; one
that was cut off begins anew.
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import ppo
from corridor import frame, make_world

import ndigo
from ndigo.config import preset
from ndigo.curiosity import PureCuriosity

HERE = Path(__file__).parent
WORLD = "Navix-KeyCorridorS5R3-v0"
REWARDS, TILES, SEEDS = ("nothing", "ndigo-4", "pe"), ("plain", "noisy"), (0, 1, 2)
STEPS = 20 * 2**20


class Cell(NamedTuple):
    reward: str
    tile: str
    seed: int

    @property
    def name(self) -> str:
        return f"{self.reward}-{self.tile}-{self.seed}"


def make_curiosity(reward: str, num_envs: int, updates: int, batch: int) -> PureCuriosity | None:
    """The same world model for every reward; by plain functions, which cells side by side can share."""
    if reward == "nothing":
        return None
    sizes = {"num_ahead": 5, "window": 32, "batch": batch, "updates_per_round": updates, "plain": True}
    return ndigo.curiosity(reward, frame(), 7, preset("gpu", replay_steps=512 * num_envs, **sizes))


def make_lanes(world: str, curiosity: PureCuriosity | None, settings: ppo.Settings) -> tuple[Any, Any]:
    """begin(seeds, is_noisy) and rollout(number, carry, seeds, is_noisy), of all cells side by side."""

    def begin(seed: Any, is_noisy: Any) -> ppo.Carry:
        return typed(ppo.begin(jax.random.key(seed), make_world(world, is_noisy), curiosity, settings))

    def rollout(number: Any, carry: ppo.Carry, seed: Any, is_noisy: Any) -> tuple[ppo.Carry, dict[str, Any]]:
        key = jax.random.fold_in(jax.random.key(seed), number + 1)
        carry, numbers = ppo.rollout(key, carry, make_world(world, is_noisy), curiosity, settings)
        return typed(carry), numbers

    def typed(carry: ppo.Carry) -> ppo.Carry:
        """With no weak types, else the second rollout would be compiled anew."""
        return jax.tree.map(lambda x: x.astype(x.dtype), carry)

    return jax.jit(jax.vmap(begin)), partial(jax.jit, donate_argnums=1)(jax.vmap(rollout, in_axes=(None, 0, 0, 0)))


def train(args: argparse.Namespace, cells: list[Cell], settings: ppo.Settings) -> str:
    """Writes the lines of all cells of one reward; a word on how it went."""
    began = time.monotonic()
    curiosity = make_curiosity(cells[0].reward, settings.num_envs, args.updates, args.batch)
    begin, rollout = make_lanes(args.world, curiosity, settings)
    seeds, is_noisy = jnp.array([cell.seed for cell in cells]), jnp.array([cell.tile == "noisy" for cell in cells])
    parts = [args.out / f"{cell.name}.part" for cell in cells]
    about = {
        "world": args.world,
        "total": args.steps,
        "updates": args.updates,
        "batch": args.batch,
        **settings._asdict(),
    }
    for cell, part in zip(cells, parts, strict=True):
        part.write_text(json.dumps({**cell._asdict(), **about}) + "\n", encoding="utf-8")
    carry, each, seconds = begin(seeds, is_noisy), settings.num_envs * settings.num_steps, 0.0
    for number in range(-(-args.steps // each)):
        carry, numbers = rollout(number, carry, seeds, is_noisy)
        numbers = {name: np.asarray(x).tolist() for name, x in numbers.items()}
        seconds = round(time.monotonic() - began, 2)
        for lane, part in enumerate(parts):
            line = {"steps": (number + 1) * each, "seconds": seconds, **{name: x[lane] for name, x in numbers.items()}}
            with part.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        if number % 20 == 0:
            print(f"{cells[0].reward}: {(number + 1) * each} steps, {seconds:.0f} s, {numbers['solved']}", flush=True)
        if seconds > args.seconds and (number + 1) * each < args.steps:
            return f"stopped after {(number + 1) * each} steps, {seconds:.0f} seconds"
    for part in parts:
        os.replace(part, part.with_suffix(".jsonl"))
    return f"done, {seconds:.0f} seconds"


def is_there(path: Path, world: str, steps: int) -> bool:
    """An error where it is a cell of another study."""
    if not path.exists():
        return False
    with path.open(encoding="utf-8") as file:
        head = json.loads(file.readline())
    if (head["world"], head["total"]) != (world, steps):
        sys.exit(
            f"{path} has {head['total']} steps of {head['world']}, expected {steps} of {world}; choose another --out"
        )
    return True


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--world", default=WORLD)
    parser.add_argument("--steps", type=int, default=STEPS, help="of each cell, over all its environments")
    parser.add_argument("--reward", nargs="+", choices=REWARDS, default=REWARDS)
    parser.add_argument("--tile", nargs="+", choices=TILES, default=TILES)
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--envs", type=int, default=ppo.Settings().num_envs)
    parser.add_argument("--updates", type=int, default=16, help="of the world model, after each rollout")
    parser.add_argument("--batch", type=int, default=128, help="windows in each of them")
    parser.add_argument("--weight", type=float, default=ppo.Settings().weight, help="of a nat; the task pays 1")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="of each reward, at most")
    parser.add_argument("--out", type=Path, default=HERE / "data")
    args = parser.parse_args(arguments)
    args.out.mkdir(parents=True, exist_ok=True)
    settings = ppo.Settings(num_envs=args.envs, weight=args.weight)
    for reward in args.reward:
        cells = [Cell(reward, *of) for of in product(args.tile, args.seeds)]
        if all(is_there(args.out / f"{cell.name}.jsonl", args.world, args.steps) for cell in cells):
            print(f"{reward}: all {len(cells)} cells are there", flush=True)
        else:
            print(f"{reward}: {train(args, cells, settings)}", flush=True)


if __name__ == "__main__":
    main()
