"""Records that cross folders, with their axes written once.

Axes: T time, K ahead, B batch, N objects, V view, C channels, D belief, A actions. `*B` is any number of batch axes:
none for a single stream, one in the learner.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, UInt8


class Truth(eqx.Module):
    """Where everything is. For evaluation only: no agent, model or reward may read it."""

    agent: Int[Array, " 2"]  #: (row, col)
    objects: Int[Array, "N 2"]  #: (row, col) of each object, in the experiment's order


class Episode(eqx.Module):
    """One episode of S steps and S+1 frames, as it was played."""

    o_t: UInt8[Array, "S+1 P"]  #: packed into bytes by the world's frame
    a_tm1: Int[Array, " S+1"]
    cells: Int[Array, "S+1 N"]
    a_t: Int[Array, " S"]
    mu_t: Float[Array, " S"]
    agent_state: Float[Array, "S//M D"]  #: the Q-network's, before every M-th frame


class Window(eqx.Module):
    """T consecutive steps, with the frame after the last one and the recurrent states before the first one.

    Where episodes end by themselves a window can span several of them, and `is_first` marks where each begins. The last
    frame of an episode is then followed by the first frame of the next. Between those two lies no real step (`is_step`
    is False): its action means nothing, it is neither predicted nor paid for, and recurrent states restart after it.
    """

    o_t: Any  #: [T+1, *B, ...] as the world's frame has it: bits are uint8 [V, V, C], a join is a dictionary
    a_tm1: Int[Array, "T+1 *B"]  #: the action before each frame; 0 (stay) before an episode's first
    a_t: Int[Array, "T *B"]
    mu_t: Float[Array, "T *B"]  #: probability the actor gave to a_t
    belief: Float[Array, "*B D"]  #: the model's state before the first frame, as computed when acting
    agent_state: Float[Array, "*B D"]  #: the Q-network's state there, likewise
    start: Int[Array, "*B"]  #: how many steps of its episode come before the first frame
    cells: Int[Array, "T+1 *B N"]  #: true cell of each object, row * columns + col: for the probe alone
    r_tc: Float[Array, "T *B C"] | None = None  #: pay computed when the episode was collected; C = 1: not split
    is_first: Bool[Array, "T+1 *B"] | None = None  #: the first frame of an episode; None: one episode fills the window
    discount_t: Float[Array, "T *B"] | None = None  #: 0 where the step terminates its episode, else 1; None: all 1
    task_t: Float[Array, "T *B"] | None = None  #: the reward of the world's own task; None: it has no task

    @property
    def is_step(self) -> Bool[Array, "T *B"]:
        """False between an episode's last frame and the first of the next."""
        return jnp.ones(self.a_t.shape, bool) if self.is_first is None else ~self.is_first[1:]

    def frames_before(self) -> tuple[Int[Array, "T *B"], Int[Array, "T *B"]]:
        """For each t: how many earlier frames of the same episode the window holds, and how many there are in all."""
        t = jnp.arange(len(self.a_t)).reshape(-1, *(1,) * self.start.ndim)
        if self.is_first is None:
            return jnp.broadcast_to(t, self.a_t.shape), self.start + t
        began = lax.cummax(jnp.where(self.is_first[:-1], t, -1), axis=0)  # t of the first frame; -1: not in the window
        here = t - jnp.maximum(began, 0)
        return here, jnp.where(began < 0, self.start + t, here)

    @property
    def o_tp1(self) -> Any:
        """The frame after each step."""
        return jax.tree.map(lambda x_t: x_t[1:], self.o_t)

    def map_series(self, function: Callable[[Array], Array]) -> Window:
        """The window with a function applied to all that has an axis of time; the recurrent states and `start` stay."""
        states = {name: getattr(self, name) for name in ("belief", "agent_state", "start")}
        return replace(jax.tree.map(function, replace(self, **dict.fromkeys(states))), **states)

    @staticmethod
    def whole(
        o_t: Any, a_t: Array, state_size: int = 0, cells: Array | None = None, r_tc: Array | None = None
    ) -> Window:
        """One whole episode as a window: zero states before its first frame, and mu_t = 1."""
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
    """What the world model makes of a window: all that a reward may look at."""

    window: Window
    z_t: Float[Array, "T+1 *B Z"]
    b_t: Float[Array, "T+1 *B D"]
    loss_tk: Float[Array, "T K *B C"] | None  #: L_{t+k|t} split by channel; None for a model that predicts nothing


class Paid(eqx.Module):
    """What a reward pays for a window."""

    r_t: Float[Array, "T *B"]
    r_tc: Float[Array, "T *B C"] | None  #: the same split by channel; None where the reward has no such split
    is_known: Bool[Array, "T *B"]  #: False where r_t depends on frames before the window, or no real step is
    loss: Float[Array, ""]  #: trains the reward's own parameters; 0 if it has none
    notes: Any = None  #: anything the reward wants to hand to its `after_update`, such as sums for running statistics


@dataclass(frozen=True, eq=False)
class Policy:
    """Chooses an action at every frame. All its randomness comes from the key given to `start`.

    `act` is also given a_{t-1} (0 before o_0), which need not be the policy's own choice: a person may have acted.
    """

    start: Callable[[Array], Any]  #: key -> state
    act: Callable[[Any, Array, Any], tuple[Int[Array, ""], Any]]  #: o_t, a_{t-1}, state -> a_t, state


@dataclass(frozen=True)
class Twins:
    """The functions that exist twice: a plain one to read, and a fast one in `ndigo.fast` that tests hold equal to it.

    `training/twins.py` chooses one set of them for a run and hands it on as `by`.
    """

    encode: Callable[..., Array]  #: encoder, o_t -> z_t
    unroll: Callable[..., Array]  #: weight, x_t, h_0, is_first -> h_t
    predict: Callable[..., tuple[Array, Seen]]  #: model, window, pairs per k -> prediction loss, what was seen
    joined: Callable[[Any], Any]  #: Q-network -> the form of it that `play` takes
    play: Callable[..., Episode]  #: world, joined network, key, epsilon, every, longest stretch -> one episode
    begin_where: Callable[..., Any]  #: reset, is_over, key, state -> a new episode's state where it is over
    compiled: Callable[..., Callable[..., Any]]  #: function, name, made from, donated argument -> `jit` of it


def action_type(num_actions: int) -> str:
    """The type that stores actions in a replay and in files (where -1 is no action)."""
    return "int8" if num_actions <= 128 else "int32"


def ahead(loss_tk: Float[Array, "T K ..."], k: int) -> Float[Array, "T ..."]:
    """L_{t+k|t} for every t of the window: the one way to read the table."""
    if not (K := loss_tk.shape[1]) >= k >= 1:
        raise ValueError(f"{k} steps ahead of a table that looks 1..{K} ahead, which is the reward's num_ahead")
    return loss_tk[:, k - 1]
