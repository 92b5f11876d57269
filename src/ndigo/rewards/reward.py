"""The `IntrinsicReward` record: a reward is a function of what the world model made of a window.

A reward may own parameters and a loss for them (ICM), and a memory that no gradient reaches: the copy of the model
that prediction gain compares with, or running statistics. The learner hands it everything, so a reward imports
neither the model nor the agent.

A reward that is a weighted sum of losses says which, by its `reads`, and needs no function: prediction error is
`IntrinsicReward("pe", reads=((1, 1.0),))`.

A reward that no window can tell, because it takes the episode from its start, is computed when the episode is
collected (`on_episode`) and stored with its frames. Without a `pay` of its own it is paid as it was stored.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float

from ndigo.config import LONGEST_HORIZON, Config
from ndigo.errors import NdigoError
from ndigo.types import Paid, Seen, Window, ahead

Reads = tuple[tuple[int, float], ...]  # (k, w)


def task_of(window: Window) -> Float[Array, "T *B"]:
    """What the world's own task paid; 0 where it has none."""
    return jnp.zeros(window.a_t.shape) if window.task_t is None else window.task_t


def mean_over_steps(x_t: Float[Array, "T *B"], window: Window) -> Float[Array, ""]:
    """The mean over a window's steps, for a reward's own loss."""
    return jnp.where(window.is_step, x_t, 0.0).sum() / jnp.maximum(window.is_step.sum(), 1)


def paid(r_tc: Float[Array, "T *B C"], is_known: Bool[Array, "T *B"] | None = None) -> Paid:
    """The record of a reward that is a sum over channels and has no loss of its own."""
    r_t = r_tc.sum(axis=-1)
    known = jnp.ones(r_t.shape, bool) if is_known is None else jnp.broadcast_to(is_known, r_t.shape)
    return Paid(r_t=r_t, r_tc=r_tc, is_known=known, loss=jnp.float32(0.0))


def table(seen: Seen) -> Float[Array, "T K *B C"]:
    """The window's losses; an error names the mistake when the model predicted nothing."""
    if seen.loss_tk is None:
        raise ValueError("this reward reads predictions, but the model it was given makes none")
    return seen.loss_tk


def sum_of_losses(
    loss_tk: Float[Array, "T K *B C"], reads: Reads, window: Window
) -> tuple[Float[Array, "T *B C"], Bool[Array, "T *B"]]:
    """r_t = sum over (k, w) of w L[t+1 | t+1-k]: frame t+1, as it was guessed k steps before.

    A guess from before the episode's first frame is the one from that frame. Also where it is known: where the window
    holds what is summed, or what it does not hold cancels, as NDIGO's first H steps are one loss less itself.
    """
    here, ever = window.frames_before()
    r_tc, is_known, beyond = jnp.zeros_like(loss_tk[:, 0]), jnp.ones(here.shape, bool), jnp.zeros(here.shape)
    for k, w in reads:
        k_t = jnp.minimum(k, ever + 1)
        is_held, is_from_first = k_t <= here + 1, k > ever
        guess = _k_before(loss_tk, k)
        for j in range(1, k):
            guess = jnp.where((k_t == j)[..., None], _k_before(loss_tk, j), guess)
        r_tc += jnp.where(is_held[..., None], w * guess, 0.0)
        is_known &= is_held | is_from_first
        beyond += jnp.where(is_held, 0.0, w)  # of that one loss, where it is not held
    return r_tc, is_known & (jnp.abs(beyond) < 1e-6)


def _k_before(loss_tk: Float[Array, "T K ..."], k: int) -> Float[Array, "T ..."]:
    """L[t+1 | t+1-k], and 0 where that was guessed before the window."""
    T = len(loss_tk)
    return jnp.concatenate([jnp.zeros_like(loss_tk[: k - 1, 0]), ahead(loss_tk, k)[: max(T - k + 1, 0)]])[:T]


@dataclass(frozen=True)
class PaySum:
    """The `pay` of a reward that has `reads` alone, and perhaps others of the model that it remembers."""

    reads: Reads
    reads_memory: Reads = ()

    def __call__(self, params: Any, memory: Any, model: Any, seen: Seen) -> Paid:
        r_tc, is_known = sum_of_losses(table(seen), self.reads, seen.window)
        if not self.reads_memory:
            return paid(r_tc, is_known)
        then = lax.stop_gradient(memory).look(seen.window, self.reads_memory[-1][0])
        old_tc, is_old_known = sum_of_losses(table(then), self.reads_memory, seen.window)
        return paid(r_tc + old_tc, is_known & is_old_known)


def pay_stored(params: Any, memory: Any, model: Any, seen: Seen) -> Paid:
    """What `on_episode` found when the window's episode was collected."""
    if seen.window.r_tc is None:
        raise NdigoError("this reward is computed when an episode is collected, and this window has none stored")
    stored = paid(seen.window.r_tc)
    return stored if seen.window.r_tc.shape[-1] > 1 else replace(stored, r_tc=None)


def _nothing(*_: Any) -> None:
    return None


def _unchanged(memory: Any, model: Any, paid: Paid, step: Any) -> Any:
    return memory


PayEpisode = Callable[[Any, Array, Array], Array]  # model, a_t [S], o_t [S+1, V, V, C] -> r_tc [S, C], or [S, 1]


