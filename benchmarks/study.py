"""Prints the recipe study of docs/results.md from results/study/: one row a run, its last evaluation."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ndigo.experiments import experiment_of
from ndigo.report.statistics import bootstrap
from ndigo.storage.run_folder import RunFolder

STUDY = Path(__file__).parents[1] / "results" / "study"
COLUMNS = """run, world, seeds, learner steps, seconds, fixed: visits, first visit, discovery loss,
distractor: visits, wall reward""".replace("\n", " ").split(", ")


def table() -> list[str]:
    rows = ["| " + " | ".join(COLUMNS) + " |", "|---|" + "--:|" * (len(COLUMNS) - 1)]
    for folder in sorted(map(RunFolder, STUDY.iterdir()), key=place):
        last, world = folder.evaluations()[-1], folder.settings()["world"]
        fixed = world["objects"].index("fixed")
        (distractor,) = {0, 1} - {fixed}
        seen = {name: np.asarray(values) for name, values in last["evaluation"].items()}
        walls = np.asarray(last["learning"]["reward_c"])[:, world["channels"].index("walls")]
        cells = [
            folder.path.name,
            experiment(folder),
            str(len(walls)),
            f"{last['step']:,}",
            f"{last['seconds']:.0f}",
            spread(seen["visits"][:, fixed], ".0f"),
            spread(seen["first_visit"][:, fixed], ".0f"),
            spread(seen["discovery_loss"][:, fixed], ".2f"),
            spread(seen["visits"][:, distractor], ".1f"),
            spread(walls, ".3f"),
        ]
        rows.append("| " + " | ".join(cells) + " |")
    return rows


def experiment(folder: RunFolder) -> str:
    found = experiment_of(folder.settings()["world"]["name"])
    assert found is not None
    return found.name


def place(folder: RunFolder) -> tuple[str, int, Path]:
    """By experiment, the longest run first."""
    return experiment(folder), -folder.evaluations()[-1]["step"], folder.path


def spread(per_seed: np.ndarray, digits: str) -> str:
    mean, low, high = bootstrap(per_seed)
    return f"{mean:{digits}} ({low:{digits}} to {high:{digits}})"


if __name__ == "__main__":
    print("\n".join(table()))
