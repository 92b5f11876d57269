"""Rows written by hand: whole folders with the recipe's settings and numbers of one's choice."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ndigo.evaluation.tracking import NUM_AGES
from ndigo.paper.experiments import EXPERIMENTS, Row
from ndigo.paper.measured import MeasuredRow, measured
from ndigo.paper.plan import recipe
from ndigo.paper.rows import RowFolder, save_row

SEEDS = 10
# What an agent measures that nobody chose: nothing seen, nothing known.
NOTHING = {"visits": 0.0, "first_visit": 400.0, "frequency": 0.0, "discovery_loss": 4.0}
Choose = Callable[[str, str], float | None]  # metric, object -> mean over seeds, or None for the default


def contents(
    row: Row, choose: Choose = lambda metric, name: None, spread: float = 0.01, seeds: int = SEEDS, **about: Any
) -> dict[str, Any]:
    """Arguments of `save_row`: seeds lie evenly within `spread` (relative) around the chosen means."""
    experiment = EXPERIMENTS[row.experiment]
    names = list(experiment.world.objects)
    around = 1 + spread * np.linspace(-1, 1, seeds)[:, None]

    def chosen(metric: str, default: float) -> list[list[float]]:
        means = [default if (mean := choose(metric, name)) is None else mean for name in names]
        return (np.array(means) * around).tolist()

    evaluation = {metric: chosen(metric, default) for metric, default in NOTHING.items()}
    channels = ["walls", *names]
    paid = [choose("reward", name) or 0.0 for name in channels]
    learning = {"reward": [sum(paid)] * seeds, "reward_c": [paid] * seeds}
    known = np.repeat(np.array(chosen("tracking", 4.0))[:, :, None], NUM_AGES, axis=2)
    steps = recipe(row).learner_steps
    lines = [
        {"step": step, "seconds": 1.0, "learning": learning, "evaluation": evaluation} for step in (steps // 2, steps)
    ]
    return {
        "settings": {
            "config": dataclasses.asdict(recipe(row)),
            "world": {"channels": channels, "in_view": names, "objects": names, "num_steps": 400},
            "reward": row.reward,
            "versions": {"ndigo": "0.1.0"},
            "device": "made up",
        },
        "result": {
            "learner_steps": steps,
            "world_steps": 0,
            "seconds": 60.0,
            "device": "made up",
            "finished": "2026-01-01",
            "episodes": 100,
            "discovers": list(experiment.discovers),
            "median_seed": 4,
            "evaluation": evaluation,
            "tracking": {"loss": known.tolist(), "steps": np.ones(known.shape, int).tolist()},
            **about,
        },
        "lines": lines,
    }


def make_up(root: Path, row: Row, choose: Choose = lambda metric, name: None, **more: Any) -> RowFolder:
    """The row's folder under `root`."""
    return save_row(root / row.name, **contents(row, choose, **more))


def numbers_of(
    row: Row, choose: Choose = lambda metric, name: None, spread: float = 0.01, seeds: int = SEEDS
) -> MeasuredRow:
    """The same without files."""
    made = contents(row, choose, spread, seeds)
    return measured(row, RowFolder(Path(), made["settings"], made["result"], made["lines"]))
