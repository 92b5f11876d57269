"""Experiment 2 of the paper: search three rooms."""

from ndigo.paper.experiments.experiment import Experiment

EXPERIMENT = Experiment(
    name="exp2",
    title="Search three rooms",
    question="Does the agent look for an object that may be in any of three rooms?",
    world_name="fixed_anywhere",
    rewards=("random", "pe", "pg", "icm", "ndigo-1", "ndigo-2", "ndigo-4"),
    discovers=("fixed",),
)
