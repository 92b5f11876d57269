"""Rows of agents that need no training, from results/oracle: `python -m benchmarks.reference_agents` makes them."""

from __future__ import annotations

import json
from math import nan
from pathlib import Path

from ndigo.paper.experiments import Experiment
from ndigo.report.statistics import Estimate
from ndigo.report.tables import Row

FOLDER = Path(__file__).parents[3] / "results" / "oracle"  # of the checkout; an installed package has none


def reference_rows(experiment: Experiment | None) -> list[Row]:
    """The experiment's reference agents; none where they were not measured."""
    path = FOLDER / f"{experiment.name}.json" if experiment else FOLDER
    if not path.is_file():
        return []
    return [
        Row(
            label=row["label"],
            reward="",
            values={
                metric: {name: Estimate(*[*cell, nan, nan][:3]) for name, cell in cells.items()}
                for metric, cells in row["values"].items()
            },
        )
        for row in json.loads(path.read_text())["rows"]
    ]
