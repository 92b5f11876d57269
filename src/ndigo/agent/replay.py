"""Replay of whole windows: a ring of rows, each a window of T steps.

An episode of S steps is cut at 0, T, 2T, ... (the paper's replay period is its trace length); a last window that would
reach beyond the end starts at S - T instead. Where episodes end by themselves, windows are cut from an actor's endless
stream and can span several. Frames are stored as bytes, packed by the world's frame.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from ndigo.errors import NdigoError
from ndigo.frames import Frame
from ndigo.types import Window


def window_starts(num_steps: int, T: int) -> tuple[int, ...]:
    """The steps of an episode at which its windows start."""
    if num_steps < T:
        raise NdigoError(f"window {T}: longer than an episode of {num_steps} steps; window {num_steps} is the longest")
    starts = list(range(0, num_steps - T + 1, T))
    return tuple(starts if num_steps % T == 0 else [*starts, num_steps - T])


def time_first(frames: Any) -> Any:
    """[B, T, ...] as [T, B, ...]."""
    return jax.tree.map(lambda x: jnp.swapaxes(x, 0, 1), frames)


class Ring(eqx.Module):
    """The newest windows."""

    windows: Any  # a Window whose leaves lead with the row, and whose o_t is packed
    num_added: Int[Array, ""]  # windows ever added


@dataclass(frozen=True)
class Replay:
    """A replay as functions of its ring. A batch is picked as it is stored, and opened to be learned from."""

    init: Callable[[Any], Ring]  # shapes of one window -> an empty ring
    add: Callable[[Ring, Any], Ring]  # ring, windows [R, T, ...] -> ring
    pick: Callable[[Array, Ring, int], Any]  # key, ring, B -> B of its windows, drawn uniformly
    open: Callable[[Any], Window]  # what was picked -> Window [T, B, ...]

    def sample(self, key: Array, ring: Ring, num: int) -> Window:
        return self.open(self.pick(key, ring, num))


def make_replay(*, capacity: int, frame: Frame) -> Replay:
    """A uniform replay of `capacity` windows; `add` takes blocks that divide the capacity."""

    def init(example: Any) -> Ring:
        empty = jax.tree.map(lambda x: jnp.zeros((capacity, *x.shape), x.dtype), example)
        return Ring(windows=empty, num_added=jnp.int32(0))

    def add(ring: Ring, windows: Any) -> Ring:
        block = windows.start.shape[0]
        if capacity % block:
            raise ValueError(f"blocks of {block} windows do not fill a ring of {capacity}")
        at = ring.num_added % capacity
        stored = jax.tree.map(
            lambda old, new: jax.lax.dynamic_update_slice_in_dim(old, new, at, axis=0), ring.windows, windows
        )
        return Ring(windows=stored, num_added=ring.num_added + block)

    def pick(key: Array, ring: Ring, num: int) -> Any:
        size = jnp.minimum(ring.num_added, capacity)
        # Without the barriers XLA would repeat the draw in every gather, and the gather in everything that reads it.
        chosen = jax.lax.optimization_barrier(jax.random.randint(key, (num,), 0, size))
        return jax.lax.optimization_barrier(jax.tree.map(lambda x: x[chosen], ring.windows))

    def open_(picked: Any) -> Window:
        window = replace(picked, o_t=frame.unpack(picked.o_t)).map_series(time_first)
        return replace(window, **{name: getattr(window, name).astype(jnp.int32) for name in ("a_tm1", "a_t", "cells")})

    return Replay(init=init, add=add, pick=pick, open=open_)
