"""The `IntrinsicReward` record: a reward is a function of what the world model makes of a window.

There are three ways to write one:

- A weighted sum of the model's losses needs no function: prediction error is
  `IntrinsicReward("pe", reads=((1, 1.0),))`.
- Any other function of a window is a `pay`. It may own parameters, trained on a loss of its own (ICM), and a memory
  that no gradient reaches: the copy of the model that prediction gain compares with, or running statistics. The
  learner hands it all of these, so a reward imports neither the model nor the agent.
- A reward that needs the episode from its start is an `on_episode`: computed when the episode is collected, and stored
  with its frames.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float

from ndigo.config import LONGEST_HORIZON, Config
from ndigo.errors import NdigoError
from ndigo.types import Paid, Seen, Window, ahead

Reads = tuple[tuple[int, float], ...]  # pairs (k, w): the loss of a frame predicted k steps ahead, and its weight


def task_of(window: Window) -> Float[Array, "T *B"]:
    """The reward of the world's own task; 0 where it has none."""
    return jnp.zeros(window.a_t.shape) if window.task_t is None else window.task_t


def mean_over_steps(x_t: Float[Array, "T *B"], window: Window) -> Float[Array, ""]:
    """The mean over a window's real steps (`Window.is_step`), for a reward's own loss."""
    return jnp.where(window.is_step, x_t, 0.0).sum() / jnp.maximum(window.is_step.sum(), 1)


def paid(r_tc: Float[Array, "T *B C"], is_known: Bool[Array, "T *B"] | None = None) -> Paid:
    """The record for a reward that is a sum over channels and has no loss of its own; known everywhere by default."""
    r_t = r_tc.sum(axis=-1)
    known = jnp.ones(r_t.shape, bool) if is_known is None else jnp.broadcast_to(is_known, r_t.shape)
    return Paid(r_t=r_t, r_tc=r_tc, is_known=known, loss=jnp.float32(0.0))


def table(seen: Seen) -> Float[Array, "T K *B C"]:
    """The window's table of losses; an error where the model predicts nothing."""
    if seen.loss_tk is None:
        raise ValueError("this reward reads predictions, but the model it was given makes none")
    return seen.loss_tk


def sum_of_losses(
    loss_tk: Float[Array, "T K *B C"], reads: Reads, window: Window
) -> tuple[Float[Array, "T *B C"], Bool[Array, "T *B"]]:
    """r_t = sum over (k, w) of w L[t+1 | max(t+1-k, first)], by channel, and where it is known.

    `first` is the first frame of t's episode: where no frame lies k steps before t+1, the prediction from it stands in.

    The sum is known where the window holds every frame that predicts. Where it lacks some, the sum is known only if
    each of these is the first frame and their weights add up to 0: they are then one loss, which cancels, as NDIGO's
    two do in the first H steps of an episode.
    """
    here, ever = window.frames_before()
    r_tc, is_known, beyond = jnp.zeros_like(loss_tk[:, 0]), jnp.ones(here.shape, bool), jnp.zeros(here.shape)
    for k, w in reads:
        k_t = jnp.minimum(k, ever + 1)  # how far ahead it was in fact predicted
        is_held, is_from_first = k_t <= here + 1, k > ever
        loss_tc = _k_before(loss_tk, k)
        for j in range(1, k):
            loss_tc = jnp.where((k_t == j)[..., None], _k_before(loss_tk, j), loss_tc)
        r_tc += jnp.where(is_held[..., None], w * loss_tc, 0.0)
        is_known &= is_held | is_from_first
        beyond += jnp.where(is_held, 0.0, w)  # the weight of the first frame's loss, where the window lacks it
    return r_tc, is_known & (jnp.abs(beyond) < 1e-6)


def _k_before(loss_tk: Float[Array, "T K ..."], k: int) -> Float[Array, "T ..."]:
    """L[t+1 | t+1-k], and 0 where frame t+1-k lies before the window."""
    T = len(loss_tk)
    return jnp.concatenate([jnp.zeros_like(loss_tk[: k - 1, 0]), ahead(loss_tk, k)[: max(T - k + 1, 0)]])[:T]


