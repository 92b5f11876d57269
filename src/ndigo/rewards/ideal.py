"""Ideal rewards: `ideal-NAME` pays what NAME would if the model were perfect.

A reward that only reads the table of losses L_{t+k|t} is handed the exact one (`ndigo.oracle`), so that an agent
trained on it shows what the reward's definition does, with no error of a learned model in it. The model is still
learned beside it, for the probe. The exact filter reads actions and observations, as the agent does, and the map.

The reward is that of whole frames, -ln p(o). It is split by the chain rule: each object is paid its own channel, and
the walls what is left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, UInt8

from ndigo.errors import NdigoError
from ndigo.oracle import Nats, exact_horizon, ideal_table, make_filter
from ndigo.rewards.one_stream import pay_stream
from ndigo.rewards.reward import IntrinsicReward, PayEpisode
from ndigo.types import Seen, Window

ExactPay = Callable[[Int[Array, " S"], UInt8[Array, "S+1 V V C"]], tuple[Float[Array, "S C"], ...]]


def ideal(reward: IntrinsicReward) -> IntrinsicReward:
    """The same reward, paid on the exact table; an error for a reward that needs more than a table."""
    if not reward.reads_table_alone or reward.acts_at_random:
        raise NdigoError(f"reward {reward.name} has no ideal: it reads more than predictions (pe and ndigo-H have one)")

    def on_episode(world: Any) -> PayEpisode:
        pay_episode = pay_exactly(reward, world, Nats.by_chain)
        return lambda model, a_t, o_t: pay_episode(a_t, o_t)[0]

    return IntrinsicReward(name=f"ideal-{reward.name}", on_episode=on_episode)


def pay_exactly(reward: IntrinsicReward, world: Any, *splits: Callable[[Nats], Float[Array, "T K C"]]) -> ExactPay:
    """The reward on an episode's exact table, once for each of the ways to split its nats by channel (`splits`)."""
    filter_, K = make_filter(world), reward.num_ahead
    if exact_horizon(world, K) < K:
        raise NdigoError(f"reward {reward.name} looks {K} steps ahead, further than is exact in world {world.name}")

    def pay_episode(a_t: Array, o_t: Array) -> tuple[Array, ...]:
        table = ideal_table(filter_, filter_.run(a_t, o_t), a_t, o_t, K)
        window = Window.whole(o_t, a_t)
        nothing = jnp.zeros((len(o_t), 0))

        def pay(loss_tk: Array) -> Array:
            paid = pay_stream(reward, None, None, None, Seen(window=window, z_t=nothing, b_t=nothing, loss_tk=loss_tk))
            if paid.r_tc is None:
                raise NdigoError(f"reward {reward.name} has no ideal: it does not say what each channel pays (r_tc)")
            return paid.r_tc

        return tuple(pay(split(table)) for split in splits)

    return pay_episode
