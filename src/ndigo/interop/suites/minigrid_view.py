"""What a cell of MiniGrid's views shows, in MiniGrid itself and in NAVIX."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from ndigo import frames
from ndigo.errors import NdigoError
from ndigo.frames import Frame
from ndigo.interop.suites.bounds import OWN_FRAME

MINIGRID, MINIGRID_NAMES = (11, 6, 4), ("object", "colour", "state")
PARTS = {"image", "direction", "mission"}  # of its observations


def minigrid_tiles(num_colours: int, num_states: int = 3) -> list[tuple[int, int, int]]:
    """What a cell of MiniGrid can show, of the hundreds of combinations of its layers.

    An output for each of all of them would be four fifths of the model's, and of its memory, for nothing.
    """
    plain = [(0, 0, 0), (1, 0, 0), (2, 5, 0), (8, 1, 0), (9, 0, 0)]  # unseen, empty, wall, goal, lava
    coloured = [(kind, colour, 0) for kind in (3, 5, 6, 7) for colour in range(num_colours)]  # floor, key, ball, box
    # Open, closed, locked.
    doors = [(4, colour, state) for colour, state in product(range(num_colours), range(num_states))]
    return plain + coloured + doors + [(10, 0, direction) for direction in range(4)]  # itself, in a view of all


def is_minigrid(names: set[str]) -> bool:
    """Whether these are the parts of MiniGrid's observations; another's image beside other parts is its own."""
    return "image" in names <= PARTS


def minigrid_frame(name: str, parts: Mapping[str, Any]) -> Frame:
    """The partial view. The compass and the mission's text are left out."""
    shape = tuple(parts["image"].shape)
    if len(shape) != 3 or shape[2] != len(MINIGRID) or max(shape) > 64:
        raise NdigoError(f"world {name}: the image of its observations, {shape}, is no map of tiles: hand over a frame")
    listed = minigrid_tiles(MINIGRID[1])
    return frames.tiles(MINIGRID, shape[1], shape[0], names=MINIGRID_NAMES, listed=listed)


def read_image(observation: Any) -> Any:
    """MiniGrid's image has a column first, then a row in it; a frame has rows first."""
    return observation["image"].swapaxes(-3, -2)


def read_known_image(name: str, observation: Any) -> Any:
    """The same for a trial: an error for a tile of somebody's own, which would be one class with all others."""
    seen = read_image(observation)
    if unknown := {*frames.tiles_in(seen)} - {*minigrid_tiles(MINIGRID[1])}:
        raise NdigoError(f"world {name}: its image shows {min(unknown)}, which no cell of MiniGrid's does: {OWN_FRAME}")
    return seen
