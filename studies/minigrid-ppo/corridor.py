"""The task: NAVIX's KeyCorridor, MiniGrid's in JAX, seen as MiniGrid shows it, with a noisy tile or without.

NAVIX's own view from the agent hides nothing and does not show what is carried. Here walls and closed doors hide what
is behind them, by NAVIX's own cone of view, and a key that is carried stands in the agent's cell.

The noisy tile is the piece of wall nearest to the start: it has a new one of six colours at every step.
"""
# pyright: reportMissingImports=false

from __future__ import annotations

from importlib.metadata import version
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import navix
from jaxtyping import Array, Bool, Int, UInt8
from navix.grid import crop, view_cone
from navix.observations import RADIUS
from navix.rendering.cache import RenderingCache

from ndigo import frames
from ndigo.interop.suites.stepped import world_of_steps
from ndigo.worlds import World

if tuple(map(int, version("navix").split(".")[:2])) < (0, 12):
    raise SystemExit(f"this study needs NAVIX 0.12 or newer, with Python 3.12: {version('navix')} shows other tiles")

UNSEEN, FLOOR, WALL, DOOR, KEY, GOAL = 0, 1, 2, 4, 5, 8  # as NAVIX and MiniGrid number them
GREY, NUM_COLOURS = 5, 6
MAX_STEPS = 270  # as MiniGrid has them in KeyCorridorS3R3
EVENTS = ("key", "door", "goal")  # the key is carried, the locked door is open, the goal is reached
ACTIONS = ("left", "right", "forward", "pick up", "drop", "toggle", "done")


class Painted(NamedTuple):
    """NAVIX's timestep, and the piece of wall that has a colour of its own."""

    timestep: Any
    at: Int[Array, " 2"]


def frame() -> frames.Tiles:
    """What a cell shows; with walls of every colour."""
    coloured = [(kind, colour, 0) for kind in (WALL, KEY) for colour in range(NUM_COLOURS)]
    doors = [(DOOR, colour, state) for colour in range(NUM_COLOURS) for state in range(3)]
    plain = [(UNSEEN, 0, 0), (FLOOR, 0, 0), (GOAL, 1, 0)]
    size = 2 * RADIUS + 1
    return frames.tiles((11, 6, 4), size, size, names=("object", "colour", "state"), listed=coloured + doors + plain)


def make_world(name: str, is_noisy: Bool[Array, ""] | bool) -> World:
    """The world; `is_noisy` may be traced, so that both kinds run side by side."""
    env = navix.make(name, max_steps=MAX_STEPS, observation_fn=navix.observations.none)
    no_pictures = RenderingCache(patches=jnp.zeros(0, jnp.uint8))  # else they would be most of a state

    def show(key: Array, painted: Painted) -> UInt8[Array, "7 7 3"]:
        colour = jnp.where(is_noisy, jax.random.randint(key, (), 0, NUM_COLOURS), GREY)
        return view(painted.timestep.state, painted.at, colour)

    def reset(key: Array) -> tuple[Painted, Any]:
        key_world, key_colour = jax.random.split(key)
        timestep = env.reset(key_world, no_pictures)
        painted = Painted(timestep, nearest_wall(timestep.state))
        return painted, show(key_colour, painted)

    def step(key: Array, painted: Painted, a_t: Array) -> tuple[Any, ...]:
        after = env._step(painted.timestep, a_t)
        painted = Painted(after, painted.at)
        return painted, show(key, painted), after.reward, after.step_type > 0, after.step_type == 2

    return world_of_steps(
        name,
        frame=frame(),
        num_actions=len(ACTIONS),
        num_steps=MAX_STEPS,
        reset=reset,
        step=step,
        actions=ACTIONS,
        events=EVENTS,
        happens=happens,
    )


def view(state: Any, at: Int[Array, " 2"], colour: Int[Array, ""]) -> UInt8[Array, "7 7 3"]:
    """What lies before the agent, who stands in the middle of the last row: (object, colour, state) of each cell."""
    player = state.get_player()
    own = jnp.array([FLOOR, 0, 0])
    if "key" in state.entities:
        held = jnp.array([KEY, 0, 0]).at[1].set(state.entities["key"].colour[0])
        own = jnp.where(player.pocket > 0, held, own)
    o = navix.observations.symbolic(state)
    o = o.at[at[0], at[1]].set(jnp.stack([jnp.int32(WALL), colour, jnp.int32(0)]).astype(jnp.uint8))
    o = o.at[player.position[0], player.position[1]].set(own.astype(jnp.uint8))
    # Closed doors hide what is behind them, as walls do.
    is_clear = (o[..., 0] != WALL) & ((o[..., 0] != DOOR) | (o[..., 2] == 0))
    is_seen = view_cone(is_clear.astype(jnp.int32), player.position, 2 * RADIUS) > 0
    seen = jnp.where(is_seen[..., None], o, UNSEEN).astype(jnp.uint8)
    return crop(seen, player.position, player.direction, RADIUS, padding_value=UNSEEN)


def nearest_wall(state: Any) -> Int[Array, " 2"]:
    """Row and column of the piece of wall nearest to the agent; of two, the first in reading order."""
    H, W = state.grid.shape
    rows, columns = jnp.mgrid[:H, :W]
    row, column = state.get_player().position
    is_door = jnp.zeros((H, W), bool)
    if "door" in state.entities:
        is_door = is_door.at[tuple(state.entities["door"].position.T)].set(True)
    distance = jnp.where((state.grid == -1) & ~is_door, abs(rows - row) + abs(columns - column), H + W)
    return jnp.stack(jnp.unravel_index(distance.argmin(), (H, W))).astype(jnp.int32)


def happens(painted: Painted) -> Bool[Array, " 3"]:
    state, never = painted.timestep.state, jnp.bool_(False)
    has_key, is_open = never, never
    if "key" in state.entities:
        has_key, is_open = state.get_player().pocket > 0, ~(state.entities["door"].requires > 0).any()
    return jnp.stack([has_key, is_open, painted.timestep.reward > 0])
