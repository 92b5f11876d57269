"""The paper's five experiments, one file each."""

from ndigo.paper.experiment import EXPERIMENTS, Experiment, Row, experiment_of, register
from ndigo.paper.experiments import exp1, exp2, exp3, exp4, exp5

for experiment in (exp1, exp2, exp3, exp4, exp5):
    register(experiment.EXPERIMENT)

__all__ = ["EXPERIMENTS", "Experiment", "Row", "experiment_of", "register"]
