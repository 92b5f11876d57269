"""Prints the recipe study of docs/results.md from results/study/: one row a run, its last evaluation."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ndigo.report.statistics import bootstrap
from ndigo.storage.run_folder import RunFolder

STUDY = Path(__file__).parents[1] / "results" / "study"
COLUMNS = """run, world, seeds, learner steps, seconds, fixed: visits, first visit, discovery loss,
distractor: visits, wall reward""".replace("\n", " ").split(", ")


def table() -> list[str]:
    rows = ["| " + " | ".join(COLUMNS) + " |", "|---|" + "--:|" * (len(COLUMNS) - 1)]
    folders = [RunFolder(path) for path in STUDY.iterdir()]
    for folder in sorted(folders, key=lambda f: (f.settings()["world"]["name"], -f.evaluations()[-1]["step"], f.path)):
        last, world = folder.evaluations()[-1], folder.settings()["world"]
        fixed = world["objects"].index("fixed")
        (distractor,) = {0, 1} - {fixed}
        seen = {name: np.asarray(values) for name, values in last["evaluation"].items()}
        walls = np.asarray(last["learning"]["reward_c"])[:, world["channels"].index("walls")]
        cells = [
            folder.path.name,
            world["name"],
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


def spread(per_seed: np.ndarray, digits: str) -> str:
    mean, low, high = bootstrap(per_seed)
    return f"{mean:{digits}} ({low:{digits}} to {high:{digits}})"


if __name__ == "__main__":
    print("\n".join(table()))
