"""Pay for a single stream [T, ...]. Rewards are written for batches [T, B, ...], so it becomes a batch of one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ndigo.rewards.reward import IntrinsicReward
from ndigo.types import Paid, Seen


def pay_stream(reward: IntrinsicReward, params: Any, memory: Any, model: Any, seen: Seen) -> Paid:
    """What the reward pays for a window of one stream: r_t [T], r_tc [T, C]."""
    paid = reward.pay_steps(params, memory, model, batch_of_one(seen))
    r_tc = None if paid.r_tc is None else paid.r_tc[:, 0]
    return replace(paid, r_t=paid.r_t[:, 0], r_tc=r_tc, is_known=paid.is_known[:, 0])


def batch_of_one(seen: Seen) -> Seen:
    """The same window as a batch of one: [T, 1, ...], and the table [T, K, 1, C]."""
    old = seen.window
    states = {"belief": old.belief[None], "agent_state": old.agent_state[None], "start": old.start[None]}
    window = replace(old.map_series(lambda x: x[:, None]), **states)
    loss_tk = None if seen.loss_tk is None else seen.loss_tk[:, :, None]
    return Seen(window=window, z_t=seen.z_t[:, None], b_t=seen.b_t[:, None], loss_tk=loss_tk)
