"""How likely a frame is: -ln p(o) in nats, split by channel.

    binary channel    V*V independent Bernoullis                    L = sum_i softplus(l_i) - l_i o_i
                      or a mixture of M such pictures               L = -ln sum_m w_m e^{-L_m},   w = softmax
    one_hot channel   one categorical over V*V cells and "absent"   L = -log_softmax(l)[where it is]

The channels are independent given the prediction, so L(o) is the sum over channels. Walls are not independent of each
other: an agent that may have been held up sees one of two views, each certain as a whole. A mixture can say that; cell
by cell, that one piece of news would count, and be paid, for every cell in which the views differ.
Paper: a ReLU on the output layer. Ours: none, because it cannot express p < 0.5 for a Bernoulli.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, UInt8

from ndigo.errors import unknown_name

LIKELIHOODS = ("categorical", "mixture", "bernoulli")
NUM_MIXED = 4  # pictures of a mixture


class Target(eqx.Module):
    """A frame as the likelihood reads it, computed once and compared with K predictions."""

    cells: UInt8[Array, "... S V*V"]  # each binary channel's cells
    where: Int[Array, "... M"]  # each one-hot channel's cell, V*V when absent


@dataclass(frozen=True)
class Likelihood:
    """Turns a vector of `num_outputs` logits and a frame into nats per channel."""

    view: int
    is_one_hot: tuple[bool, ...]  # per channel: a categorical, else Bernoullis
    num_mixed: int = 1  # M, pictures of a binary channel; with several, each has a last logit for its weight

    @property
    def num_outputs(self) -> int:
        return sum(self.view**2 + 1 if one_hot else self.num_mixed * self.picture_size for one_hot in self.is_one_hot)

    @property
    def picture_size(self) -> int:
        """Logits of one picture of a binary channel."""
        return self.view**2 + (self.num_mixed > 1)

    def target(self, o_t: UInt8[Array, "... V V C"]) -> Target:
        flat = jnp.moveaxis(o_t.reshape(*o_t.shape[:-3], self.view**2, len(self.is_one_hot)), -1, -2)
        binary, one_hot = self._split(flat)
        absent = jnp.full(one_hot.shape[:-1], self.view**2)
        return Target(
            cells=binary,
            where=jnp.where((one_hot > 0).any(-1), one_hot.argmax(-1), absent).astype(jnp.int32),
        )

    def nats(self, logits: Float[Array, "... O"], target: Target) -> Float[Array, "... C"]:
        """-ln p(o) under the logits, for each channel, in the world's order."""
        binary, one_hot = self._logits(logits)
        log_w, cells = self._weights(binary), target.cells[..., None, :]
        binary = binary[..., : self.view**2]
        losses_binary = -jax.nn.logsumexp(log_w - (jax.nn.softplus(binary) - binary * cells).sum(-1), axis=-1)
        # A comparison instead of a gather: its gradient is a product, not a scatter.
        hit = target.where[..., None] == jnp.arange(self.view**2 + 1)
        losses_one_hot = jax.nn.logsumexp(one_hot, axis=-1) - jnp.where(hit, one_hot, 0).sum(-1)
        return self.merge(jnp.concatenate([losses_binary, losses_one_hot], axis=-1))

    def probabilities(self, logits: Float[Array, "... O"]) -> Float[Array, "... V V C"]:
        """The chance that each cell of each channel is 1, for looking at predictions."""
        binary, one_hot = self._logits(logits)
        w = jnp.exp(self._weights(binary))[..., None]
        p_binary, p_one_hot = (
            (w * jax.nn.sigmoid(binary[..., : self.view**2])).sum(-2),
            jax.nn.softmax(one_hot)[..., :-1],
        )
        both = jnp.concatenate([jnp.moveaxis(p_binary, -2, -1), jnp.moveaxis(p_one_hot, -2, -1)], axis=-1)
        return self.merge(both).reshape(*logits.shape[:-1], self.view, self.view, len(self.is_one_hot))

    def _weights(self, binary: Float[Array, "... S M V*V+1"]) -> Float[Array, "... S M"]:
        """ln w of the pictures."""
        return jax.nn.log_softmax(binary[..., -1]) if self.num_mixed > 1 else jnp.zeros(binary.shape[:-1])

    def _logits(self, logits: Array) -> tuple[Array, Array]:
        num_binary, num_one_hot = self.is_one_hot.count(False), self.is_one_hot.count(True)
        cut = num_binary * self.num_mixed * self.picture_size
        lead = logits.shape[:-1]
        return (
            logits[..., :cut].reshape(*lead, num_binary, self.num_mixed, self.picture_size),
            logits[..., cut:].reshape(*lead, num_one_hot, self.view**2 + 1),
        )

    def _split(self, channels: Array) -> tuple[Array, Array]:
        """The channels of axis -2, binary and one-hot ones apart."""
        binary, one_hot = self._indices
        return channels[..., np.array(binary, int), :], channels[..., np.array(one_hot, int), :]

    def merge(self, both: Array) -> Array:
        """Values of the channels in the logits' order (binary ones first), back in the world's on the last axis."""
        order = [c for part in self._indices for c in part]
        return both if order == sorted(order) else both[..., np.argsort(order)]

    @property
    def _indices(self) -> tuple[list[int], list[int]]:
        """Which channels are binary, and which one-hot."""
        channels = range(len(self.is_one_hot))
        return [c for c in channels if not self.is_one_hot[c]], [c for c in channels if self.is_one_hot[c]]


def make_likelihood(name: str, view: int, kinds: Sequence[str]) -> Likelihood:
    """`categorical`: as each channel declares itself; `mixture`: binary ones mixed; `bernoulli`: every cell of all."""
    if name not in LIKELIHOODS:
        raise unknown_name("likelihood", name, LIKELIHOODS)
    return Likelihood(
        view=view,
        is_one_hot=tuple(name != "bernoulli" and kind == "one_hot" for kind in kinds),
        num_mixed=NUM_MIXED if name == "mixture" else 1,
    )
