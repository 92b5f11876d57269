"""NDIGO-sum: pays for what a frame revealed about each of the K-1 frames after it, not about one of them.

    r_t = sum over H = 1 .. K-1 of NDIGO-H's r_t = L_{t+1|t+1-K} - L_{t+1|t}

NDIGO-H pays step t+H-1 for what frame t revealed about frame t+H, so frame t earns its sum over all future steps
that the table reaches, each when its frame has come. By the frame it is about the sum telescopes: frame t+1, guessed
K steps ahead, less the same frame guessed one step ahead. An episode's first frames are guessed from o_0.

Its bias. With P the true prediction, p the model's, and e_k = E KL(P_{s|s-k} || p_{s|s-k}) >= 0 its error k ahead,

    E[NDIGO-H] = I(o_{s-H}; o_s | h_{s-H-1}, a) + e_{H+1} - e_H
    E[r]       = I(o_{s-K+1} .. o_{s-1}; o_s | h_{s-K}, a) + e_K - e_1

so the errors cancel but for the two ends: -e_1 <= bias <= e_K, however many rewards are summed. (Add and subtract
E ln P on both sides; the paper has neither the reward nor the bound, which is derived here and taken from nobody.)

It is no joint information: a still object that stays in view pays for each of the K-1 frames that show it.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ndigo.errors import NdigoError
from ndigo.rewards.reward import IntrinsicReward, paid, table
from ndigo.types import Paid, Seen, ahead

NUM_AHEAD = 10  # ours: as far as the paper's K = 10 looks


def ndigo_sum_reward(loss_tk: Float[Array, "T K ..."], K: int) -> Float[Array, "T ..."]:
    """r_t = L[t+1 | max(t+1-K, 0)] - L[t+1 | t]."""
    T = len(loss_tk)
    from_first = loss_tk[0, : min(K, T)]  # L[1 | 0] ... L[K | 0]
    from_later = ahead(loss_tk, K)[1 : max(T - K, 0) + 1]  # L[t+K | t] for t = 1, 2, ...
    return jnp.concatenate([from_first, from_later]) - ahead(loss_tk, 1)


def ndigo_sum_of_stream(loss_tk: Float[Array, "T K *B C"], K: int, here: Int[Array, "T *B"]) -> Float[Array, "T *B C"]:
    """r_t = L[t+1 | t+1-k] - L[t+1 | t],  k = min(K, here + 1), where `here` frames of its episode precede frame t."""
    k_t = jnp.minimum(K, here + 1)
    guess = jnp.zeros_like(loss_tk[:, 0])
    for k in range(1, min(K, len(loss_tk)) + 1):
        k_before = jnp.concatenate([jnp.zeros_like(loss_tk[: k - 1, 0]), ahead(loss_tk, k)[: len(loss_tk) - k + 1]])
        guess = jnp.where((k_t == k)[..., None], k_before, guess)  # k_before[t] = L[t+1 | t+1-k]
    return guess - ahead(loss_tk, 1)


def make_ndigo_sum(K: int = NUM_AHEAD) -> IntrinsicReward:
    """The sum over H = 1 .. K-1."""
    if K < 2:
        raise NdigoError(f"ndigo-sum over predictions up to {K} ahead: it takes the difference of two, so at least 2")

    def pay(params, memory, model, seen: Seen) -> Paid:
        if seen.window.is_first is not None:
            here, ever = seen.window.frames_before()
            return paid(ndigo_sum_of_stream(table(seen), K, here), (here >= K - 1) | (here == ever))
        r_tc = ndigo_sum_reward(table(seen), K)
        start = seen.window.start
        t = jnp.arange(len(r_tc)).reshape(-1, *(1,) * start.ndim)
        # Before K steps, the guess was made outside the window, unless the window begins the episode.
        return paid(r_tc, (t >= K - 1) | (start == 0))

    name = "ndigo-sum" if K == NUM_AHEAD else f"ndigo-sum of {K}"
    return IntrinsicReward(name=name, pay=pay, num_ahead=K, reads=((1, -1.0), (K, 1.0)))
