"""Experiment 3 of the paper: track what moves out of view."""

from ndigo.paper.experiments.experiment import Experiment

EXPERIMENT = Experiment(
    name="exp3",
    title="Track what moves out of view",
    question="Does the belief keep the dynamics of bouncing objects that are out of sight?",
    world_name="bouncing",
    rewards=("random", "pe", "pg", "icm", "ndigo-1", "ndigo-2", "ndigo-4"),
    discovers=("upper", "lower"),
)
