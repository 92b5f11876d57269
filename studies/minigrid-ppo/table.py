"""The study's table and figure, from the files of `run.py`, also of cells that are not done.

python studies/minigrid-ppo/table.py [DATA] [--figure FILE]
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import defaultdict
from pathlib import Path

import numpy as np

from ndigo.palette import stroke_of

HERE = Path(__file__).parent
Run = dict[str, np.ndarray]  # columns of one cell


def read(data: Path) -> dict[tuple[str, str], list[Run]]:
    """By reward and tile, the runs of all seeds in their order; `total` is the steps that a run is to have."""
    found: dict[tuple[str, str], list[Run]] = defaultdict(list)
    paths = [path for ending in ("jsonl.gz", "jsonl", "part") for path in data.glob(f"*.{ending}")]
    for path in sorted(paths, key=lambda path: path.name.partition(".")[0]):
        text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        whole = [line for line in text.decode().splitlines(keepends=True) if line.endswith("\n")]
        head, *lines = map(json.loads, whole or ["{}"])
        if lines:
            columns = {name: np.array([line[name] for line in lines]) for name in lines[0]}
            found[head["reward"], head["tile"]].append(columns | {"total": np.array(head["total"])})
    return found


def at_end(run: Run, what: str) -> float:
    """Share of the episodes that ended in the last tenth of the steps and had it: `solved`, `key`, `door`."""
    late = run["steps"] > 0.9 * run["steps"][-1]
    return float(run[what][late].sum() / max(run["episodes"][late].sum(), 1))


def so_far(run: Run) -> str:
    """How much of its steps a run has, where it is not all."""
    share = run["steps"][-1] / run["total"]
    return f" (after {100 * share:.0f}% of the steps)" if share < 1 else ""


def table(runs: dict[tuple[str, str], list[Run]]) -> str:
    lines = [
        "| reward | tile | solved at the end, % by seed | key picked up, % by seed | pay per step at the end, nats |",
        "|---|---|--:|--:|--:|",
    ]
    for (reward, tile), seeds in runs.items():
        solved = ", ".join(f"{100 * at_end(run, 'solved'):.1f}{so_far(run)}" for run in seeds)
        keys = ", ".join(f"{100 * at_end(run, 'key'):.1f}" for run in seeds)
        nats = np.mean([run["nats"][run["steps"] > 0.9 * run["steps"][-1]].mean() for run in seeds])
        lines.append(f"| {reward} | {tile} | {solved} | {keys} | {nats:.3f} |")
    return "\n".join(lines)


def lately(run: Run, what: str, num: int = 10) -> np.ndarray:
    """At each rollout, the share of the episodes of the last `num` that had it."""

    def total(x: np.ndarray) -> np.ndarray:
        so_far = np.cumsum(x)
        return so_far - np.pad(so_far, (num, 0))[: len(x)]

    return total(run[what]) / np.maximum(total(run["episodes"]), 1)


def draw(runs: dict[tuple[str, str], list[Run]], path: Path) -> None:
    """Above episodes solved, below those with the key, over steps: a thin line per seed, over its last ten rollouts."""
    import matplotlib.pyplot as plt

    tiles, rows = sorted({tile for _, tile in runs}, reverse=True), {"solved": "solved", "key": "key picked up"}
    size = (5 * len(tiles), 2.8 * len(rows))
    figure, axes = plt.subplots(len(rows), len(tiles), sharex=True, sharey="row", squeeze=False, figsize=size)
    strokes = {reward: stroke_of("random" if reward == "nothing" else reward) for reward, _ in runs}
    for row, (what, title) in enumerate(rows.items()):
        for (reward, tile), seeds in runs.items():
            for seed, run in enumerate(seeds):
                label, axis = reward if seed == 0 else None, axes[row, tiles.index(tile)]
                stroke = {"color": strokes[reward].colour, "linestyle": strokes[reward].dash}
                axis.plot(run["steps"] / 1e6, lately(run, what), **stroke, lw=1, label=label)
        axes[row, 0].set_ylabel(f"share of episodes: {title}")
        for axis in axes[row]:
            axis.set_ylim(-0.02, 1.02)
    for axis, tile in zip(axes[0], tiles, strict=True):
        axis.set_title(f"{tile} tile")
    for axis in axes[-1]:
        axis.set_xlabel("million steps")
    axes[0, 0].legend(frameon=False)
    figure.savefig(path, dpi=120, bbox_inches="tight")
    plt.close(figure)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", default=HERE / "data")
    parser.add_argument("--figure", type=Path)
    args = parser.parse_args()
    found = read(args.data)
    print(table(found))
    if args.figure:
        draw(found, args.figure)
