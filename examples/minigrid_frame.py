"""MiniGrid's view as a frame: what one cell can show, as (object, colour, state).

Fewer classes than all 264 are quicker to predict.
"""

from ndigo import frames

COLOURED = [(kind, colour, 0) for kind in (3, 5, 6, 7) for colour in range(6)]  # floor, key, ball, box
DOORS = [(4, colour, state) for colour in range(6) for state in range(3)]
PLAIN = [(0, 0, 0), (1, 0, 0), (2, 5, 0), (8, 1, 0), (9, 0, 0)]  # unseen, empty, wall, goal, lava
FRAME = frames.tiles((11, 6, 4), 7, names=("object", "colour", "state"), listed=COLOURED + DOORS + PLAIN)
