"""A kind of object of one's own, and a world it lives in: it walks its room cell by cell, in reading order, for ever.

Its law is written three times: for JAX (`KINDS`), which is all that training needs; for one Gymnasium environment in
plain Python (`MOVES`); and for the exact filter, as what becomes of probability (`CARRY`).
"""

import jax.numpy as jnp
import numpy as np

from ndigo.interop.numpy_world import MOVES
from ndigo.oracle.motion import CARRY
from ndigo.worlds import KINDS, Kind, Object, grid_world, read_layout
from ndigo.worlds.objects import Placed, start_anywhere


def patrol(words, placed, agent, is_bumped, places):
    """To the next cell of its room, the first after the last; waits while the agent stands there."""
    room = places.room(placed.cell)
    following = places.cells[room, (places.rank[placed.cell] + 1) % places.sizes[room]]
    return Placed(cell=jnp.where(following == agent, placed.cell, following))


def patrol_in_python(o, word, agent, is_bumped):
    cells = o.cells[o.room_of[o.cell]]
    following = cells[(o.rank[o.cell] + 1) % len(cells)]
    if following != agent:
        o.cell = following


def carry_patrol(room, beside):
    """f'(y') = f(y) of the cell y before it, but for what waits."""
    onward = np.zeros((len(room), len(room)), np.float32)
    for own in room.T.astype(bool):
        cells = np.flatnonzero(own)
        onward[cells, np.roll(cells, -1)] = 1

    def carry(free, bumped, here):
        f = free + bumped
        waiting = f * (here @ onward.T)
        return (f - waiting) @ onward + waiting

    return carry


KINDS["patrolling"] = Kind(blocks=True, start_words=1, move_words=0, min_cells=2, start=start_anywhere, move=patrol)
MOVES["patrolling"] = patrol_in_python
CARRY["patrolling"] = carry_patrol

DRAWING = """
#########
#AAA#BBB#
#APA BBB#
#AAA#BBB#
#########
"""
world = grid_world(
    "guarded",
    read_layout(DRAWING, {"A": "west", "B": "east"}),
    [Object("guard", "patrolling", ("east",)), Object("flicker", "white_noise", ("west",))],
    view=3,
    num_steps=12,
)
