"""The paper's `maze`: six rooms in a chain, white noise in the first after the start.

Paper: the layout is not published. Ours: a reconstruction that meets everything the paper says of it
(order of rooms, what can be seen from where, how seldom a random walker sees room 2), because a widely copied
one shows room 3 from room 1. `docs/deviations.md` lists the conditions; `tests/worlds/test_maze.py` holds them.
"""

from __future__ import annotations

from ndigo.worlds.grid_world import grid_world
from ndigo.worlds.layout import Layout, read_layout
from ndigo.worlds.objects import Object
from ndigo.worlds.world import World

DRAWING = """
#########################
#55555#######44444#######
#55555       44444    ###
#55555#######44444### ###
#55555#######44444### ###
##################### ###
##################### ###
####000#1111#######33333#
####0P0 1111#######33333#
####000#1111#######33333#
########1111#######33333#
########### ######### ###
########### ######### ###
####        ######### ###
#### ################ ###
#### #############222222#
####              222222#
##################222222#
##################222222#
##################222222#
#########################
"""
LEGEND = {str(i): f"room{i}" for i in range(6)}


def layout() -> Layout:
    return read_layout(DRAWING, LEGEND)


def maze(**options) -> World:
    """Experiment 5: white noise in room 1, fixed objects in 2, 3 and 4, a movable one in 5."""
    objects = [
        Object("noise", "white_noise", ("room1",)),
        # A fixed object at a corridor's mouth would cut the chain of rooms.
        *(Object(f"fixed{i}", "fixed", (f"room{i}",), avoids_mouths=True) for i in (2, 3, 4)),
        Object("movable", "movable", ("room5",)),
    ]
    return grid_world("maze", layout(), objects, **options)
