"""The `World` record: everything the rest of the library knows about a world.

A world is written for one copy of itself, as pure functions that are safe under `jit`, `vmap` and
`scan`. It pays no reward and never terminates: every episode is `num_steps` actions long, has the
observations o_0 ... o_{num_steps}, and ends by truncation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ndigo.errors import NdigoError

if TYPE_CHECKING:
    from ndigo.types import Truth
    from ndigo.worlds.grid_world import Grid

ACTIONS = ("stay", "up", "down", "right", "left")

# `binary`: every cell of the channel is 0 or 1 on its own (walls).
# `one_hot`: at most one cell is 1; all zero means out of view (an object).
ChannelKind = Literal["binary", "one_hot"]


@dataclass(frozen=True)
class Channel:
    name: str
    kind: ChannelKind


@dataclass(frozen=True, eq=False)
class World:
    """One world: functions of a key, a state and an action, and the shapes they speak in."""

    name: str
    shape: tuple[int, int, int]  # of an observation: [V, V, C]
    channels: tuple[Channel, ...]  # one per C
    actions: tuple[str, ...]  # their names; action 0 is the one "taken" before o_0
    num_steps: int  # actions in an episode
    reset: Callable[[Any], Any]  # key -> state
    step: Callable[[Any, Any, Any], Any]  # key, state, a_t -> state
    observe: Callable[[Any], Any]  # state -> o_t, uint8 [V, V, C]
    truth: Callable[[Any], Truth] | None = None  # state -> Truth; None where nobody knows it
    objects: tuple[str, ...] = ()  # names, in the order of Truth.objects
    map_shape: tuple[int, int] | None = None  # rows and columns that Truth's cells lie in
    grid: Grid | None = None  # the map behind it, for drawing and for other simulators

    @property
    def num_actions(self) -> int:
        return len(self.actions)

    def __post_init__(self) -> None:
        if len(self.channels) != self.shape[-1]:
            raise NdigoError(f"world {self.name}: {len(self.channels)} channels for shape {self.shape}")
        if self.truth is not None and self.map_shape is None:
            raise NdigoError(f"world {self.name}: a world with truth needs a map_shape")
