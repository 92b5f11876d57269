"""IG: pays what a frame taught an observer with a perfect memory about where the objects are (exact Bayes filter).

    r_t = sum_i KL(p(y^i_{t+1+L} | h_{t+1}) || p(y^i_{t+1+L} | h_t, a_t))        in nats, by object i

`ig` is L = 0, Bayesian surprise about the present: white noise pays it for ever, as its new cell is news each time.
`ig-L` asks where the objects will be L steps on, if left alone: noise pays nothing from L = 1.
"""

from __future__ import annotations

import jax.numpy as jnp

from ndigo.config import LONGEST_HORIZON
from ndigo.errors import NdigoError
from ndigo.oracle import information_gain, make_filter
from ndigo.rewards.reward import IntrinsicReward


def make_information_gain(lag: int = 0) -> IntrinsicReward:
    if not 0 <= lag < LONGEST_HORIZON:
        raise NdigoError(f"reward ig-{lag}: the lag L must be a whole number from 0 to {LONGEST_HORIZON - 1}")

    def on_episode(world):
        filter_ = make_filter(world)

        def pay_episode(model, a_t, o_t):
            gain = information_gain(filter_, filter_.run(a_t, o_t), a_t, lag)[1:]
            return jnp.pad(gain, [(0, 0), (1, 0)])  # the walls teach nothing: the map is known

        return pay_episode

    return IntrinsicReward(name=f"ig-{lag}" if lag else "ig", on_episode=on_episode)
