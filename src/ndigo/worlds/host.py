"""Worlds that only the host can step: in place of pure functions, many environments that are stepped together.

After an episode's last frame an environment ignores the next action and starts again (Gymnasium's NEXT_STEP). So it
shows a stream as the replay stores it: an episode's true last frame, then the first frame of the next.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ndigo.errors import NdigoError

FAILED = "its environments failed: "  # and why, of those in other processes


class Told(NamedTuple):
    """What N environments tell after a step, in NumPy."""

    o_t: Any  # [N, ...] as the world's frame has it
    reward: Float[np.ndarray, " N"]  # of the task
    is_last: Bool[np.ndarray, " N"]
    is_terminal: Bool[np.ndarray, " N"]
    place: Float[np.ndarray, "N M"]  # float64 numbers that say where it is; M = 0 where the world has none
    happens: Bool[np.ndarray, "N events"]


Listen = Callable[[], None]  # called now and then during a wait; an error that it raises ends the wait


def nobody() -> None:
    """Does nothing: the default `Listen`."""


class Environments(Protocol):
    """N environments that are stepped together; between `send` and `receive` the caller is free."""

    def reset(self, seed: int, listen: Listen = nobody) -> Told: ...

    def send(self, a_t: np.ndarray) -> None: ...

    def receive(self, listen: Listen = nobody) -> Told: ...

    def close(self) -> None: ...


Draw = Callable[[], Any]  # the environment's own picture of where it is, uint8 [H, W, 3]; None where it has none


@dataclass(frozen=True, eq=False)
class Host:
    """How a world's environments are made."""

    open: Callable[[int, int], Environments]  # number of environments, number of processes (0: in this process)
    open_drawn: Callable[[], tuple[Environments, Draw]]  # one environment in this process, to be looked at
    num_envs: int | None = None  # a run's number of actors, unless its settings give another


def on_the_host(name: str) -> Callable[..., Any]:
    """Stands in for each pure function of such a world: calling it is an error that says why there is none."""

    def refuse(*args: Any) -> Any:
        raise NdigoError(
            f"world {name} is stepped by processes of this machine: only training, evaluating and recording can"
        )

    return refuse


def seed_of(key: Array) -> int:
    """A whole number below 2^31, for environments that draw by themselves."""
    return int(jax.random.bits(key, dtype=jnp.uint32) >> 1)
