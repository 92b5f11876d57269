"""NDIGO-H: pays for what a frame revealed about the future (paper, equation 1).

    r_{t+H-1} = L_{t+H|t-1} - L_{t+H|t}        what frame t revealed about frame t+H, paid once frame t+H is there

Both losses are about the same frame, so noise cancels: a frame that nobody can predict costs as much before o_t as
after it. Written by the step s = t+H-1 that is paid, the two losses are

    r_s = L_{s+1|s-H} - L_{s+1|s+1-H}

which `reads` below says as ((H + 1, +1), (H, -1)): frame s+1, predicted H+1 and H steps ahead. The first H steps of an
episode have no such pair and earn 0. The first H steps of a later window have one, but it began before the window:
their reward is unknown, which is not 0.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from ndigo.config import LONGEST_HORIZON
from ndigo.errors import NdigoError
from ndigo.rewards.reward import IntrinsicReward
from ndigo.types import ahead


def make_ndigo(H: int) -> IntrinsicReward:
    if not 1 <= H < LONGEST_HORIZON:
        limit = "of at least 1" if H < 1 else f"below {LONGEST_HORIZON}"
        raise NdigoError(f"reward ndigo-{H}: the horizon H must be a whole number {limit}")
    return IntrinsicReward(f"ndigo-{H}", reads=((H, -1.0), (H + 1, 1.0)))


def ndigo_reward(loss_tk: Float[Array, "T K ..."], H: int) -> Float[Array, "T ..."]:
    """The reward of a whole episode, from its table of losses, as the paper writes it; 0 where no pair exists."""
    T = len(loss_tk)
    before = ahead(loss_tk, H + 1)[: max(T - H, 0)]  # L[t+H | t-1] for t = 1, 2, ...
    after = ahead(loss_tk, H)[1 : max(T - H, 0) + 1]  # L[t+H | t]
    return jnp.concatenate([jnp.zeros_like(loss_tk[:H, 0]), before - after])[:T]
