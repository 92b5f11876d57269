"""Experiment 5 of the paper: the maze."""

from ndigo.paper.experiments.experiment import Experiment

EXPERIMENT = Experiment(
    name="exp5",
    title="The maze",
    question="How far into a chain of rooms does curiosity alone lead?",
    world_name="maze",
    rewards=("random", "pe", "pg", "icm", "ndigo-1", "ndigo-2", "ndigo-5", "ndigo-10"),
    discovers=("fixed2", "fixed3", "fixed4", "movable"),
)
