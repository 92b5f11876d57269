"""The paper's five experiments, and worlds by any of their names."""

from collections.abc import Collection

from ndigo.errors import NdigoError, unknown_name
from ndigo.experiments import exp1, exp2, exp3, exp4, exp5
from ndigo.experiments.experiment import Experiment
from ndigo.from_module import from_module
from ndigo.worlds import WORLDS, World, make_world

EXPERIMENTS = {m.EXPERIMENT.name: m.EXPERIMENT for m in (exp1, exp2, exp3, exp4, exp5)}


def find_experiment(name: str) -> Experiment:
    """The experiment of that name; an unknown one is an error that lists the known."""
    if name not in EXPERIMENTS:
        raise unknown_name("experiment", name, EXPERIMENTS)
    return EXPERIMENTS[name]


def find_world(name: str, *, trust: Collection[str] | None = None, **options) -> World:
    """The world of that name, of the experiment of that name, or your own as MODULE:NAME.

    Options are those of `make_world`; a world of your own comes as its module makes it. Where a file gave the name,
    `trust` is the modules that it may name.
    """
    if ":" in name:
        return from_module(name, "world", World, trust)
    if name.startswith("<"):
        raise NdigoError(f"world {name} was a record made in Python; hand it over again, or train it as MODULE:NAME")
    if name in EXPERIMENTS:
        experiment = EXPERIMENTS[name]
        return make_world(experiment.world_name, **options) if options else experiment.world
    if name not in WORLDS:
        raise unknown_name("world or experiment", name, [*EXPERIMENTS, *WORLDS])
    return make_world(name, **options)


def experiment_of(world_name: str) -> Experiment | None:
    """The experiment that a run's world belongs to, by the experiment's name or its world's."""
    return next((e for e in EXPERIMENTS.values() if world_name in (e.name, e.world_name)), None)


__all__ = ["EXPERIMENTS", "Experiment", "experiment_of", "find_experiment", "find_world"]
