"""An experiment is one record: a world, the agents it compares, and, where the paper has them, its numbers and claims.

A new experiment is a file with such a record and one line in `paper/experiments`; from outside the package, `register`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import jax

from ndigo.errors import NdigoError, unknown_name
from ndigo.from_module import from_module
from ndigo.worlds import World, make_world

if TYPE_CHECKING:
    from ndigo.paper.claims import Claim


class Row(NamedTuple):
    """One row of a table: a reward in an experiment."""

    experiment: str
    reward: str

    @property
    def name(self) -> str:
        return f"{self.experiment}-{self.reward}"


class Mean(NamedTuple):
    """One printed `mean ± spread`.

    The paper calls the spread a standard deviation; some of it fits a standard error better (that
    of Random in Experiment 1 is sd / sqrt(10)), so it is kept as printed and not used as an interval.
    """

    mean: float
    spread: float


Table = Mapping[str, Mapping[str, Mean | None]]  # reward -> object


@dataclass(frozen=True)
class Printed:
    """The numbers that the paper prints, from the full tables of its appendix, which agree with the short ones.

    visits       steps of an episode with the object in view
    first_visit  the first such step, 400 if none
    frequency    percent of episodes with the object in view at least once

    None stands for a printed dash ("the agent never visits the corresponding room").
    """

    place: str = ""
    tables: Mapping[str, Table] = field(default_factory=dict)

    def mean(self, metric: str, reward: str, name: str) -> Mean | None:
        """The printed number; None where there is a dash or nothing."""
        return self.tables.get(metric, {}).get(reward, {}).get(name)

    def text(self, metric: str, reward: str, name: str) -> str:
        """`300.4 ± 22.2`; a dash where the paper has one, nothing where it prints no such number."""
        found = self.mean(metric, reward, name)
        is_dash = found is None and name in self.tables.get(metric, {}).get(reward, {})
        return f"{found.mean} ± {found.spread}" if found else "-" if is_dash else ""

    @property
    def rewards(self) -> set[str]:
        return {reward for table in self.tables.values() for reward in table}


def table(objects: Sequence[str], rows: Mapping[str, Sequence[tuple[float, float] | None]]) -> Table:
    """One printed table: for each reward a number, or None, per object."""
    return {
        reward: {name: Mean(*pair) if pair else None for name, pair in zip(objects, pairs, strict=True)}
        for reward, pairs in rows.items()
    }


@dataclass(frozen=True)
class Experiment:
    name: str
    title: str
    question: str  #: what is asked with it
    world_name: str  #: one of WORLDS, or your own as MODULE:NAME
    rewards: tuple[str, ...]  #: the agents it compares, in a table's order
    discovers: tuple[str, ...]  #: the objects whose discovery loss its curve averages
    number: int | None = None  #: the paper's
    tracks: bool = False  #: whether it asks what is known of objects out of view
    printed: Printed = Printed()
    claims: tuple[Claim, ...] = ()
    beyond: tuple[str, ...] = ()  #: agents that the paper does not have; no claim is about them

    @property
    def all_rewards(self) -> tuple[str, ...]:
        return *self.rewards, *self.beyond

    @property
    def heading(self) -> str:
        return f"Experiment {self.number}: {self.title}" if self.number else f"{self.name}: {self.title}"

    @cached_property
    def world(self) -> World:
        """Built when first asked for, and kept."""
        # The first to ask may be a function that JAX is tracing; its tracers must not be kept.
        with jax.ensure_compile_time_eval():
            if ":" in self.world_name:
                return from_module(self.world_name, "world", World)
            return make_world(self.world_name)


class Experiments(dict[str, Experiment]):
    """By name; an unknown one is an error that lists the known."""

    def __missing__(self, name: str) -> Experiment:
        raise unknown_name("experiment", name, self)


EXPERIMENTS = Experiments()


def register(experiment: Experiment) -> None:
    """Makes the experiment known to every command."""
    if experiment.name in EXPERIMENTS:
        raise NdigoError(f"there is already an experiment {experiment.name}")
    EXPERIMENTS[experiment.name] = experiment


def experiment_of(world_name: str) -> Experiment | None:
    """The experiment that a run's world belongs to, by the experiment's name or its world's."""
    return next((e for e in EXPERIMENTS.values() if world_name in (e.name, e.world_name)), None)
