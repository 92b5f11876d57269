"""Whether an agent's numbers depend on the rounding of the machine that it acts on.

    python studies/rounding/table.py results/agents/exp1-ndigo-4.safetensors      # half a minute each on two cores

One row per agent: the discovery loss of what its experiment is about, over greedy episodes. First as its row has it, by
the device that trained it; then on this machine, in bfloat16 by the fast functions and by the plain ones, and in
float32. Last, in float32 with weights that are moved by up to half of what a file's float16 tells apart, the least and
the largest of some draws.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
from pathlib import Path

import jax
import numpy as np

from ndigo.api import load_trained
from ndigo.paper.experiments import EXPERIMENTS
from ndigo.paper.rows import load_row
from ndigo.training.trained import Trained

ROWS = Path(__file__).parents[2] / "results" / "rows"
HALF_A_STEP = 2.0**-11  # the largest rounding of a float16, as a share of the number
DRAWS = 4
COLUMNS = ("agent", "its row", "bfloat16, fast", "bfloat16, plain", "float32", "float32, weights moved")


def moved(trained: Trained, draw: int) -> Trained:
    """The same agent, every weight moved at random."""
    rng = np.random.default_rng(draw)

    def move(x: jax.Array) -> np.ndarray:
        return (np.asarray(x) * (1 + rng.uniform(-HALF_A_STEP, HALF_A_STEP, x.shape))).astype(x.dtype)

    return dataclasses.replace(trained, params=jax.tree.map(move, trained.params))


def computed(trained: Trained, **config: object) -> Trained:
    return dataclasses.replace(trained, config=dataclasses.replace(trained.config, **config))


def cells(path: Path, num_episodes: int) -> list[str]:
    trained, row = load_trained(path), load_row(ROWS / path.stem)
    objects = trained.settings["world"]["objects"]
    which = [objects.index(name) for name in EXPERIMENTS[row.settings["config"]["world"]].discovers]
    of_seed = np.array(row.result["evaluation"]["discovery_loss"])[trained.settings["seed"], which].mean()

    def measured(trained: Trained) -> np.ndarray:
        """Of each episode, the mean over objects."""
        return np.asarray(trained.evaluate(num_episodes).discovery_loss)[0][:, which].mean(axis=1)

    def told(losses: np.ndarray) -> str:
        return f"{losses.mean():.2f} ± {losses.std(ddof=1) / math.sqrt(len(losses)):.2f}"

    exact = computed(trained, precision="float32")
    ways = (computed(trained, plain=False), computed(trained, plain=True), exact)
    draws = [measured(moved(exact, draw)).mean() for draw in range(DRAWS)]
    return [f"{of_seed:.2f}", *(told(measured(way)) for way in ways), f"{min(draws):.2f} to {max(draws):.2f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description="Whether an agent's numbers depend on rounding.")
    parser.add_argument("agents", nargs="+", type=Path)
    parser.add_argument("--episodes", type=int, default=300)
    args = parser.parse_args()
    print(f"| {' | '.join(COLUMNS)} |", "|---|--:|--:|--:|--:|--:|", sep="\n", flush=True)
    for path in args.agents:
        print("|", " | ".join([path.stem, *cells(path, args.episodes)]), "|", flush=True)


if __name__ == "__main__":
    main()
