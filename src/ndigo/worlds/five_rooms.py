"""The paper's `5 rooms`: a 5x5 centre and four 48-cell rooms behind two-cell doors (19x19).

The drawing is not in the paper's text; it is recovered from its numbers (48 cells a room, what a
random walker meets). `docs/deviations.md` has the evidence.
"""

from __future__ import annotations

from ndigo.worlds.grid_world import grid_world
from ndigo.worlds.layout import Layout, read_layout
from ndigo.worlds.objects import Object
from ndigo.worlds.world import World

DRAWING = """
###################
##UUUUUUUUUUUUUUU##
#L#UUUUUUUUUUUUU#R#
#LL#UUUUUUUUUUU#RR#
#LLL#UUUUUUUUU#RRR#
#LLLL#### ####RRRR#
#LLLL#### ####RRRR#
#LLLL##CCCCC##RRRR#
#LLLL##CCCCC##RRRR#
#LLLL  CCPCC  RRRR#
#LLLL##CCCCC##RRRR#
#LLLL##CCCCC##RRRR#
#LLLL#### ####RRRR#
#LLLL#### ####RRRR#
#LLL#DDDDDDDDD#RRR#
#LL#DDDDDDDDDDD#RR#
#L#DDDDDDDDDDDDD#R#
##DDDDDDDDDDDDDDD##
###################
"""
LEGEND = {"U": "upper", "D": "lower", "L": "left", "R": "right", "C": "centre"}


def layout() -> Layout:
    return read_layout(DRAWING, LEGEND)


def fixed_and_noise(**options) -> World:
    """Experiment 1: a fixed object in the upper room, white noise in the lower."""
    objects = [Object("fixed", "fixed", ("upper",)), Object("noise", "white_noise", ("lower",))]
    return grid_world("fixed_and_noise", layout(), objects, **options)


def fixed_anywhere(**options) -> World:
    """Experiment 2: a fixed object in the upper, left or right room, white noise in the lower."""
    objects = [
        Object("fixed", "fixed", ("upper", "left", "right")),
        Object("noise", "white_noise", ("lower",)),
    ]
    return grid_world("fixed_anywhere", layout(), objects, **options)


def bouncing(**options) -> World:
    """Experiment 3: bouncing objects in the upper and lower rooms, white noise in the right."""
    objects = [
        Object("upper", "bouncing", ("upper",)),
        Object("lower", "bouncing", ("lower",)),
        Object("noise", "white_noise", ("right",)),
    ]
    return grid_world("bouncing", layout(), objects, **options)


def brownian_and_fixed(**options) -> World:
    """Experiment 4: a Brownian object in the upper room, a fixed one in the lower."""
    objects = [Object("brownian", "brownian", ("upper",)), Object("fixed", "fixed", ("lower",))]
    return grid_world("brownian_and_fixed", layout(), objects, **options)
