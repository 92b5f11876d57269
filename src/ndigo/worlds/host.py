"""What a world has in place of pure functions where only the host can step it: many environments, stepped together.

An environment whose frame was its episode's last ignores the next action and begins anew (Gymnasium's NEXT_STEP), so
what it shows from step to step is a stream as the replay has it: the true last frame, then the first of the next.
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
    """What N environments show after a step, in NumPy."""

    o_t: Any  # [N, ...] as the world's frame has it
    reward: Float[np.ndarray, " N"]  # of the task
    is_last: Bool[np.ndarray, " N"]
    is_terminal: Bool[np.ndarray, " N"]
    place: Float[np.ndarray, "N M"]  # float64 numbers that tell where it is; M = 0: nobody says
    happens: Bool[np.ndarray, "N events"]


Listen = Callable[[], None]  # called now and then by whoever waits; what it raises ends the wait


def nobody() -> None:
    """Where nobody listens."""


class Environments(Protocol):
    """N environments that are stepped together; between `send` and `receive` the caller is free."""

    def reset(self, seed: int, listen: Listen = nobody) -> Told: ...

    def send(self, a_t: np.ndarray) -> None: ...

    def receive(self, listen: Listen = nobody) -> Told: ...

    def close(self) -> None: ...


Draw = Callable[[], Any]  # the environment's own picture of where it is, uint8 [H, W, 3]; None where it has none


@dataclass(frozen=True, eq=False)
class Host:
    """How environments are made."""

    open: Callable[[int, int], Environments]  # their number, and that of processes; 0: in this one, to be tried
    open_drawn: Callable[[], tuple[Environments, Draw]]  # one in this process, to be looked at
    num_envs: int | None = None  # actors that a run has unless its settings say so


def on_the_host(name: str) -> Callable[..., Any]:
    """In place of a pure function of such a world: an error that says why there is none."""

    def refuse(*args: Any) -> Any:
        raise NdigoError(
            f"world {name} is stepped by processes of this machine: only training, evaluating and recording can"
        )

    return refuse


def seed_of(key: Array) -> int:
    """A whole number below 2^31, for environments that draw by themselves."""
    return int(jax.random.bits(key, dtype=jnp.uint32) >> 1)
