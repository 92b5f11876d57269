"""How a world is drawn: on its map where it has one, else as pictures of its frames; and which parts there are.

a map of ours, with truth     walls, the agent, objects, the belief, and the exact filter's beside it
truth without a map           the same on an empty floor; frames as pictures
neither                       frames as pictures
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Bool

from ndigo.agents.agent import Agent
from ndigo.errors import NdigoError
from ndigo.model import WorldModel
from ndigo.oracle import Filter, make_filter
from ndigo.palette import RGB, object_colours
from ndigo.watching.frame_pictures import Painter, painter_of
from ndigo.worlds import World
from ndigo.worlds.render import legend

MOST_CELLS = 256  # rows and columns are stored in a byte
MOST_BYTES = 1 << 26  # of one episode's expectations as pictures; so many steps ahead are kept as fit


@dataclass(frozen=True, eq=False)
class Appearance:
    """What is drawn of one agent's episodes in one world."""

    walls: Bool[np.ndarray, "R W"]  # 0 x 0 without a map
    has_belief: bool  # a probe, and the truth to hold it against
    exact: Filter | None  # the exact Bayes filter, where it applies
    painter: Painter | None  # of frames; None where they are bits of a map, drawn cell by cell
    view: int  # V; 0 where a painter draws
    num_ahead: int  # steps ahead that are drawn
    legend: tuple[tuple[str, RGB], ...]  # the channels that a painter has a colour for

    def expected(self, model: WorldModel, b_t: Array, a_k: Array) -> Array:
        """Pictures [K, Y, X, 3] of what is expected after these actions."""
        assert self.painter is not None
        assert self.painter.expected is not None
        return self.painter.expected(model.expect(b_t, a_k))


def appearance_of(agent: Agent) -> Appearance:
    """The same record for all agents of a world that predict as far ahead, so that they share their programs."""
    return _appearance(agent.world, agent.params.probe is not None, agent.num_ahead)


@lru_cache(maxsize=32)
def _appearance(world: World, has_probe: bool, num_ahead: int) -> Appearance:
    has_belief = world.truth is not None and has_probe
    shape = world.map_shape if has_belief and world.map_shape is not None else (0, 0)
    if max(shape) > MOST_CELLS:
        raise NdigoError(f"world {world.name!r} is larger than the {MOST_CELLS} x {MOST_CELLS} cells of a recording")
    is_mapped = world.grid is not None and has_belief
    walls = ~world.grid.layout.is_free if is_mapped and world.grid is not None else np.zeros(shape, bool)
    painter = None if is_mapped else painter_of(world.frame)
    if painter is not None:
        fits = MOST_BYTES // ((world.num_steps + 1) * painter.shape[0] * painter.shape[1] * 3)
        num_ahead = 0 if painter.expected is None else min(num_ahead, max(1, fits))
    return Appearance(
        walls=walls,
        has_belief=has_belief,
        exact=exact_filter(world) if is_mapped else None,
        painter=painter,
        view=world.shape[0] if painter is None else 0,
        num_ahead=num_ahead,
        legend=() if painter is None else _legend(world, painter),
    )


def _legend(world: World, painter: Painter) -> tuple[tuple[str, RGB], ...]:
    coloured = zip(world.channels, painter.colours or [None] * len(world.channels), strict=True)
    return tuple((channel.name, colour) for channel, colour in coloured if colour is not None)


def exact_filter(world: World) -> Filter | None:
    """The exact filter; None where it does not apply."""
    try:
        with jax.ensure_compile_time_eval():
            return make_filter(world)
    except NdigoError:
        return None


def objects_of(world: World, look: Appearance) -> list[dict[str, Any]]:
    """Name, kind, label and colour of each object, as a recording's meta has them; a channel's where it has one."""
    if world.grid is not None:
        return [{"name": e.name, "kind": e.kind, "label": e.label, "colour": list(e.colour)} for e in legend(world)]
    colours = object_colours(world.objects)  # no kind is known: colours in order
    of_channels = dict(look.legend)
    return [
        {
            "name": name,
            "kind": "object",
            "label": name[:1].upper() or "?",
            "colour": list(of_channels.get(name, colour)),
        }
        for name, colour in zip(world.objects, colours, strict=True)
    ]
