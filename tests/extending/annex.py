"""An experiment of one's own, outside the package: a small map, two agents, and neither printed numbers nor claims."""

from ndigo.paper.experiment import Experiment
from ndigo.worlds.grid_world import grid_world
from ndigo.worlds.layout import read_layout
from ndigo.worlds.objects import Object

DRAWING = """
#########
#AAA#BBB#
#APA BBB#
#AAA#BBB#
#########
"""
world = grid_world(
    "annex",
    read_layout(DRAWING, {"A": "west", "B": "east"}),
    [Object("lamp", "fixed", ("east",)), Object("flicker", "white_noise", ("west",))],
    view=3,
    num_steps=12,
)

EXPERIMENT = Experiment(
    name="annex",
    title="A lamp next door",
    question="Does the agent look into the other room?",
    world_name="extending.annex:world",
    rewards=("random", "ndigo-1"),
    discovers=("lamp",),
    tracks=True,
)
