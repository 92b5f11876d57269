"""What Gymnasium's `render` shows of a world: its map with all that lies there, or its own picture (`World.draw`)."""

from __future__ import annotations

import os
from typing import Any

import jax
import numpy as np

from ndigo.errors import NdigoError
from ndigo.worlds import World
from ndigo.worlds.render import render_ansi, render_rgb

MODES = ("rgb_array", "ansi")


def modes_of(world: World, asked: str | None) -> list[str]:
    """The modes that the world can be rendered in; an error where the one that was asked for is none of them."""
    modes = [*MODES] if has_map(world) else [MODES[0]] if world.draw is not None else []
    if asked not in (None, *modes):
        known = ", ".join(modes) or f"none, since world {world.name!r} has neither a map nor a draw"
        raise NdigoError(f"render_mode {asked!r}: known: {known}")
    return modes


def has_map(world: World) -> bool:
    """Whether a picture is drawn from its truth; else it is from its state."""
    return world.grid is not None and world.truth is not None


def picture(world: World, mode: str, seen: Any) -> Any:
    """Of one copy's truth, or state; text without colours where NO_COLOR is set."""
    if not has_map(world):
        assert world.draw is not None
        return np.asarray(world.draw(seen))
    truth = jax.tree.map(np.asarray, seen)
    if mode == "rgb_array":
        return render_rgb(world, truth)
    return render_ansi(world, truth, colour=not os.environ.get("NO_COLOR"))
