"""Ideal rewards: `ideal-NAME` pays what NAME would if the model were perfect.

A reward that only reads the table of losses L_{t+k|t} is handed the exact one (`ndigo.oracle`), so that an agent
trained on it shows what the reward's definition does, with no error of a learned model in it. The model is still
learned beside it, for the probe. The exact filter reads actions and observations, as the agent does, and the map.

The reward is the sum over channels, as the learned one is; `docs/oracle.md` says where that differs from whole frames.
"""

from __future__ import annotations

import jax.numpy as jnp

from ndigo.errors import NdigoError
from ndigo.oracle import exact_horizon, ideal_table, make_filter
from ndigo.rewards.reward import IntrinsicReward, pay_stored
from ndigo.types import Seen, Window


def ideal(reward: IntrinsicReward) -> IntrinsicReward:
    """The same reward of the exact table; an error for a reward that is more than a function of the table."""
    if not reward.reads_table_alone:
        raise NdigoError(f"reward {reward.name} has no ideal: it reads more than predictions (pe and ndigo-H have one)")
    K = reward.num_ahead

    def on_episode(world):
        filter_ = make_filter(world)
        if exact_horizon(world, K) < K:
            raise NdigoError(f"ideal-{reward.name} looks {K} steps ahead, further than is exact in world {world.name}")

        def judge(a_t, o_t):
            nats = ideal_table(filter_, filter_.run(a_t, o_t), a_t, o_t, K)
            window = Window(
                o_t=o_t,
                a_tm1=jnp.concatenate([jnp.zeros_like(a_t[:1]), a_t]),
                a_t=a_t,
                mu_t=jnp.ones(len(a_t)),
                belief=jnp.zeros(0),
                q_state=jnp.zeros(0),
                start=jnp.int32(0),
                cells=jnp.zeros((len(o_t), 0), jnp.int32),
            )
            seen = Seen(
                window=window, z_t=jnp.zeros((len(o_t), 0)), b_t=jnp.zeros((len(o_t), 0)), loss_tk=nats.channels
            )
            r_tc = reward.pay(None, None, None, seen).r_tc
            assert r_tc is not None
            return r_tc

        return judge

    return IntrinsicReward(name=f"ideal-{reward.name}", pay=pay_stored, on_episode=on_episode)
