"""Tiny worlds, each twice: as the package's `World` and as a brute-force enumeration."""

from __future__ import annotations

import numpy as np
from reference.enumeration import Distribution, Enumeration, State, Thing

from ndigo.worlds import KINDS, Object, World, grid_world, read_layout

ROOM = """
########
#AA#BBB#
#AAP BB#
#AA#BBB#
########
"""
TWO_ROOMS = """
#########
#AA###BB#
#AA P BB#
#AA###BB#
#########
"""

# name: drawing, the start's room, (kind, rooms, blocks) of each object
TINY = {
    "fixed": (ROOM, "A", [("fixed", "B", None)]),
    "fixed in either room": (ROOM, "A", [("fixed", "AB", None)]),
    "bouncing": (ROOM, "A", [("bouncing", "B", None)]),
    "brownian": (ROOM, "A", [("brownian", "B", None)]),
    "white noise": (ROOM, "A", [("white_noise", "B", None)]),
    "blocking white noise": (ROOM, "A", [("white_noise", "B", True)]),
    "movable": (ROOM, "A", [("movable", "B", None)]),
    "movable in either room": (ROOM, "A", [("movable", "AB", None)]),
    "brownian where the agent starts": (ROOM, "A", [("brownian", "A", None), ("white_noise", "B", None)]),
    "fixed and brownian": (TWO_ROOMS, " ", [("fixed", "A", None), ("brownian", "B", None)]),
    "bouncing and movable": (TWO_ROOMS, " ", [("bouncing", "A", None), ("movable", "B", None)]),
    "two blocking noises": (TWO_ROOMS, " ", [("white_noise", "A", True), ("white_noise", "B", True)]),
}


def tiny(name: str, view: int = 3) -> tuple[World, Enumeration]:
    drawing, start_room, kinds = TINY[name]
    legend = {letter: letter for letter in sorted(set(drawing) & set("AB"))}
    objects = [Object(f"thing{i}", kind, tuple(rooms), blocks=blocks) for i, (kind, rooms, blocks) in enumerate(kinds)]
    things = [Thing(k, rooms, KINDS[k].blocks if blocks is None else blocks) for k, rooms, blocks in kinds]
    world = grid_world(name, read_layout(drawing, legend), objects, view=view, num_steps=20)
    return world, Enumeration(drawing, start_room, things, view)


def roam(world: Enumeration, rng: np.random.Generator, num_steps: int) -> tuple[np.ndarray, list[State]]:
    """A random walk that leans to one side for a while, so that it enters rooms."""
    p: Distribution = world.initial()
    states, actions = [world.sample(rng, p)], []
    lean = int(rng.integers(1, 5))
    for _ in range(num_steps):
        lean = int(rng.integers(1, 5)) if rng.random() < 0.2 else lean
        actions.append(lean if rng.random() < 0.5 else int(rng.integers(5)))
        states.append(world.sample(rng, world.step({states[-1]: 1.0}, actions[-1])))
    return np.array(actions), states
