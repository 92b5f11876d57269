"""One run of Stable-Baselines3's PPO per cell of the study: a bonus, a noisy tile or none, a seed.

    python studies/minigrid-ppo/run.py --jobs 16                     # all 18 cells, one process each
    python studies/minigrid-ppo/run.py --world MiniGrid-MultiRoom-N2-S4-v0 --steps 100000 --out data-n2

A cell writes one file, BONUS-TILE-SEED.jsonl, whole or not at all: what it is, then a line per rollout. A cell that is
there is not run again.
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
WORLD = "MiniGrid-MultiRoom-N6-v0"
BONUSES, TILES, SEEDS = ("nothing", "pe", "ndigo-4"), ("plain", "noisy"), (0, 1, 2)
NUM_ENVS, ROLLOUT, WEIGHT = 16, 128, 0.01  # the weight: of a nat, where the task pays at most 1


class Cell(NamedTuple):
    bonus: str
    tile: str
    seed: int

    @property
    def name(self) -> str:
        return f"{self.bonus}-{self.tile}-{self.seed}"


def make_env(world: str, tile: str) -> Any:
    """MiniGrid as tiles; with a noisy one, a piece of wall beside the start shows a new colour at every step."""
    import gymnasium
    import numpy as np
    from minigrid.core.constants import IDX_TO_COLOR
    from minigrid.core.world_object import Wall
    from minigrid.wrappers import ImgObsWrapper

    class NoisyTile(gymnasium.Wrapper):
        def reset(self, **options: Any) -> Any:
            _, info = self.env.reset(**options)
            if options.get("seed") is not None:  # its own draws: the rooms are those of a plain tile
                self.draws = np.random.default_rng(options["seed"])
            world: Any = self.env.unwrapped
            walls = [at for at in product(range(world.width), range(world.height)) if is_wall(world.grid.get(*at))]
            self.at = min(walls, key=lambda at: (abs(at[0] - world.agent_pos[0]) + abs(at[1] - world.agent_pos[1]), at))
            return self.recoloured(), info

        def step(self, action: Any) -> Any:
            _, *rest = self.env.step(action)
            return self.recoloured(), *rest

        def recoloured(self) -> Any:
            world: Any = self.env.unwrapped
            world.grid.set(*self.at, Wall(IDX_TO_COLOR[int(self.draws.integers(6))]))
            return world.gen_obs()

    def is_wall(thing: Any) -> bool:
        return thing is not None and thing.type == "wall"

    env = gymnasium.make(world)
    return ImgObsWrapper(NoisyTile(env) if tile == "noisy" else env)


def frame() -> Any:
    """What a cell of MiniGrid shows, with walls of every colour."""
    from ndigo import frames

    coloured = [(kind, colour, 0) for kind in (2, 3, 5, 6, 7) for colour in range(6)]
    doors = [(4, colour, state) for colour in range(6) for state in range(3)]
    plain = [(0, 0, 0), (1, 0, 0), (8, 1, 0), (9, 0, 0)]
    return frames.tiles((11, 6, 4), 7, names=("object", "colour", "state"), listed=coloured + doors + plain)


def train(world: str, cell: Cell, steps: int) -> list[dict[str, float]]:
    """A line per rollout: steps so far, episodes that ended in it and how many were solved, pay per step in nats."""
    import numpy as np
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.env_util import make_vec_env

    from ndigo.curiosity.sb3 import Curious

    torch.set_num_threads(1)
    envs: Any = make_vec_env(lambda: make_env(world, cell.tile), n_envs=NUM_ENVS, seed=1000 * cell.seed)
    if cell.bonus != "nothing":
        envs = Curious(envs, cell.bonus, frame(), weight=WEIGHT, learn_every=ROLLOUT, seed=cell.seed)
    lines: list[dict[str, float]] = []

    class Note(BaseCallback):
        def _on_rollout_start(self) -> None:
            self.returns, self.nats = [], []

        def _on_step(self) -> bool:
            infos = self.locals["infos"]
            self.returns += [info["episode"]["r"] for info in infos if "episode" in info]
            self.nats += [info.get("reward_intrinsic", 0.0) for info in infos]
            return True

        def _on_rollout_end(self) -> None:
            solved = sum(r > 0 for r in self.returns)
            told = {"steps": self.num_timesteps, "episodes": len(self.returns), "solved": solved}
            lines.append(told | {"nats": float(np.mean(self.nats))})

    agent = PPO("MlpPolicy", envs, n_steps=ROLLOUT, batch_size=256, ent_coef=0.01, seed=cell.seed)
    agent.learn(steps, callback=Note())
    return lines


def run(work: tuple[str, Cell, int, Path]) -> None:
    world, cell, steps, out = work
    lines = [{"world": world, **cell._asdict(), "total": steps}, *train(world, cell, steps)]
    part = out / f"{cell.name}.part"
    part.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    os.replace(part, out / f"{cell.name}.jsonl")


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
    parser.add_argument("--steps", type=int, default=2_000_000, help="of all environments together")
    parser.add_argument("--bonus", nargs="+", choices=BONUSES, default=BONUSES)
    parser.add_argument("--tile", nargs="+", choices=TILES, default=TILES)
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time, one core each")
    parser.add_argument("--out", type=Path, default=HERE / "data")
    args = parser.parse_args(arguments)
    args.out.mkdir(parents=True, exist_ok=True)
    cells = [Cell(*of) for of in product(args.bonus, args.tile, args.seeds)]
    left = [cell for cell in cells if not is_there(args.out / f"{cell.name}.jsonl", args.world, args.steps)]
    print(f"{len(cells) - len(left)} of {len(cells)} cells are there, {len(left)} are run", flush=True)
    # One core each: sixteen processes that each spread over all cores would wait for each other.
    os.environ |= {"OMP_NUM_THREADS": "1", "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}
    work = [(args.world, cell, args.steps, args.out) for cell in left]
    with multiprocessing.get_context("spawn").Pool(args.jobs, maxtasksperchild=1) as pool:
        for number, _ in enumerate(pool.imap_unordered(run, work), 1):
            print(f"{number} of {len(left)}", flush=True)


if __name__ == "__main__":
    main()
