"""How likely a frame is: -ln p(o) in nats, split by channel.

    binary channel    V*V independent Bernoullis                    L = sum_i softplus(l_i) - l_i o_i
    one_hot channel   one categorical over V*V cells and "absent"   L = -log_softmax(l)[where it is]

The channels are independent given the prediction, so L(o) is the sum over channels.
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

LIKELIHOODS = ("categorical", "bernoulli")


class Target(eqx.Module):
    """A frame as the likelihood reads it, computed once and compared with K predictions."""

    cells: UInt8[Array, "... S V*V"]  # each binary channel's cells
    where: Int[Array, "... M"]  # each one-hot channel's cell, V*V when absent


@dataclass(frozen=True)
class Likelihood:
    """Turns a vector of `num_outputs` logits and a frame into nats per channel."""

    view: int
    is_one_hot: tuple[bool, ...]  # per channel: a categorical, else Bernoullis

    @property
    def num_outputs(self) -> int:
        return sum(self.view**2 + one_hot for one_hot in self.is_one_hot)

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
        losses_binary = (jax.nn.softplus(binary) - binary * target.cells).sum(-1)
        # A comparison instead of a gather: its gradient is a product, not a scatter.
        hit = target.where[..., None] == jnp.arange(self.view**2 + 1)
        losses_one_hot = jax.nn.logsumexp(one_hot, axis=-1) - jnp.where(hit, one_hot, 0).sum(-1)
        return self.merge(jnp.concatenate([losses_binary, losses_one_hot], axis=-1))

    def probabilities(self, logits: Float[Array, "... O"]) -> Float[Array, "... V V C"]:
        """The chance that each cell of each channel is 1, for looking at predictions."""
        binary, one_hot = self._logits(logits)
        p_binary, p_one_hot = jax.nn.sigmoid(binary), jax.nn.softmax(one_hot)[..., :-1]
        both = jnp.concatenate([jnp.moveaxis(p_binary, -2, -1), jnp.moveaxis(p_one_hot, -2, -1)], axis=-1)
        return self.merge(both).reshape(*logits.shape[:-1], self.view, self.view, len(self.is_one_hot))

    def _logits(self, logits: Array) -> tuple[Array, Array]:
        num_binary, num_one_hot = self.is_one_hot.count(False), self.is_one_hot.count(True)
        cut = num_binary * self.view**2
        lead = logits.shape[:-1]
        return (
            logits[..., :cut].reshape(*lead, num_binary, self.view**2),
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
    """`categorical`: as each channel declares itself. `bernoulli`: every cell of every channel."""
    if name not in LIKELIHOODS:
        raise unknown_name("likelihood", name, LIKELIHOODS)
    return Likelihood(view=view, is_one_hot=tuple(name == "categorical" and kind == "one_hot" for kind in kinds))
