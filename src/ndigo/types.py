"""Records that cross folders, with their axes written once.

Axes: T time, K ahead, B batch, N objects, V view, C channels, D belief, A actions. A trailing `*B`
means: nothing for one stream, a batch of streams when the learner asks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, UInt8


class Truth(eqx.Module):
    """Where everything is. For evaluation only: no agent, model or reward may read it."""

    agent: Int[Array, " 2"]  # (row, col)
    objects: Int[Array, "N 2"]  # (row, col) of each object, in the experiment's order


class Episode(eqx.Module):
    """One episode of S steps and S+1 frames; frames are packed."""

    o_t: UInt8[Array, "S+1 P"]
    a_tm1: Int[Array, " S+1"]
    cells: Int[Array, "S+1 N"]
    a_t: Int[Array, " S"]
    mu_t: Float[Array, " S"]
    agent_state: Float[Array, "S//M D"]  # before every M-th frame


class Window(eqx.Module):
    """T consecutive steps of one episode, with the frame after them and the states before them.

    Of a stream of episodes, where `is_first` is given: the true last frame of an episode has a slot of its own, and the
    slot after it holds the first frame of the next. The "step" between the two is none: its action means nothing,
    nothing is predicted across it and nothing paid for it, and every state begins anew after it.
    """

    o_t: Any  # [T+1, *B, ...] as the world's frame has it: bits are uint8 [V, V, C], a join is a dictionary
    a_tm1: Int[Array, "T+1 *B"]  # the action before each frame; 0 (stay) before an episode's first
    a_t: Int[Array, "T *B"]
    mu_t: Float[Array, "T *B"]  # probability the actor gave to a_t
    belief: Float[Array, "*B D"]  # the model's state before the first frame, stored at acting time
    agent_state: Float[Array, "*B D"]  # the agent's, likewise
    start: Int[Array, "*B"]  # the first frame's step in its episode
    cells: Int[Array, "T+1 *B N"]  # true cell of each object, row * columns + col: for the probe alone
    r_tc: Float[Array, "T *B C"] | None = None  # of a reward that is computed on whole episodes; C = 1: no split
    is_first: Bool[Array, "T+1 *B"] | None = None  # at the first frame of an episode; None: all frames are of one
    discount_t: Float[Array, "T *B"] | None = None  # 0 where the step terminates its episode, else 1; None: all 1
    task_t: Float[Array, "T *B"] | None = None  # what the world's own task paid for the step; None: it has none

    @property
    def is_step(self) -> Bool[Array, "T *B"]:
        """False between an episode's last frame and the first of the next."""
        return jnp.ones(self.a_t.shape, bool) if self.is_first is None else ~self.is_first[1:]

    def frames_before(self) -> tuple[Int[Array, "T *B"], Int[Array, "T *B"]]:
        """How many frames of its own episode come before frame t: those in this window, and all."""
        t = jnp.arange(len(self.a_t)).reshape(-1, *(1,) * self.start.ndim)
        if self.is_first is None:
            return jnp.broadcast_to(t, self.a_t.shape), self.start + t
        began = lax.cummax(jnp.where(self.is_first[:-1], t, -1), axis=0)  # -1: before this window
        here = t - jnp.maximum(began, 0)
        return here, jnp.where(began < 0, self.start + t, here)

    @property
    def o_tp1(self) -> Any:
        """The frame after each step."""
        return jax.tree.map(lambda x_t: x_t[1:], self.o_t)

    @staticmethod
    def whole(
        o_t: Any, a_t: Array, state_size: int = 0, cells: Array | None = None, r_tc: Array | None = None
    ) -> Window:
        """A whole episode of one stream: nothing before its first frame, and nobody else to have chosen its actions."""
        return Window(
            o_t=o_t,
            a_tm1=jnp.concatenate([jnp.zeros_like(a_t[:1]), a_t]),
            a_t=a_t,
            mu_t=jnp.ones(len(a_t)),
            belief=jnp.zeros(state_size),
            agent_state=jnp.zeros(state_size),
            start=jnp.int32(0),
            cells=jnp.zeros((len(a_t) + 1, 0), jnp.int32) if cells is None else cells,
            r_tc=r_tc,
        )


class Seen(eqx.Module):
    """What the world model made of a window: all that a reward may look at."""

    window: Window
    z_t: Float[Array, "T+1 *B Z"]
    b_t: Float[Array, "T+1 *B D"]
    loss_tk: Float[Array, "T K *B C"] | None  # L_{t+k|t} split by channel; None if nothing was predicted


class Paid(eqx.Module):
    """What a reward made of a window."""

    r_t: Float[Array, "T *B"]
    r_tc: Float[Array, "T *B C"] | None  # the same, split by channel, where that has a meaning
    is_known: Bool[Array, "T *B"]  # False where the window does not hold the frames that r_t needs
    loss: Float[Array, ""]  # what the reward's own parameters learn from; 0 if it has none
    notes: Any = None  # what else the reward's `after_update` wants of the window, such as sums for statistics


@dataclass(frozen=True, eq=False)
class Policy:
    """Chooses actions. Its state before o_0 is `start` of a key, from which it draws all it ever draws.

    It is told a_{t-1}, 0 before o_0: somebody else may have acted in its place.
    """

    name: str
    start: Callable[[Array], Any]  # key -> state
    act: Callable[[Any, Array, Any], tuple[Int[Array, ""], Any]]  # o_t, a_{t-1}, state -> a_t, state


@dataclass(frozen=True)
class Twins:
    """The functions of which there are two: a plain one to read, and a fast one (`ndigo.fast`) that tests hold equal.

    `training/twins.py` chooses; whoever is handed them need not know which they are.
    """

    encode: Callable[..., Array]  # encoder, o_t -> z_t
    unroll: Callable[..., Array]  # weight, x_t, h_0, is_first -> h_t
    predict: Callable[
        ..., tuple[Array, Seen]
    ]  # model, window, number of pairs -> loss with its gradient, what was seen
    joined: Callable[[Any], Any]  # Q-network -> the same, for many steps in a loop
    play: Callable[..., Episode]  # world, joined network, key, epsilon, every, longest stretch -> one episode
    begin_where: Callable[..., Any]  # reset, whether the episode is over, key, state -> a new state or the same
    compiled: Callable[..., Callable[..., Any]]  # a function, its name, what it is made from -> `jit` of it


def action_type(num_actions: int) -> str:
    """How actions are stored in a replay and in a file, where -1 stands for none."""
    return "int8" if num_actions <= 128 else "int32"


def ahead(loss_tk: Float[Array, "T K ..."], k: int) -> Float[Array, "T ..."]:
    """L_{t+k|t} for every t of the window: the one way to read the table."""
    if not 1 <= k <= loss_tk.shape[1]:
        raise ValueError(f"{k} steps ahead of a table that looks 1..{loss_tk.shape[1]} ahead")
    return loss_tk[:, k - 1]
