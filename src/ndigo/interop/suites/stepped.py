"""What every adapter makes of a suite: its reset and its bare step, which knows of no episode after this one.

    reset(key)                 -> state, observation
    step(key, state, action)   -> state, observation, reward, is_last, is_terminal

Suites begin the next episode in four ways: in the step that ends one, in the step after it, by a wrapper, or not at
all. An adapter asks for none of them. The frame that ended an episode is seen, and the stream resets the world.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ndigo.errors import NdigoError
from ndigo.frames import Frame
from ndigo.worlds import World

MOST_STEPS = 1000  # of an episode that are measured, where a suite's episodes are longer
GOAL = ("goal",)  # the one event of a world whose task pays for reaching its goal


class Stepped(eqx.Module):
    """A suite's state, and what its last step showed."""

    inner: Any
    kept: Any  # of the observation: what the frame has, or what it is read from
    reward: Float[Array, ""]
    is_last: Bool[Array, ""]
    is_terminal: Bool[Array, ""]


def world_of_steps(
    name: str,
    *,
    frame: Frame,
    num_actions: int,
    num_steps: int | None,
    reset: Callable[[Any], tuple[Any, Any]],
    step: Callable[[Any, Any, Any], tuple[Any, ...]],
    read: Callable[[Any], Any] = lambda observation: observation,
    read_late: Callable[[Any], Any] = lambda kept: kept,
    actions: tuple[str, ...] = (),
    place: Callable[[Any], Any] | None = None,
    events: tuple[str, ...] = (),
    happens: Callable[[Any], Any] | None = None,
    draw: Callable[[Any], Any] | None = None,
    has_task: bool = True,
) -> World:
    """The world of these functions; `place` reads the state.

    An observation is turned into what the frame has by `read` in every step, where that is smaller to carry on, and by
    `read_late` where it is looked at, where it is not: that is once, for the step and the reset beside it.
    Events without `happens` are the one that the task pays.
    """

    require_frame(name, frame)

    def begin(key: Array) -> Stepped:
        inner, observation = reset(key)
        no = jnp.bool_(False)
        return Stepped(inner, read(observation), reward=jnp.float32(0), is_last=no, is_terminal=no)

    def move(key: Array, state: Stepped, a_t: Array) -> Stepped:
        inner, observation, reward, is_last, is_terminal = step(key, state.inner, a_t)
        after = Stepped(
            inner=inner,
            kept=read(observation),
            reward=jnp.float32(reward),
            is_last=jnp.bool_(is_last),
            is_terminal=jnp.bool_(is_terminal),
        )
        # A suite may return other types than it began with (weak ones, or int64's half).
        return jax.tree.map(lambda new, old: new.astype(old.dtype), after, state)

    if happens is None:
        happening = (lambda s: (s.reward > 0)[None]) if events else None
    else:
        happening = lambda s: happens(s.inner)  # noqa: E731
    return World(
        name=name,
        frame=frame,
        actions=actions or tuple(f"action{i}" for i in range(num_actions)),
        num_steps=min(num_steps or MOST_STEPS, MOST_STEPS),
        reset=begin,
        step=move,
        observe=lambda s: read_late(s.kept),
        ends=lambda s: (s.is_last, s.is_terminal),
        task_reward=(lambda s: s.reward) if has_task else None,
        place=None if place is None else lambda s: place(s.inner),
        events=events,
        happens=happening,
        draw=None if draw is None else lambda s: np.asarray(draw(s.inner)).astype(np.uint8),
    )


def require_frame(name: str, frame: Any) -> None:
    """An error for what is no frame, such as the name of one."""
    if not hasattr(frame, "spec"):
        raise NdigoError(f"world {name}: frame is a {type(frame).__name__}, expected one of ndigo.frames")


def require_discrete(name: str, space: Any) -> int:
    """The number of actions; an error for a space that has no number of them."""
    if not hasattr(space, "n") or getattr(space, "shape", ()) not in ((), None):
        raise NdigoError(f"world {name}: its actions are {space}, expected a Discrete space, a number for each action")
    return int(space.n)
