"""The study's table and figure, from the files of `run.py`: of every row that is kept, also of some.

python studies/suites/table.py [ROWS] [--figure FILE]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ndigo.palette import stroke_of
from ndigo.report.numbers import with_interval
from ndigo.report.statistics import estimates, interval, mean_of

HERE = Path(__file__).parent
MAXIMUM = 226  # of Craftax's task
ORDER = ("random", "icm", "pe", "ndigo-1", "ndigo-4", "task")  # of the rows of a world
HEAD = ("row", "seeds", "minutes", "interactions, thousands", "coverage", "events", "noise, nats", "task, %", "beats")
Kept = dict[str, Any]  # what `run.py` keeps of a row


def read(folder: Path) -> list[Kept]:
    rows = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")]
    return sorted(rows, key=lambda kept: (world_of(kept), ORDER.index(kept["reward"])))


def per_seed(kept: Kept) -> dict[str, np.ndarray]:
    """The numbers of the table, [S] each; a world without noise, events or task has none of them.

    `events` are those that a greedy episode has at least once: goals, or achievements.
    """
    greedy = {name: np.array(x) for name, x in kept["greedy"].items()}
    found = {"coverage": greedy["coverage"]}
    if kept["events"]:
        found["events"] = greedy["frequency"].sum(axis=-1)
    if "noise" in kept["channels"] and "reward_c" in greedy:
        found["noise, nats"] = greedy["reward_c"][:, kept["channels"].index("noise")]
    if kept["world"].startswith("craftax::Craftax-Symbolic"):
        found["task, %"] = 100 * greedy["task_return"] / MAXIMUM
    return found


def counted(kept: Kept) -> str:
    """The number that counts: achievements in Craftax, coverage elsewhere."""
    return "events" if kept["world"].startswith("craftax::") else "coverage"


def beaten(kept: Kept, rows: Sequence[Kept]) -> list[str]:
    """The rows of its world that it exceeds, by the study's third rule."""

    def mean(row: Kept) -> Any:
        return mean_of(per_seed(row)[counted(row)], row["row"])

    others = [row for row in rows if world_of(row) == world_of(kept) and row is not kept]
    return [label_of(row) for row in others if interval(mean(kept) - mean(row)).low > 0]


def line(kept: Kept, rows: Sequence[Kept]) -> list[str]:
    numbers = per_seed(kept)
    shown = {name: with_interval(estimates(x[:, None])[0]) for name, x in numbers.items()}
    known = {"row": kept["row"], "seeds": str(len(numbers["coverage"])), "minutes": f"{kept['seconds'] / 60:.2g}"}
    known["interactions, thousands"] = f"{kept['world_steps'] / 1000:,.0f}"
    known["beats"] = ", ".join(beaten(kept, rows))
    return [(known | shown).get(name, "") for name in HEAD]


def table(rows: Sequence[Kept]) -> str:
    lines = [HEAD, ("---", *["--:"] * (len(HEAD) - 2), "---"), *(line(kept, rows) for kept in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def draw(rows: Sequence[Kept], path: Path) -> None:
    """A panel per world: a dot per seed, a line at their mean; achievements in Craftax, coverage elsewhere."""
    import matplotlib.pyplot as plt

    worlds = list(dict.fromkeys(world_of(kept) for kept in rows))
    most = max(sum(world_of(kept) == world for kept in rows) for world in worlds)
    across = min(len(worlds), 4)
    down = -(-len(worlds) // across)
    size = 2.8 * across, (1.0 + 0.25 * most) * down
    figure, axes = plt.subplots(down, across, squeeze=False, figsize=size, layout="constrained")
    for axis in axes.flat[len(worlds) :]:
        axis.set_visible(False)
    for axis, world in zip(axes.flat, worlds, strict=False):
        of_world = [kept for kept in rows if world_of(kept) == world]
        counts = counted(of_world[0])
        for i, kept in enumerate(of_world):
            values, colour = per_seed(kept)[counts], stroke_of(kept["reward"]).colour
            axis.plot(values, [i] * len(values), "o", color=colour, ms=4, alpha=0.6)
            axis.plot([values.mean()] * 2, [i - 0.3, i + 0.3], color=colour, lw=2)
        what = "achievements" if counts == "events" else "places"
        axis.set(title=world, xlabel=f"{what} per episode", ylim=(len(of_world) - 0.4, -0.6))
        axis.set_xlim(-0.03 * axis.get_xlim()[1], 1.05 * axis.get_xlim()[1])
        axis.set_yticks(range(len(of_world)), [label_of(kept) for kept in of_world])
    figure.savefig(path, dpi=130, bbox_inches="tight")
    plt.close(figure)


def label_of(kept: Kept) -> str:
    """What tells the row from others of its world."""
    return kept["row"].removeprefix(f"{world_of(kept)}-")


def world_of(kept: Kept) -> str:
    """The row's name without its reward; all rows of the yardstick are of one."""
    return "craftax-1m" if kept["row"].startswith("craftax-1m") else kept["row"].removesuffix(f"-{kept['reward']}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path, nargs="?", default=HERE / "rows")
    parser.add_argument("--figure", type=Path)
    args = parser.parse_args()
    found = read(args.rows)
    print(table(found))
    if args.figure and found:
        draw(found, args.figure)
