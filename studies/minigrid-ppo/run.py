"""One run of Stable-Baselines3's PPO per cell of the study: a bonus, a noisy tile or none, a seed.

    python studies/minigrid-ppo/run.py --jobs 16                     # all 18 cells, one process each
    python studies/minigrid-ppo/run.py --bonus ndigo-4 --tile plain --seeds 0 1 --minutes 25         # some, for a while
    python studies/minigrid-ppo/run.py --world MiniGrid-MultiRoom-N2-S4-v0 --steps 100000 --out data-n2

A cell writes a file: what it is, then a line per rollout as it comes. The file is BONUS-TILE-SEED.part and, when all
steps are done, .jsonl. A cell that was stopped goes on from its newest save, where its environments begin new episodes;
one that is done is not run again. Several commands may share a folder if none has a cell of another.
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shutil
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
WORLD = "MiniGrid-MultiRoom-N6-v0"
BONUSES, TILES, SEEDS = ("nothing", "pe", "ndigo-4"), ("plain", "noisy"), (0, 1, 2)
NUM_ENVS, ROLLOUT, WEIGHT = 16, 128, 0.01  # the weight: of a nat, where the task pays at most 1
SAVE_EVERY = 25  # rollouts


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


def make_agent(world: str, cell: Cell, save: Path | None) -> tuple[Any, Any]:
    """PPO, new or from a save, and the curiosity that pays it (None: nothing does)."""
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env

    from ndigo.curiosity.sb3 import Curious

    torch.set_num_threads(1)
    envs: Any = make_vec_env(lambda: make_env(world, cell.tile), n_envs=NUM_ENVS)
    curiosity = None
    if cell.bonus != "nothing":
        envs = Curious(envs, cell.bonus, frame(), weight=WEIGHT, learn_every=ROLLOUT, seed=cell.seed)
        curiosity = envs.curiosity
    if save is not None:
        agent = PPO.load(save / "agent.zip", env=envs, device="cpu")
        agent.set_random_seed(seed_of(cell) + agent.num_timesteps)  # new rooms, not those of the beginning again
        if curiosity is not None:
            curiosity.load(save / "curiosity")
        return agent, curiosity
    # A tile's number as it is: a 255th of it, as of a picture's byte, would all but vanish.
    options = {"normalize_images": False}
    made = {"n_steps": ROLLOUT, "batch_size": 256, "ent_coef": 0.01, "policy_kwargs": options, "device": "cpu"}
    return PPO("MlpPolicy", envs, seed=seed_of(cell), **made), curiosity


def seed_of(cell: Cell) -> int:
    """Environment n of 16 has this seed and n more: no two seeds of the study share one."""
    return 1000 * cell.seed


def newest_save(out: Path, cell: Cell) -> Path | None:
    found = out.glob(f"{cell.name}.save-*")
    return max(found, key=lambda path: int(path.name.rpartition("-")[2]), default=None)


def write_save(out: Path, cell: Cell, agent: Any, curiosity: Any) -> None:
    """Whole or not at all; the one before goes when it stands."""
    before, new = newest_save(out, cell), out / f"{cell.name}.saving"
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    agent.save(new / "agent.zip")
    if curiosity is not None:
        curiosity.save(new / "curiosity")
    path = out / f"{cell.name}.save-{agent.num_timesteps}"
    if before == path:  # stopped where it went on from
        return shutil.rmtree(new)
    os.replace(new, path)
    if before is not None:
        shutil.rmtree(before)


def train(world: str, cell: Cell, steps: int, out: Path, minutes: float) -> bool:
    """Whether all steps are done. A line per rollout: steps so far, episodes that ended in it, how many were solved,
    and the pay per step in nats."""
    import numpy as np
    from stable_baselines3.common.callbacks import BaseCallback

    ends = time.monotonic() + 60 * minutes
    agent, curiosity = make_agent(world, cell, newest_save(out, cell))
    part = out / f"{cell.name}.part"
    lines = [{"world": world, **cell._asdict(), "total": steps}, *read_lines(part, agent.num_timesteps)]
    part.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")

    class Note(BaseCallback):
        def _on_rollout_start(self) -> None:
            self.returns, self.nats, self.is_over = [], [], time.monotonic() > ends
            num_rollouts = self.num_timesteps // (NUM_ENVS * ROLLOUT)
            if num_rollouts and (self.is_over or num_rollouts % SAVE_EVERY == 0):
                write_save(out, cell, agent, curiosity)

        def _on_step(self) -> bool:
            infos = self.locals["infos"]
            self.returns += [info["episode"]["r"] for info in infos if "episode" in info]
            self.nats += [info.get("reward_intrinsic", 0.0) for info in infos]
            return not self.is_over

        def _on_rollout_end(self) -> None:
            solved = sum(r > 0 for r in self.returns)
            result = {"steps": self.num_timesteps, "episodes": len(self.returns), "solved": solved}
            with part.open("a", encoding="utf-8") as file:
                file.write(json.dumps(result | {"nats": float(np.mean(self.nats))}) + "\n")

    note = Note()
    agent.learn(steps - agent.num_timesteps, callback=note, reset_num_timesteps=False)
    return not note.is_over


def read_lines(part: Path, num_steps: int) -> list[dict[str, float]]:
    """What a file says of the rollouts up to a save; nothing where it is not there."""
    if not part.exists():
        return []
    whole = [line for line in part.read_text(encoding="utf-8").splitlines(keepends=True) if line.endswith("\n")]
    return [line for line in map(json.loads, whole[1:]) if line["steps"] <= num_steps]


def run(work: tuple[str, Cell, int, Path, float]) -> str:
    world, cell, steps, out, minutes = work
    if not train(world, cell, steps, out, minutes):
        return f"{cell.name}: stopped, {minutes:g} minutes are over"
    os.replace(out / f"{cell.name}.part", out / f"{cell.name}.jsonl")
    if (save := newest_save(out, cell)) is not None:
        shutil.rmtree(save)
    return f"{cell.name}: done"


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
    parser.add_argument("--minutes", type=float, default=float("inf"), help="of each cell; then it is saved")
    parser.add_argument("--out", type=Path, default=HERE / "data")
    args = parser.parse_args(arguments)
    args.out.mkdir(parents=True, exist_ok=True)
    cells = [Cell(*of) for of in product(args.bonus, args.tile, args.seeds)]
    left = [cell for cell in cells if not is_there(args.out / f"{cell.name}.jsonl", args.world, args.steps)]
    for cell in left:
        is_there(args.out / f"{cell.name}.part", args.world, args.steps)
    print(f"{len(cells) - len(left)} of {len(cells)} cells are there, {len(left)} are run", flush=True)
    # One core each: sixteen processes that each spread over all cores would wait for each other.
    os.environ |= {"OMP_NUM_THREADS": "1", "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}
    work = [(args.world, cell, args.steps, args.out, args.minutes) for cell in left]
    with multiprocessing.get_context("spawn").Pool(args.jobs, maxtasksperchild=1) as pool:
        for number, result in enumerate(pool.imap_unordered(run, work), 1):
            print(f"{number} of {len(left)}: {result}", flush=True)


if __name__ == "__main__":
    main()
