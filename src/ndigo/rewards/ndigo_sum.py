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

from ndigo.errors import NdigoError
from ndigo.rewards.reward import IntrinsicReward

NUM_AHEAD = 10  # ours: as far as the paper's K = 10 looks


def make_ndigo_sum(K: int = NUM_AHEAD) -> IntrinsicReward:
    """The sum over H = 1 .. K-1."""
    if K < 2:
        raise NdigoError(f"ndigo-sum over predictions up to {K} ahead: it takes the difference of two, so at least 2")
    name = "ndigo-sum" if K == NUM_AHEAD else f"ndigo-sum of {K}"
    return IntrinsicReward(name=name, reads=((1, -1.0), (K, 1.0)))
