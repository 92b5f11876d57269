"""What the study's runs came to.

    python studies/first-maze/table.py --figure figure.png    # the table, and the long run drawn

How far a seed walks is counted in steps of the shortest path from the start to the furthest cell of an episode, the
median over 20 greedy episodes. In the maze of these runs room 2 came into view after 45 steps. Walls pay the mean over
the 1,600 learner steps before, in 1e-3 nats per step, the median over seeds.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from ndigo.palette import OBJECTS, dash_of, hexadecimal
from ndigo.paper.plan import listed

ROOMS = {"fixed2": "room 2", "fixed3": "room 3", "fixed4": "room 4", "movable": "room 5"}
LONG = "agent3e-4-model3e-4-long"  # which the figure shows
STEPS = (1_600, 8_000, 16_000)


def read_runs() -> list[dict[str, Any]]:
    """Every run's name, settings and lines of metrics."""
    with gzip.open(Path(__file__).with_name("runs.jsonl.gz"), "rt") as file:
        return [json.loads(line) for line in file]


def evaluations(run: dict[str, Any]) -> list[dict[str, Any]]:
    return [line for line in run["metrics"] if "evaluation" in line]


def table(runs: list[dict[str, Any]]) -> list[str]:
    """One row per run, the recipe's first: what walls paid, whether it saw room 2, and how far its seeds walk."""
    columns = [
        "run",
        "seeds",
        "learner steps",
        *(f"walls at {step:,}" for step in STEPS),
        "% seen: rooms 2, 3, 4, 5",
        "furthest step of each seed",
    ]
    rows = ["| " + " | ".join(columns) + " |", "|---|" + "--:|" * (len(columns) - 1)]
    recipe = runs[0]["settings"]["config"]
    for run in runs:
        settings, lines = run["settings"], evaluations(run)
        world = settings["world"]
        paid = {x["step"]: np.asarray(x["learning"]["reward_c"])[:, world["channels"].index("walls")] for x in lines}
        seen = [np.asarray(lines[-1]["evaluation"]["frequency"])[:, world["objects"].index(name)] for name in ROOMS]
        changed = {name: x for name, x in settings["config"].items() if recipe[name] != x and name != "seeds"}
        texts = [
            listed(changed) or "the recipe",
            str(len(seen[0])),
            f"{lines[-1]['step']:,}",
            *(f"{1e3 * np.median(paid[step]):.3g}" if step in paid else "" for step in STEPS),
            ", ".join(f"{100 * share.mean():g}" for share in seen),
            ", ".join(map(str, run.get("furthest", []))),  # from the last checkpoint, which is not kept
        ]
        rows.append("| " + " | ".join(texts) + " |")
    return rows


def draw(runs: list[dict[str, Any]], path: Path) -> None:
    """Share of a seed's episodes that see each room, and what walls pay it, over training; one column per seed."""
    run = next(run for run in runs if run["name"] == LONG)
    world, lines = run["settings"]["world"], evaluations(run)
    steps = [line["step"] for line in lines]
    seen = 100 * np.array([line["evaluation"]["frequency"] for line in lines])
    paid = np.array([line["learning"]["reward_c"] for line in lines])[..., world["channels"].index("walls")]
    figure, axes = plt.subplots(2, seen.shape[1], figsize=(12, 4), layout="constrained", sharex=True, sharey="row")
    for seed, (above, below) in enumerate(axes.T):
        for nth, (name, room) in enumerate(ROOMS.items()):
            line = {"color": hexadecimal(OBJECTS[nth]), "linestyle": dash_of(nth)}
            above.plot(steps, seen[:, seed, world["objects"].index(name)], label=room, **line)
        below.plot(steps, paid[:, seed], color="#555555")
        above.set_title(f"seed {seed}", fontsize=9)
        below.set_xlabel("learner steps")
        below.set_yscale("symlog", linthresh=1e-3)
        below.set_xticks([0, 24_000, 48_000], ["0", "24,000", "48,000"])
    axes[0, 0].set_ylabel("episodes that see it, %")
    axes[1, 0].set_ylabel("walls pay, nats per step")
    axes[0, 0].legend(frameon=False, fontsize=7, loc="upper left")
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figure", type=Path, help="where the long run is drawn")
    args, runs = parser.parse_args(), read_runs()
    if args.figure is not None:
        draw(runs, args.figure)
    print(*table(runs), sep="\n")


if __name__ == "__main__":
    main()
