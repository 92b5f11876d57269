"""Pay step by step for any other reward: each step it is handed the last few as a window, and paid for the last one.

The window has as many steps as the reward looks ahead (`num_ahead`), with the beliefs and features that were computed
when its frames came. So ICM is paid as on any window; a reward of your own is, if step t needs no more than that.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ndigo.curiosity.by_step.paying import Ages, Params, Pay, Step, seen_by_action
from ndigo.networks import gru_step
from ndigo.rewards import IntrinsicReward
from ndigo.types import Paid, Seen, Window


class Frames(eqx.Module):
    """The last T+1 frames of N streams, the newest last, and what the model made of them."""

    o_t: Any  # [T+1, N, ...]
    a_tm1: Int[Array, "T+1 N"]
    is_first: Bool[Array, "T+1 N"]
    z_t: Float[Array, "T+1 N Z"]
    b_t: Float[Array, "T+1 N D"]


class Recent(eqx.Module):
    """What the streams carry."""

    frames: Frames
    before: Float[Array, "N D"]  # the belief before the first of the frames
    ages: Ages


def start(params: Params, reward: IntrinsicReward, o: Any) -> Recent:
    """Before any frame; `o` is any frame of each stream, for its shape."""
    core, z = params.model.core, params.model.core.encoder(o)
    num_envs = len(z)
    lead = (reward.num_ahead + 1, num_envs)
    frames = Frames(
        o_t=jax.tree.map(lambda x: jnp.zeros((lead[0], *x.shape), x.dtype), o),
        a_tm1=jnp.zeros(lead, jnp.int32),
        is_first=jnp.zeros(lead, bool),
        z_t=jnp.zeros((lead[0], *z.shape), z.dtype),
        b_t=jnp.zeros((*lead, core.size)),
    )
    return Recent(frames=frames, before=jnp.zeros((num_envs, core.size)), ages=Ages.start(num_envs))


def pay(params: Params, reward: IntrinsicReward, recent: Recent, step: Step, num_channels: int) -> tuple[Recent, Pay]:
    """One step of N streams. Where an episode ends within it, its last frame comes first and is paid for."""
    has_last = jnp.bool_(step.o_last is not None) & (recent.ages.num > 0)
    is_step = recent.ages.is_step(step.is_first, step.o_last is not None)
    o = seen_by_action(step, step.is_first & has_last)  # no frame lies before a stream's first
    recent = push(params, recent, o, step.a_t, step.is_first & ~has_last)
    found = pay_last(params, reward, recent)
    ages, T = recent.ages, reward.num_ahead
    # Known where the episode was seen from its first frame on, or for as many steps as the reward looks at.
    is_known = is_step & found.is_known[-1] & (ages.is_whole | (ages.num > T))
    r = jnp.where(is_step, found.r_t[-1], 0.0)
    r_c = jnp.zeros((*r.shape, num_channels)) if found.r_tc is None else jnp.where(is_step[:, None], found.r_tc[-1], 0)
    if step.o_last is not None:
        begun = push(params, recent, step.o_tp1, step.a_t, step.is_first)
        recent = _chosen(step.is_first & has_last, begun, recent)
    return recent, Pay(r=r, r_c=r_c, is_known=is_known)


def push(params: Params, recent: Recent, o: Any, a_t: Int[Array, " N"], is_first: Bool[Array, " N"]) -> Recent:
    """One more frame; the oldest leaves."""
    core, frames = params.model.core, recent.frames
    begins = is_first | (recent.ages.num == 0)
    z, a_tm1 = core.encoder(o), jnp.where(is_first, 0, a_t)
    b = gru_step(core.gru.weight, core.inputs(z, a_tm1), jnp.where(begins[:, None], 0.0, frames.b_t[-1]))

    newest = Frames(o_t=o, a_tm1=a_tm1, is_first=begins, z_t=z, b_t=b)
    later = jax.tree.map(lambda x_t, x: jnp.concatenate([x_t[1:], x[None].astype(x_t.dtype)]), frames, newest)
    return Recent(frames=later, before=frames.b_t[0], ages=recent.ages.after(is_first))


def pay_last(params: Params, reward: IntrinsicReward, recent: Recent) -> Paid:
    """What the reward makes of the window."""
    T, model, frames = reward.num_ahead, params.model, recent.frames
    a_t = frames.a_tm1[1:]
    window = Window(
        o_t=frames.o_t,
        a_tm1=frames.a_tm1,
        a_t=a_t,
        mu_t=jnp.ones(a_t.shape),
        belief=recent.before,
        agent_state=jnp.zeros((a_t.shape[1], 0)),
        start=jnp.maximum(recent.ages.num - T - 1, 0),
        cells=jnp.zeros((*frames.a_tm1.shape, 0), jnp.int32),
        is_first=frames.is_first,
    )
    loss_tk = None
    if model.predictor is not None:
        loss_tk = model.losses(frames.b_t[:-1], a_t, jax.tree.map(lambda x: x[1:], frames.o_t), T, frames.is_first)
    seen = Seen(window=window, z_t=frames.z_t, b_t=frames.b_t, loss_tk=loss_tk)
    return reward.pay_steps(params.reward, params.memory, model, seen)


def _chosen(is_new: Bool[Array, " N"], new: Recent, old: Recent) -> Recent:
    def along(axis: int) -> Any:
        def choose(x: Array, y: Array) -> Array:
            return jnp.where(is_new.reshape(*(1,) * axis, -1, *(1,) * (x.ndim - axis - 1)), x, y)

        return choose

    return Recent(
        frames=jax.tree.map(along(1), new.frames, old.frames),
        before=along(0)(new.before, old.before),
        ages=jax.tree.map(along(0), new.ages, old.ages),
    )
