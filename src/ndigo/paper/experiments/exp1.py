"""Experiment 1 of the paper: ignore the noise, find the object."""

from ndigo.paper.experiments.experiment import Experiment

EXPERIMENT = Experiment(
    name="exp1",
    title="Ignore the noise, find the object",
    question="Does the agent find a fixed object and leave white noise alone?",
    world_name="fixed_and_noise",
    rewards=("random", "pe", "pg", "icm", "ndigo-1", "ndigo-2", "ndigo-4"),
    discovers=("fixed",),
)
