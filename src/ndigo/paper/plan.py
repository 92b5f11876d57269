"""The reproduction as data: its cells, the order they are run in, and the one recipe of all.

A cell is one reward in one experiment, trained by the recipe: the preset `gpu` with nothing changed but the world
and the reward. So all cells have the same seeds, learner steps and world steps, and no agent is tuned alone.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

from ndigo.config import Config, preset
from ndigo.errors import unknown_name
from ndigo.paper.experiments import EXPERIMENTS, Experiment, find_experiment

RECIPE = "gpu"
EPISODES = 100  # greedy episodes a seed of the final evaluation
FIRST = ("ndigo-4", "ndigo-5", "icm", "pe")  # what most claims need; ndigo-5 stands for ndigo-4 in Experiment 5


class Cell(NamedTuple):
    """One reward in one experiment."""

    experiment: str
    reward: str

    @property
    def name(self) -> str:
        return f"{self.experiment}-{self.reward}"

    @property
    def ships_agent(self) -> bool:
        """Whether the median seed's agent is kept with the result.

        Fixed beforehand, so that none is picked for its looks: every NDIGO, and the baselines whose behaviour the text
        describes. All 36 would exceed the 30 MB that `results/` may take.
        """
        return self.reward.startswith("ndigo") or self in SHOWN_BASELINES


SHOWN_BASELINES = (Cell("exp1", "pe"), Cell("exp1", "icm"), Cell("exp4", "icm"))


def _in_order(experiment: Experiment) -> list[Cell]:
    rewards = [reward for reward in FIRST if reward in experiment.rewards]
    rewards += [reward for reward in experiment.rewards if reward not in rewards]
    return [Cell(experiment.name, reward) for reward in rewards]


CELLS: tuple[Cell, ...] = tuple(
    cell for name in ("exp1", "exp4", "exp2", "exp3", "exp5") for cell in _in_order(EXPERIMENTS[name])
)


def find_cell(experiment: str, reward: str) -> Cell:
    """The cell of that name; an unknown one is an error that lists the known."""
    rewards = find_experiment(experiment).rewards
    if reward not in rewards:
        raise unknown_name(f"reward of {experiment}", reward, rewards)
    return Cell(experiment, reward)


def recipe(cell: Cell) -> Config:
    """The settings that make a run a cell."""
    return preset(RECIPE, world=cell.experiment, reward=cell.reward)


def departures(cell: Cell, config: dict[str, Any]) -> dict[str, Any]:
    """The settings in which a run is not the recipe's; empty where it is."""
    wanted = dataclasses.asdict(recipe(cell))
    # A setting younger than the run has its default, which is what the run did.
    found = dataclasses.asdict(Config()) | config
    return {name: value for name, value in found.items() if wanted.get(name) != value}


def listed(settings: dict[str, Any]) -> str:
    """`gamma 0.9, seeds 3`."""
    return ", ".join(f"{name} {value}" for name, value in settings.items())
