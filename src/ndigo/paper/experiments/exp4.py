"""Experiment 4 of the paper: structured noise."""

from ndigo.paper.experiments.experiment import Experiment

EXPERIMENT = Experiment(
    name="exp4",
    title="Structured noise",
    question="Does a longer horizon keep the agent from a Brownian object?",
    world_name="brownian_and_fixed",
    rewards=("random", "pe", "pg", "icm", "ndigo-1", "ndigo-2", "ndigo-4"),
    discovers=("fixed",),
)