@dataclass(frozen=True)
class PaySum:
    """The `pay` of a reward that has `reads`, and perhaps `reads_memory`."""

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
    """The `pay` of a reward that has an `on_episode`: what it paid when the episode was collected."""
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
    """One intrinsic reward.

    pay(params, memory, model, seen) -> Paid, computed with the current model on every sampled window.
    reads: the reward is the sum over (k, w) of w L_{t+1|t+1-k}, k cut at the episode's first frame. No `pay` is needed,
        and other agents can be paid it step by step (`ndigo.curiosity`).
    reads_memory: the same, of losses under the model that `remember` kept; added to the sum.
    on_episode(world)(model, a_t, o_t) -> r_tc [S, C], computed once, with the model of the time when the episode is
        collected; [S, 1] where the pay has no split by channel. A `pay` beside it finds it in seen.window.r_tc.
    after_update(memory, model, paid, step) -> memory, after each update. `model` is the one that has paid, `paid` what
        it paid for the update's windows, with the `notes` that `pay` left: running statistics add those up.
    """

    name: str
    pay: Callable[[Any, Any, Any, Seen], Paid] = pay_stored
    init: Callable[[Array, Any], Any] = _nothing  #: key, model -> params, trained on Paid.loss
    remember: Callable[[Any], Any] = _nothing  #: model -> memory
    after_update: Callable[[Any, Any, Paid, Any], Any] = _unchanged
    on_episode: Callable[[Any], PayEpisode] | None = None
    num_ahead: int = 1  #: the furthest prediction that `pay` reads: K is at least this, and as far as `reads` go
    reads: Reads = ()  #: sorted when the record is made
    reads_memory: Reads = ()
    trains_belief: bool = False  #: True: the belief learns from Paid.loss and nothing is predicted
    acts_at_random: bool = False  #: True: no policy is learned
    pays_task: bool = False  #: True: it pays what the world's own task does, and needs one
    needs_float32: bool = False  #: True: paid by a float32 model, since bfloat16's rounding would drown it

    def __post_init__(self) -> None:
        for name in ("reads", "reads_memory"):
            object.__setattr__(self, name, _sorted_reads(self, name))
        # A `PaySum` was made here, for the record that this one is a copy of (`dataclasses.replace`).
        if isinstance(self.pay, PaySum) or (self.pay is pay_stored and self.on_episode is None):
            object.__setattr__(self, "pay", PaySum(self.reads, self.reads_memory) if self.reads else pay_stored)
        if isinstance(self.num_ahead, int):  # anything else is refused later, by the gate
            furthest = max((k for k, _ in (*self.reads, *self.reads_memory)), default=0)
            object.__setattr__(self, "num_ahead", max(self.num_ahead, furthest))

    @property
    def is_sum_alone(self) -> bool:
        """True where its name and its `reads` are all there is to it."""
        return isinstance(self.pay, PaySum) and self == IntrinsicReward(self.name, reads=self.reads)

    @property
    def reads_table_alone(self) -> bool:
        """True where a table of losses is all it needs: no networks, memory or stored pay of its own."""
        others = ("init", "remember", "on_episode", "trains_belief", "pays_task")
        return all(getattr(self, name) == getattr(IntrinsicReward, name) for name in others)

    def pay_steps(self, params: Any, memory: Any, model: Any, seen: Seen) -> Paid:
        """What `pay` pays, and 0 where the window has no real step (`Window.is_step`)."""
        found, is_step = self.pay(params, memory, model, seen), seen.window.is_step
        return replace(
            found,
            r_t=jnp.where(is_step, found.r_t, 0.0),
            r_tc=None if found.r_tc is None else jnp.where(is_step[..., None], found.r_tc, 0.0),
            is_known=found.is_known & is_step,
        )


def _sorted_reads(reward: IntrinsicReward, name: str) -> Reads:
    """The field's pairs (k, w), sorted; an error where it holds anything else."""
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


def refuse_short(reward: IntrinsicReward, holder: str, num_steps: int, so: str) -> None:
    """An error where a window or an episode (`holder`) has fewer steps than the reward looks ahead."""
    if num_steps < reward.num_ahead:
        looks = f"reward {reward.name} looks {reward.num_ahead} steps ahead"
        raise NdigoError(f"{looks}, and {holder} has {num_steps}: {so}")


def earned(config: Config, paid: Paid, window: Window) -> tuple[Float[Array, "T *B"], Bool[Array, "T *B"]]:
    """What the agent learns to earn, curiosity's and the task's reward in their weights; and where it is known."""
    if (config.curiosity_weight, config.task_weight) == (1, 0):
        return paid.r_t, paid.is_known
    r_t = config.curiosity_weight * paid.r_t + config.task_weight * task_of(window)
    return r_t, paid.is_known if config.curiosity_weight else window.is_step
