"""The `World` record: everything the rest of the library knows about a world.

A world is a few pure functions for a single copy of it, safe under `jit`, `vmap` and `scan`. Our own worlds pay no
reward and never terminate: an episode is cut after `num_steps` actions, and has the frames o_0 ... o_{num_steps}.

A world whose episodes end by themselves has the function `ends`. What its `step` makes of an ended state is not used:
after an episode's last frame the next state comes from `reset`.
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
    """Everything about one world; the first seven fields are required."""

    name: str
    frame: Frame  #: what an observation is: how it is read, stored and predicted
    actions: tuple[str, ...]  #: their names; action 0 stands for a_{-1}, before o_0
    num_steps: int  #: actions in an episode; with `ends`, the most that evaluations and recordings play of one
    reset: Callable[[Any], Any]  #: key -> state
    step: Callable[[Any, Any, Any], Any]  #: key, state, a_t -> state
    observe: Callable[[Any], Any]  #: state -> o_t, of the shape and type that `frame` declares
    truth: Callable[[Any], Truth] | None = None  #: state -> where everything is; None where that is not known
    objects: tuple[str, ...] = ()  #: names, in the order of Truth.objects
    map_shape: tuple[int, int] | None = None  #: rows and columns of the map that Truth's positions lie on
    grid: Grid | None = None  #: the map behind it, for drawing and for other simulators
    ends: Callable[[Any], tuple[Any, Any]] | None = None  #: state -> (is_last, is_terminal): over; over by termination
    task_reward: Callable[[Any], Any] | None = None  #: state -> the task's reward for the step that led to it
    place: Callable[[Any], Any] | None = None  #: state -> numbers that say where it is, to count distinct places
    events: tuple[str, ...] = ()  #: names of events to count, such as achievements
    happens: Callable[[Any], Any] | None = None  #: state -> which of the events happen in it, bool [events]
    draw: Callable[[Any], Any] | None = None  #: state -> the world's own picture, uint8 [H, W, 3]; not under `jit`
    host: Host | None = None  #: environments in processes of the host; the functions above then only raise an error

    @cached_property
    def shape(self) -> Any:
        """An observation's shape: (V, V, C) for bits, a dictionary of shapes for a join."""
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
        if self.grid is not None and self.step in self.grid.own and len(self.actions) != len(ACTIONS):
            found, known = len(self.actions), ", ".join(ACTIONS)
            raise NdigoError(f"world {self.name}: it has {found} actions, and its step takes {len(ACTIONS)}: {known}")

    @property
    def own_grid(self) -> Grid | None:
        """`grid`, where all that happens follows from it: none of the functions made of it was replaced."""
        if self.grid is None or self.grid.own[:3] != (self.reset, self.step, self.observe):
            return None
        return self.grid if self.truth in (None, *self.grid.own[3:]) else None
