"""The paper's five experiments."""

from ndigo.errors import unknown_name
from ndigo.experiments import exp1, exp2, exp3, exp4, exp5
from ndigo.experiments.experiment import Experiment

EXPERIMENTS = {m.EXPERIMENT.name: m.EXPERIMENT for m in (exp1, exp2, exp3, exp4, exp5)}


def find_experiment(name: str) -> Experiment:
    """The experiment of that name; an unknown one is an error that lists the known."""
    if name not in EXPERIMENTS:
        raise unknown_name("experiment", name, EXPERIMENTS)
    return EXPERIMENTS[name]


__all__ = ["EXPERIMENTS", "Experiment", "find_experiment"]
