"""The replay of `learn`: the last frames of each stream in a ring, and windows cut from it.

A stream is frames in a row, over all its episodes: the true last frame of one has a slot of its own, and the first of
the next the slot after it (`types.Window`). Slots 0, T, 2T, ... begin windows of T steps and T+1 frames; the belief
before each of these slots is kept with it, as the model had it when the frame came.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, UInt8

from ndigo.curiosity.by_step.paying import Step
from ndigo.model import WorldModel
from ndigo.types import Window, action_type


class Streams(eqx.Module):
    """Rings of L frames, and of the L/T windows they make."""

    o: UInt8[Array, "N L P"]  # packed
    a_tm1: Int[Array, "N L"]
    is_first: Bool[Array, "N L"]
    belief: Float[Array, "N L/T D"]  # before the first frame of each window
    start: Int[Array, "N L/T"]  # that frame's step in its episode
    num_frames: Int[Array, " N"]  # ever added
    last_belief: Float[Array, "N D"]  # after the last frame
    last_step: Int[Array, " N"]  # that frame's step in its episode

    @property
    def num_held(self) -> int:
        """L, the frames of each stream that there is room for."""
        return self.is_first.shape[1]

    @property
    def num_windows(self) -> int:
        return self.belief.shape[1]

    @property
    def window(self) -> int:
        """T, the steps of a window."""
        return self.num_held // self.num_windows


def empty(packed: Any, belief_size: int, num_envs: int, num_windows: int, T: int, num_actions: int) -> Streams:
    """Room for `num_windows` windows of each stream; `packed` is a frame as it is stored, for its shape and type."""
    L = num_windows * T
    return Streams(
        o=jnp.zeros((num_envs, L, *packed.shape), packed.dtype),
        a_tm1=jnp.zeros((num_envs, L), action_type(num_actions)),
        is_first=jnp.zeros((num_envs, L), bool),
        belief=jnp.zeros((num_envs, num_windows, belief_size)),
        start=jnp.zeros((num_envs, num_windows), jnp.int32),
        num_frames=jnp.zeros(num_envs, jnp.int32),
        last_belief=jnp.zeros((num_envs, belief_size)),
        last_step=jnp.zeros(num_envs, jnp.int32),
    )


def add(streams: Streams, model: WorldModel, steps: Step, pack: Any) -> Streams:
    """A rollout of every stream, [S, N]; `pack` is how a frame is stored."""
    L, W, T = streams.num_held, streams.num_windows, streams.window
    is_begun = streams.num_frames > 0
    is_first = steps.is_first.at[0].set(steps.is_first[0] | ~is_begun)
    a_tm1 = jnp.where(steps.is_first, 0, steps.a_t)
    b_t = model.core.unroll(model.core.encoder(steps.o_tp1), a_tm1, streams.last_belief, is_first)
    # Of the frame before: its belief, and its step in its episode.
    b_tm1 = jnp.concatenate([streams.last_belief[None], b_t[:-1]])
    t = jnp.arange(len(is_first))[:, None]
    began = lax.cummax(jnp.where(is_first, t, -1), axis=0)
    step_t = jnp.where(began < 0, streams.last_step + 1 + t, t - began)
    step_tm1 = jnp.concatenate([streams.last_step[None], step_t[:-1]])

    has_last = jnp.zeros_like(is_first)
    if steps.o_last is not None:
        has_last = steps.is_first.at[0].set(steps.is_first[0] & is_begun)
    slot_t = streams.num_frames + jnp.cumsum(1 + has_last.astype(jnp.int32), axis=0) - 1

    def write(streams: Streams, slot: Array, is_there: Array, o: Array, a: Array, first: Array, b: Array, at: Array):
        n = jnp.broadcast_to(jnp.arange(slot.shape[1]), slot.shape)
        to = jnp.where(is_there, slot % L, L)  # beyond the end: dropped
        begins_window = is_there & (slot % T == 0)
        window = jnp.where(begins_window, slot // T % W, W)
        return eqx.tree_at(
            lambda s: (s.o, s.a_tm1, s.is_first, s.belief, s.start),
            streams,
            (
                streams.o.at[n, to].set(pack(o), mode="drop"),
                streams.a_tm1.at[n, to].set(a.astype(streams.a_tm1.dtype), mode="drop"),
                streams.is_first.at[n, to].set(first, mode="drop"),
                streams.belief.at[n, window].set(b, mode="drop"),
                streams.start.at[n, window].set(at, mode="drop"),
            ),
        )

    everywhere = jnp.ones_like(is_first)
    streams = write(streams, slot_t, everywhere, steps.o_tp1, a_tm1, is_first, b_tm1, step_t)
    if steps.o_last is not None:
        nowhere = jnp.zeros_like(is_first)
        streams = write(streams, slot_t - 1, has_last, steps.o_last, steps.a_t, nowhere, b_tm1, step_tm1 + 1)
    return eqx.tree_at(
        lambda s: (s.num_frames, s.last_belief, s.last_step), streams, (slot_t[-1] + 1, b_t[-1], step_t[-1])
    )


def windows_of(streams: Streams) -> tuple[Int[Array, " N"], Int[Array, " N"]]:
    """The numbers of each stream's windows that are whole: from the first, up to and without the second."""
    T = streams.window
    oldest = jnp.maximum(streams.num_frames - streams.num_held, 0)
    return (oldest + T - 1) // T, jnp.maximum(streams.num_frames - 1, 0) // T


def sample(key: Array, streams: Streams, num: int, unpack: Any) -> Window:
    """`num` windows, uniformly, [T, B, ...]; every stream must have one."""
    (N, L), W, T = streams.is_first.shape, streams.num_windows, streams.window
    key_stream, key_window = jax.random.split(key)
    n = jax.random.randint(key_stream, (num,), 0, N)
    first, end = windows_of(streams)
    window = jax.random.randint(key_window, (num,), first[n], jnp.maximum(end, first + 1)[n])
    slots = (window[:, None] * T + jnp.arange(T + 1)) % L
    o, a_tm1, is_first = (x[n[:, None], slots].swapaxes(0, 1) for x in (streams.o, streams.a_tm1, streams.is_first))
    a_tm1 = a_tm1.astype(jnp.int32)
    return Window(
        o_t=unpack(lax.optimization_barrier(o)),
        a_tm1=a_tm1,
        a_t=a_tm1[1:],
        mu_t=jnp.ones((T, num)),
        belief=streams.belief[n, window % W],
        agent_state=jnp.zeros((num, 0)),
        start=streams.start[n, window % W],
        cells=jnp.zeros((T + 1, num, 0), jnp.int32),
        is_first=is_first,
    )
