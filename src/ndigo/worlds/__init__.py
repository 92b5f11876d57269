"""The paper's worlds, and what is needed to draw another."""

from __future__ import annotations

from collections.abc import Callable

from ndigo.errors import unknown_name
from ndigo.frames import Channel
from ndigo.worlds.five_rooms import bouncing, brownian_and_fixed, fixed_and_noise, fixed_anywhere
from ndigo.worlds.grid_world import EPISODE_STEPS, Grid, GridState, grid_world
from ndigo.worlds.layout import Layout, read_layout
from ndigo.worlds.maze import maze
from ndigo.worlds.objects import KINDS, Kind, Object
from ndigo.worlds.world import ACTIONS, World

WORLDS: dict[str, Callable[..., World]] = {
    "fixed_and_noise": fixed_and_noise,
    "fixed_anywhere": fixed_anywhere,
    "bouncing": bouncing,
    "brownian_and_fixed": brownian_and_fixed,
    "maze": maze,
}


def make_world(name: str, **options) -> World:
    """The registered world of that name; options such as `view` and `num_steps` go to `grid_world`."""
    if name not in WORLDS:
        raise unknown_name("world", name, WORLDS)
    return WORLDS[name](**options)


__all__ = [
    "ACTIONS",
    "EPISODE_STEPS",
    "KINDS",
    "WORLDS",
    "Channel",
    "Grid",
    "GridState",
    "Kind",
    "Layout",
    "Object",
    "World",
    "grid_world",
    "make_world",
    "read_layout",
]
