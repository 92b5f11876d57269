"""The reproduction as data: its rows, the order they are made in, the one recipe of all, and how far each one is.

A row is one reward in one experiment, trained by the recipe: the preset `gpu` with nothing changed but the world
and the reward. So all rows have the same seeds, learner steps and world steps, and no agent is tuned alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ndigo.config import Config, preset
from ndigo.errors import NdigoError, unknown_name
from ndigo.paper.experiments import EXPERIMENTS, Experiment, Row
from ndigo.paper.measured import MeasuredRow, measured
from ndigo.paper.rows import RowFolder, is_row, load_row
from ndigo.storage.run_folder import RunFolder

RECIPE = "gpu"
EPISODES = 100  # greedy episodes per seed of the final evaluation
FIRST = ("ndigo-4", "ndigo-5", "icm", "pe")  # what most claims need; ndigo-5 stands for ndigo-4 in Experiment 5
# Rows whose median seed's agent is kept: the NDIGO that the text is about, and two that they are compared with. Fixed
# beforehand, so that none is picked for its looks; eight, so that a checkout stays small.
SHIPS_AGENT = (
    Row("exp1", "ndigo-4"),
    Row("exp2", "ndigo-4"),
    Row("exp3", "ndigo-1"),
    Row("exp4", "ndigo-4"),
    Row("exp5", "ndigo-1"),
    Row("exp5", "ndigo-2"),
    Row("exp1", "pe"),
    Row("exp4", "icm"),
)


def all_rows() -> tuple[Row, ...]:
    """Every row of every experiment, in the order they are made."""
    return tuple(row for experiment in EXPERIMENTS.values() for row in _in_order(experiment))


def _in_order(experiment: Experiment) -> list[Row]:
    rewards = [reward for reward in FIRST if reward in experiment.all_rewards]
    rewards += [reward for reward in experiment.all_rewards if reward not in rewards]
    return [Row(experiment.name, reward) for reward in rewards]


def find_row(experiment: str, reward: str) -> Row:
    """The row of that name; an unknown one is an error that lists the known."""
    rewards = EXPERIMENTS[experiment].all_rewards
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


def load_rows(root: Path) -> dict[Row, MeasuredRow]:
    found = find_rows(root)
    for row, folder in found.items():
        _refuse_other_objects(row, folder)
    return {row: measured(row, folder) for row, folder in found.items()}


def _refuse_other_objects(row: Row, folder: RowFolder) -> None:
    """An error where the row's objects are not its experiment's: tables look them up by name."""
    experiment = EXPERIMENTS[row.experiment]
    for part, found, expected in (
        ("objects", folder.settings["world"]["objects"], list(experiment.world.objects)),
        ("discovers", folder.result["discovers"], list(experiment.discovers)),
    ):
        if found != expected:
            raise NdigoError(f"row {folder.path} is not of {row.experiment}: {part} is {found}, expected {expected}")


@dataclass(frozen=True)
class Job:
    """One run to make."""

    row: Row
    config: Config
    path: Path

    @property
    def is_trial(self) -> bool:
        """Not by the recipe: it never counts as a row."""
        return bool(departures(self.row, dataclasses.asdict(self.config)))

    def lines(self) -> list[dict[str, Any]]:
        """The metrics of what has been trained."""
        return RunFolder(self.path).metrics() if self.path.exists() else []


def job_of(row: Row, runs: Path, other_preset: str | None = None, **changes: int) -> Job:
    """A row's run, in its place under `runs`; by another preset, or with changes to the recipe, a trial's."""
    base = recipe(row) if other_preset is None else preset(other_preset, world=row.experiment, reward=row.reward)
    job = Job(row, dataclasses.replace(base, **changes), runs / "rows" / row.name)
    if not job.is_trial:
        return job
    marks = [other_preset or RECIPE, *(f"{name.replace('_', '-')}-{value}" for name, value in changes.items())]
    return dataclasses.replace(job, path=runs / "trials" / "-".join([row.name, *marks]))


def states(asked: Iterable[Row], rows: Path, runs: Path) -> list[dict[str, Any]]:
    """Of each row its state, its minutes so far, and the device that made it."""
    there = row_folders(rows)
    return [{"row": row.name} | state_of(job_of(row, runs), there.get(row)) for row in asked]


def state_of(job: Job, folder: RowFolder | None) -> dict[str, Any]:
    """How far one row is, given its folder if there is one."""
    state = {"state": "missing", "minutes": None, "device": "", "departures": ""}
    others = {} if folder is None else departures(job.row, folder.settings["config"])
    if folder is not None and not others:
        done = folder.result
        return state | {"state": "done", "minutes": done["seconds"] / 60, "device": done["device"]}
    # A row in a sweep's queue has a folder, and no run in it yet.
    is_begun = (job.path / "config.json").exists() and not departures(job.row, RunFolder(job.path).settings()["config"])
    if is_begun and (lines := job.lines()):
        return state | {"state": f"begun: step {lines[-1]['step']:,}", "minutes": lines[-1]["seconds"] / 60}
    if not others:
        return state
    shown = listed(others) if len(others) < 3 else f"{len(others)} settings differ"
    return state | {"state": f"not the recipe: {shown}", "departures": listed(others)}
