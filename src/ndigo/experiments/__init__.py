"""The paper's five experiments."""

from ndigo.errors import unknown_name
from ndigo.experiments import exp1, exp2, exp3, exp4, exp5
from ndigo.experiments.experiment import Experiment
from ndigo.worlds import WORLDS, World, make_world

EXPERIMENTS = {m.EXPERIMENT.name: m.EXPERIMENT for m in (exp1, exp2, exp3, exp4, exp5)}


def find_experiment(name: str) -> Experiment:
    """The experiment of that name; an unknown one is an error that lists the known."""
    if name not in EXPERIMENTS:
        raise unknown_name("experiment", name, EXPERIMENTS)
    return EXPERIMENTS[name]


def find_world(name: str, **options) -> World:
    """The world of that name, or of the experiment of that name; options as for `make_world`."""
    if name in EXPERIMENTS:
        return make_world(EXPERIMENTS[name].world_name, **options)
    if name not in WORLDS:
        raise unknown_name("world or experiment", name, [*EXPERIMENTS, *WORLDS])
    return make_world(name, **options)


__all__ = ["EXPERIMENTS", "Experiment", "find_experiment", "find_world"]
