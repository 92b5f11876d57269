"""Prints the study's two tables, one row per run: `python studies/first-recipe/table.py [--figure figure.png]`.

First agents at their last evaluation; then world models that watch a random walker: what the walls cost them one step
ahead, mean over the 320 updates before a step. The figure draws every seed of the runs to compare.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from ndigo.paper.experiments import experiment_of
from ndigo.report.statistics import bootstrap

WALK = "random-walk/"  # how the names of models begin that watch a walker
STEPS = (1_600, 3_200)
DRAWN = {
    "batch64-agent1e-4-falling": "the recipe",
    "batch64-agent1e-4-falling-again": "the same again",
    "whole-replay": "a replay of the whole run, probe 3e-3",
    "model4e-3": "model 4e-3, probe 1e-2",
}
COLUMNS = """run, world, seeds, learner steps, seconds, fixed: visits, first visit, discovery loss,
distractor: visits, wall reward""".replace("\n", " ").split(", ")


def read_runs() -> list[dict[str, Any]]:
    """Every run's name, settings and lines of metrics."""
    with gzip.open(Path(__file__).with_name("runs.jsonl.gz"), "rt") as file:
        return [json.loads(line) for line in file]


def evaluations(run: dict[str, Any]) -> list[dict[str, Any]]:
    return [line for line in run["metrics"] if "evaluation" in line]


def table(runs: list[dict[str, Any]]) -> list[str]:
    rows = ["| " + " | ".join(COLUMNS) + " |", "|---|" + "--:|" * (len(COLUMNS) - 1)]
    for run in sorted((run for run in runs if not run["name"].startswith(WALK)), key=place):
        last, world = evaluations(run)[-1], run["settings"]["world"]
        fixed = world["objects"].index("fixed")
        (distractor,) = {0, 1} - {fixed}
        seen = {name: np.asarray(values) for name, values in last["evaluation"].items()}
        walls = np.asarray(last["learning"]["reward_c"])[:, world["channels"].index("walls")]
        texts = [
            run["name"],
            experiment(run),
            str(len(walls)),
            f"{last['step']:,}",
            f"{last['seconds']:.0f}",
            spread(seen["visits"][:, fixed], ".0f"),
            spread(seen["first_visit"][:, fixed], ".0f"),
            spread(seen["discovery_loss"][:, fixed], ".2f"),
            spread(seen["visits"][:, distractor], ".1f"),
            spread(walls, ".3f"),
        ]
        rows.append("| " + " | ".join(texts) + " |")
    return rows


def random_walk(runs: list[dict[str, Any]]) -> list[str]:
    rows = ["| run | seeds | " + " | ".join(f"walls at step {step:,}, nats" for step in STEPS) + " |"]
    rows.append("|---|" + "--:|" * (1 + len(STEPS)))
    for run in (run for run in runs if run["name"].startswith(WALK)):
        walls = run["settings"]["world"]["channels"].index("walls")
        lines = {line["step"]: np.asarray(line["learning"]["model_loss_c"])[:, walls] for line in run["metrics"]}
        found = [" and ".join(f"{loss:.3f}" for loss in lines[step]) for step in STEPS]
        rows.append("| " + " | ".join([run["name"].removeprefix(WALK), str(len(lines[STEPS[0]])), *found]) + " |")
    return rows


def experiment(run: dict[str, Any]) -> str:
    found = experiment_of(run["settings"]["world"]["name"])
    assert found is not None
    return found.name


def place(run: dict[str, Any]) -> tuple[str, int, str]:
    """By experiment, the longest run first."""
    return experiment(run), -evaluations(run)[-1]["step"], run["name"]


def spread(per_seed: np.ndarray, digits: str) -> str:
    mean, low, high = bootstrap(per_seed)
    return f"{mean:{digits}} ({low:{digits}} to {high:{digits}})"


def draw(runs: list[dict[str, Any]], path: Path) -> None:
    """Discovery loss of every seed, and their mean, one panel per run."""
    figure, axes = plt.subplots(1, len(DRAWN), figsize=(3 * len(DRAWN), 3), layout="constrained", sharey=True)
    for ax, (name, title) in zip(axes, DRAWN.items(), strict=True):
        lines = next(evaluations(run) for run in runs if run["name"] == name)
        losses = np.array([line["evaluation"]["discovery_loss"] for line in lines])[:, :, 0]
        steps = [line["step"] for line in lines]
        ax.plot(steps, losses, color="#999999", linewidth=0.8)
        ax.plot(steps, losses.mean(axis=1), color="#0072b2", linewidth=2, label=f"mean of {losses.shape[1]} seeds")
        ax.axhline(np.log(48), color="black", linestyle=":", linewidth=1, label="knows the room, ln 48")
        ax.set(title=title, xlabel="learner steps", ylim=(0, 5.8))
        ax.set_xticks([0, 8_000, 16_000], ["0", "8,000", "16,000"])
        ax.title.set_fontsize(9)
        ax.legend(frameon=False, fontsize=7, loc="upper right")
    axes[0].set_ylabel("discovery loss, nats")
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figure", type=Path)
    figure = parser.parse_args().figure
    runs = read_runs()
    print("\n".join([*table(runs), "", *random_walk(runs)]))
    if figure is not None:
        draw(runs, figure)


if __name__ == "__main__":
    main()