@dataclass(frozen=True)
class IntrinsicReward:
    """How a window is paid: by `pay`, by `reads` alone, by `on_episode`, or by a `pay` that reads what that stored.

    pay(params, memory, model, seen) -> Paid, recomputed with the current model on every sampled window.
    on_episode(world)(model, a_t, o_t) -> r_tc, computed once, with the model that saw the episode being collected;
        [S, 1] where the pay has no split by channel. `pay` finds it in seen.window.r_tc.
    after_update(memory, model, paid, step) -> memory. The model is the one that paid, `paid` what it paid for the
        update's windows with what `pay` left in `paid.notes`: running statistics are a memory that adds it up.
    """

    name: str
    pay: Callable[[Any, Any, Any, Seen], Paid] = pay_stored
    init: Callable[[Array, Any], Any] = _nothing  # key, model -> params, trained on Paid.loss
    remember: Callable[[Any], Any] = _nothing  # model -> memory
    after_update: Callable[[Any, Any, Paid, Any], Any] = _unchanged
    on_episode: Callable[[Any], PayEpisode] | None = None
    num_ahead: int = 1  # how far into the table it looks: K is at least this
    # (k, w), where it is a sum: r_t = sum of w L_{t+1|t+1-k}, k cut at the episode's first frame; so it is paid step by
    # step. `reads_memory` is the same under the model that `remember` kept. Any order; kept sorted, the furthest last.
    reads: Reads = ()
    reads_memory: Reads = ()
    trains_belief: bool = False  # True: the belief learns from Paid.loss and nothing is predicted
    acts_at_random: bool = False  # True: no policy is learned
    pays_task: bool = False  # True: it pays what the world's own task does, and needs one
    needs_float32: bool = False  # True: paid by float32 models; bfloat16's rounding would drown a small difference

    def __post_init__(self) -> None:
        for name in ("reads", "reads_memory"):
            object.__setattr__(self, name, _sorted_reads(self, name))
        if isinstance(self.pay, PaySum) or (self.pay is pay_stored and self.on_episode is None):
            self._pay_what_it_reads()
        for name in ("reads", "reads_memory"):
            _refuse_too_far(self, name)

    def _pay_what_it_reads(self) -> None:
        object.__setattr__(self, "pay", PaySum(self.reads, self.reads_memory) if self.reads else pay_stored)
        if self.reads and isinstance(self.num_ahead, int):  # what else it is, the gate refuses
            furthest = max(k for k, _ in (*self.reads, *self.reads_memory))
            object.__setattr__(self, "num_ahead", max(self.num_ahead, furthest))

    @property
    def is_sum_alone(self) -> bool:
        """True where it pays what it reads by its own record, and has no function of its own."""
        return isinstance(self.pay, PaySum) and self == IntrinsicReward(self.name, reads=self.reads)

    @property
    def reads_table_alone(self) -> bool:
        """True where it may be paid on any table of losses: it has no networks, memory or stored pay of its own."""
        own = {field.name for field in fields(self) if getattr(self, field.name) != field.default}
        return not own & {"init", "remember", "on_episode", "trains_belief", "pays_task"}

    def pay_steps(self, params: Any, memory: Any, model: Any, seen: Seen) -> Paid:
        """What `pay` makes of the window's steps; between two episodes of a stream is none to be paid."""
        found, is_step = self.pay(params, memory, model, seen), seen.window.is_step
        return replace(
            found,
            r_t=jnp.where(is_step, found.r_t, 0.0),
            r_tc=None if found.r_tc is None else jnp.where(is_step[..., None], found.r_tc, 0.0),
            is_known=found.is_known & is_step,
        )


def _sorted_reads(reward: IntrinsicReward, name: str) -> tuple[tuple[int, float], ...]:
    """Its pairs (k, w) by k; an error in one line where they are none."""
    whose, found = f"reward {reward.name}: {name}", getattr(reward, name)
    try:
        pairs = sorted((operator.index(k), float(w)) for k, w in found)
    except (TypeError, ValueError):
        raise NdigoError(f"{whose} is {found!r}, expected pairs (k, w), such as ((1, 1.0),)") from None
    if pairs and reward.trains_belief:
        raise NdigoError(f"{whose} is {found!r}, expected none: with trains_belief nothing is predicted")
    for k, w in pairs:
        if not 1 <= k <= LONGEST_HORIZON:
            raise NdigoError(f"{whose} has k = {k}, expected 1 to {LONGEST_HORIZON}")
        if not math.isfinite(w):
            raise NdigoError(f"{whose} has the weight {w}, expected a finite number")
    return tuple(pairs)


def _refuse_too_far(reward: IntrinsicReward, name: str) -> None:
    for k, _ in getattr(reward, name):
        if isinstance(reward.num_ahead, int) and k > reward.num_ahead:
            limit = f"num_ahead, which is {reward.num_ahead}"
            raise NdigoError(f"reward {reward.name}: {name} has k = {k}, expected 1 to {limit}")


def refuse_short(reward: IntrinsicReward, holder: str, num_steps: int, so: str) -> None:
    """An error where a window or an episode (`holder`) is shorter than the reward looks ahead."""
    if num_steps < reward.num_ahead:
        looks = f"reward {reward.name} looks {reward.num_ahead} steps ahead"
        raise NdigoError(f"{looks}, and {holder} has {num_steps}: {so}")


def earned(config: Config, paid: Paid, window: Window) -> tuple[Float[Array, "T *B"], Bool[Array, "T *B"]]:
    """What the agent learns to earn, the weighted sum of curiosity's and the task's reward; and where it is known."""
    if (config.curiosity_weight, config.task_weight) == (1, 0):
        return paid.r_t, paid.is_known
    r_t = config.curiosity_weight * paid.r_t + config.task_weight * task_of(window)
    return r_t, paid.is_known if config.curiosity_weight else window.is_step
