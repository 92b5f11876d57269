"""Pay for a single stream [T, ...]. Rewards are written for batches [T, B, ...], so it becomes a batch of one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax

from ndigo.rewards.reward import IntrinsicReward
from ndigo.types import Paid, Seen


def pay_stream(reward: IntrinsicReward, params: Any, memory: Any, model: Any, seen: Seen) -> Paid:
    """What the reward pays for a window of one stream: r_t [T], r_tc [T, C]."""
    paid = reward.pay_steps(params, memory, model, batch_of_one(seen))
    return eqx.tree_at(_by_step, paid, replace_fn=lambda x: x[:, 0])


def batch_of_one(seen: Seen) -> Seen:
    """The same window as a batch of one: [T, 1, ...], and the table [T, K, 1, C]."""
    old = seen.window
    series = replace(old, belief=None, agent_state=None, start=None)
    series, z_t, b_t = jax.tree.map(lambda x: x[:, None], (series, seen.z_t, seen.b_t))
    window = replace(series, belief=old.belief[None], agent_state=old.agent_state[None], start=old.start[None])
    loss_tk = None if seen.loss_tk is None else seen.loss_tk[:, :, None]
    return Seen(window=window, z_t=z_t, b_t=b_t, loss_tk=loss_tk)


def _by_step(paid: Paid) -> tuple[Any, ...]:
    return (paid.r_t, paid.is_known) if paid.r_tc is None else (paid.r_t, paid.r_tc, paid.is_known)
