"""The `World` record: everything the rest of the library knows about a world.

A world is written for one copy of itself, as pure functions that are safe under `jit`, `vmap` and `scan`. Our own pay
no reward and never terminate: an episode of `num_steps` actions has the frames o_0 ... o_{num_steps} and is truncated.

A world whose episodes end by themselves says so (`ends`). Its `step` need not know what comes after an end: the frame
that ends an episode is observed, and then the world is `reset`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ndigo.errors import NdigoError
from ndigo.frames import Channel, Frame, shape_of

if TYPE_CHECKING:
    from ndigo.types import Truth
    from ndigo.worlds.grid_world import Grid
    from ndigo.worlds.host import Host

ACTIONS = ("stay", "up", "down", "right", "left")


@dataclass(frozen=True, eq=False, kw_only=True)
class World:
    """One world: functions of a key, a state and an action, and the frame they speak in."""

    name: str
    frame: Frame
    actions: tuple[str, ...]  # their names; action 0 is the one "taken" before o_0
    num_steps: int  # actions in an episode; with `ends`, so many of one are measured and shown at most
    reset: Callable[[Any], Any]  # key -> state
    step: Callable[[Any, Any, Any], Any]  # key, state, a_t -> state
    observe: Callable[[Any], Any]  # state -> o_t, as the frame has it
    truth: Callable[[Any], Truth] | None = None  # state -> Truth; None where nobody knows it
    objects: tuple[str, ...] = ()  # names, in the order of Truth.objects
    map_shape: tuple[int, int] | None = None  # rows and columns that Truth's cells lie in
    grid: Grid | None = None  # the map behind it, for drawing and for other simulators
    ends: Callable[[Any], tuple[Any, Any]] | None = None  # state -> is it its episode's last, and by termination
    task_reward: Callable[[Any], Any] | None = None  # state -> what the step into it earned of the world's own task
    place: Callable[[Any], Any] | None = None  # state -> numbers that tell where it is, to count places by
    events: tuple[str, ...] = ()  # names of what is counted, such as achievements
    happens: Callable[[Any], Any] | None = None  # state -> which events hold in it, bool [events]
    draw: Callable[[Any], Any] | None = None  # state -> the world's own picture of it, uint8 [H, W, 3]; on the host
    host: Host | None = None  # environments to step in place of the functions above, which then only refuse

    @cached_property
    def shape(self) -> Any:
        """Of an observation: [V, V, C] of bits; of a join, a dictionary of shapes."""
        return shape_of(self.frame)

    @property
    def channels(self) -> tuple[Channel, ...]:
        return self.frame.channels

    @property
    def num_actions(self) -> int:
        return len(self.actions)

    @property
    def has_one_length(self) -> bool:
        """True where every episode has `num_steps` actions."""
        return self.host is None and self.ends is None

    def __post_init__(self) -> None:
        if self.truth is not None and self.map_shape is None:
            raise NdigoError(f"world {self.name}: a world with truth needs a map_shape")
