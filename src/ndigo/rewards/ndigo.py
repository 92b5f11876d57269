"""NDIGO-H: pays for what a frame revealed about the future (paper, equation 1)."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ndigo.config import LONGEST_HORIZON
from ndigo.errors import NdigoError
from ndigo.rewards.reward import IntrinsicReward, paid, table
from ndigo.types import Paid, Seen, ahead


def ndigo_reward(loss_tk: Float[Array, "T K ..."], H: int) -> Float[Array, "T ..."]:
    """Pays step t+H-1 for what frame t revealed about frame t+H.

        r[t+H-1] = L[t+H | t-1] - L[t+H | t]        (zero where no such pair exists)

    Noise cancels: a frame nobody can predict costs the same before and after seeing o_t.
    """
    T = len(loss_tk)
    before = ahead(loss_tk, H + 1)[: max(T - H, 0)]  # L[t+H | t-1] for t = 1, 2, ...
    after = ahead(loss_tk, H)[1 : max(T - H, 0) + 1]  # L[t+H | t]
    return jnp.concatenate([jnp.zeros_like(loss_tk[:H, 0]), before - after])[:T]


def is_paid(T: int, H: int, start: Int[Array, "*B"]) -> Bool[Array, "T *B"]:
    """True where the window holds the pair that step t is paid for.

    The first H steps of an episode have no pair and truly earn 0. The first H steps of any later window
    have one, but outside the window: they are unknown, which is not 0.
    """
    t = jnp.arange(T).reshape(T, *(1,) * start.ndim)
    return (t >= H) | (start + t < H)


def make_ndigo(H: int) -> IntrinsicReward:
    if not 1 <= H < LONGEST_HORIZON:
        limit = "of at least 1" if H < 1 else f"below {LONGEST_HORIZON}"
        raise NdigoError(f"reward ndigo-{H}: the horizon H must be a whole number {limit}")

    def pay(params, memory, model, seen: Seen) -> Paid:
        r_tc = ndigo_reward(table(seen), H)
        if seen.window.is_first is None:
            return paid(r_tc, is_paid(len(r_tc), H, seen.window.start))
        here, ever = seen.window.frames_before()
        return paid(jnp.where((here >= H)[..., None], r_tc, 0.0), (here >= H) | (ever < H))

    # L[t+H | t-1] is an (H+1)-step prediction.
    return IntrinsicReward(name=f"ndigo-{H}", pay=pay, num_ahead=H + 1, reads=((H, -1.0), (H + 1, 1.0)))
