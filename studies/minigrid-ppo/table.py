"""The study's table and figure, from the files of `run.py`, also of cells that are not done.

python studies/minigrid-ppo/table.py [DATA] [--figure FILE]
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
Run = dict[str, np.ndarray]  # columns of one cell


def read(data: Path) -> dict[tuple[str, str], list[Run]]:
    """By bonus and tile, the runs of all seeds in their order; `total` is the steps that a run is to have."""
    found: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for path in sorted([*data.glob("*.jsonl"), *data.glob("*.part")], key=lambda path: path.stem):
        whole = [line for line in path.read_text(encoding="utf-8").splitlines(keepends=True) if line.endswith("\n")]
        head, *lines = map(json.loads, whole or ["{}"])
        if lines:
            columns = {name: np.array([line[name] for line in lines]) for name in lines[0]}
            found[head["bonus"], head["tile"]].append(columns | {"total": np.array(head["total"])})
    return found


def solved_at_end(run: Run) -> float:
    """Share of the episodes that ended in the last tenth of the steps and were solved."""
    late = run["steps"] > 0.9 * run["steps"][-1]
    return float(run["solved"][late].sum() / max(run["episodes"][late].sum(), 1))


def so_far(run: Run) -> str:
    """How much of its steps a run has, where it is not all."""
    share = run["steps"][-1] / run["total"]
    return f" (after {100 * share:.0f}% of the steps)" if share < 1 else ""


def table(runs: dict[tuple[str, str], list[Run]]) -> str:
    lines = ["| bonus | tile | solved at the end, % by seed | pay per step at the end, nats |", "|---|---|--:|--:|"]
    for (bonus, tile), seeds in runs.items():
        solved = ", ".join(f"{100 * solved_at_end(run):.0f}{so_far(run)}" for run in seeds)
        nats = np.mean([run["nats"][run["steps"] > 0.9 * run["steps"][-1]].mean() for run in seeds])
        lines.append(f"| {bonus} | {tile} | {solved} | {nats:.3f} |")
    return "\n".join(lines)


def solved_lately(run: Run, num: int = 10) -> np.ndarray:
    """At each rollout, the share of the episodes of the last `num` that were solved."""

    def lately(x: np.ndarray) -> np.ndarray:
        total = np.cumsum(x)
        return total - np.pad(total, (num, 0))[: len(x)]

    return lately(run["solved"]) / np.maximum(lately(run["episodes"]), 1)


def draw(runs: dict[tuple[str, str], list[Run]], path: Path) -> None:
    """Solved episodes over steps: a thin line per seed, over its last ten rollouts."""
    import matplotlib.pyplot as plt

    tiles = sorted({tile for _, tile in runs}, reverse=True)
    figure, axes = plt.subplots(1, len(tiles), sharey=True, squeeze=False, figsize=(5 * len(tiles), 3.2))
    colours: dict[str, Any] = {bonus: f"C{i}" for i, bonus in enumerate(dict.fromkeys(bonus for bonus, _ in runs))}
    for (bonus, tile), seeds in runs.items():
        for seed, run in enumerate(seeds):
            label = bonus if seed == 0 else None
            axes[0, tiles.index(tile)].plot(run["steps"], solved_lately(run), colours[bonus], lw=1, label=label)
    for axis, tile in zip(axes[0], tiles, strict=True):
        axis.set(title=f"{tile} tile", xlabel="steps", ylim=(-0.02, 1.02))
    axes[0, 0].set_ylabel("episodes solved")
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
