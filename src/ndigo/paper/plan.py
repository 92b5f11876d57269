"""The reproduction as data: its rows, the order they are made in, the one recipe of all, and which are there.

A row is one reward in one experiment, trained by the recipe: the preset `gpu` with nothing changed but the world
and the reward. So all rows have the same seeds, learner steps and world steps, and no agent is tuned alone.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from ndigo.config import Config, preset
from ndigo.errors import unknown_name
from ndigo.paper.experiments import EXPERIMENTS, Experiment, Row, find_experiment
from ndigo.paper.measured import Measured, measured
from ndigo.paper.rows import RowFolder, is_row, load_row

RECIPE = "gpu"
EPISODES = 100  # greedy episodes per seed of the final evaluation
FIRST = ("ndigo-4", "ndigo-5", "icm", "pe")  # what most claims need; ndigo-5 stands for ndigo-4 in Experiment 5
SHOWN_BASELINES = (Row("exp1", "pe"), Row("exp1", "icm"), Row("exp4", "icm"))


def all_rows() -> tuple[Row, ...]:
    """Every row of every experiment, in the order they are made."""
    return tuple(row for experiment in EXPERIMENTS.values() for row in _in_order(experiment))


def _in_order(experiment: Experiment) -> list[Row]:
    rewards = [reward for reward in FIRST if reward in experiment.rewards]
    rewards += [reward for reward in experiment.rewards if reward not in rewards]
    return [Row(experiment.name, reward) for reward in rewards]


def ships_agent(row: Row) -> bool:
    """Whether the median seed's agent is kept with the result.

    Fixed beforehand, so that none is picked for its looks: every NDIGO, and the baselines whose behaviour the text
    describes. All 36 would exceed the 30 MB that `results/` may take.
    """
    return row.reward.startswith("ndigo") or row in SHOWN_BASELINES


def find_row(experiment: str, reward: str) -> Row:
    """The row of that name; an unknown one is an error that lists the known."""
    rewards = find_experiment(experiment).rewards
    if reward not in rewards:
        raise unknown_name(f"reward of {experiment}", reward, rewards)
    return Row(experiment, reward)


def recipe(row: Row) -> Config:
    """The settings that make a run a row."""
    return preset(RECIPE, world=row.experiment, reward=row.reward)


def departures(row: Row, config: dict[str, Any]) -> dict[str, Any]:
    """The settings in which a run is not the recipe's; empty where it is.

    A run older than a setting did not have it, whatever its default: it is not the recipe's either.
    """
    wanted = dataclasses.asdict(recipe(row))
    found = {name: config.get(name, "not yet a setting") for name in (*wanted, *config)}
    return {name: value for name, value in found.items() if name not in wanted or wanted[name] != value}


def listed(settings: dict[str, Any]) -> str:
    """`gamma 0.9, seeds 3`."""
    return ", ".join(f"{name} {value}" for name, value in settings.items())


def row_folders(root: Path) -> dict[Row, RowFolder]:
    """The finished rows under `root`, in the plan's order, whatever their recipe."""
    return {row: load_row(root / row.name) for row in all_rows() if is_row(root / row.name)}


def find_rows(root: Path) -> dict[Row, RowFolder]:
    """Those made by the recipe: no other counts."""
    return {row: x for row, x in row_folders(root).items() if not departures(row, x.settings["config"])}


def load_rows(root: Path) -> dict[Row, Measured]:
    return {row: measured(row, folder) for row, folder in find_rows(root).items()}
