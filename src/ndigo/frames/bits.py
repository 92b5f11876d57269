"""Frames of zeros and ones, [H, W, C]: our own worlds' walls and objects.

    binary channel    H*W independent Bernoullis                    L = sum_i softplus(l_i) - l_i o_i
                      or a mixture of M such pictures               L = -ln sum_m w_m e^{-L_m},   w = softmax
    one_hot channel   one categorical over H*W cells and "absent"   L = -log_softmax(l)[where it is]

The channels are independent given the prediction, so L(o) is the sum over channels. The cells of a binary channel need
not be: an agent that may have bumped into something will see one of two views of the walls, each certain as a whole. A
mixture of pictures can say that. Cell by cell, the one piece of news would be counted, and paid, for every cell in
which the two views differ.
Paper: a ReLU on the output layer. Ours: none, because it cannot express p < 0.5 for a Bernoulli.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, UInt8

from ndigo.errors import NdigoError, unknown_name
from ndigo.frames.cnn import Encoder, init_encoder
from ndigo.frames.frame import Channel, categorical_nats, require_counts, require_names, require_sequence

READINGS = ("categorical", "mixture", "bernoulli")
NUM_MIXED = 4  # pictures of a mixture


def pack(o_t: UInt8[Array, "... H W C"]) -> UInt8[Array, "... P"]:
    """A binary frame as ceil(H*W*C / 8) bytes."""
    return jnp.packbits(o_t.reshape(*o_t.shape[:-3], -1), axis=-1)


def unpack(packed: UInt8[Array, "... P"], shape: tuple[int, int, int]) -> UInt8[Array, "... H W C"]:
    return jnp.unpackbits(packed, axis=-1, count=math.prod(shape)).reshape(*packed.shape[:-1], *shape)


class Target(eqx.Module):
    """A frame as the likelihood reads it."""

    cells: UInt8[Array, "... S H*W"]  # each binary channel's cells
    where: Int[Array, "... M"]  # each one-hot channel's cell, H*W when absent


@dataclass(frozen=True)
class Pictures:
    """S binary channels, each a mixture of M pictures; with several, each picture has a last logit for its weight."""

    num_channels: int
    num_cells: int
    num_mixed: int

    @property
    def picture_size(self) -> int:
        return self.num_cells + (self.num_mixed > 1)

    @property
    def num_outputs(self) -> int:
        return self.num_channels * self.num_mixed * self.picture_size

    def nats(self, logits: Float[Array, "... O"], cells: UInt8[Array, "... S H*W"]) -> Float[Array, "... S"]:
        rows, log_w = self._rows(logits)
        losses = (jax.nn.softplus(rows) - rows * cells[..., None, :]).sum(-1)
        return -jax.nn.logsumexp(log_w - losses, axis=-1)

    def chances(self, logits: Float[Array, "... O"]) -> Float[Array, "... S H*W"]:
        rows, log_w = self._rows(logits)
        return (jnp.exp(log_w)[..., None] * jax.nn.sigmoid(rows)).sum(-2)

    def _rows(self, logits: Float[Array, "... O"]) -> tuple[Float[Array, "... S M H*W"], Float[Array, "... S M"]]:
        """Logits of the cells, and ln w of the pictures."""
        rows = logits.reshape(*logits.shape[:-1], self.num_channels, self.num_mixed, self.picture_size)
        log_w = jax.nn.log_softmax(rows[..., -1]) if self.num_mixed > 1 else jnp.zeros(rows.shape[:-1])
        return rows[..., : self.num_cells], log_w


@dataclass(frozen=True)
class Places:
    """Each of M one-hot channels a categorical over the cells and "absent", its last logit."""

    num_channels: int
    num_cells: int

    @property
    def num_outputs(self) -> int:
        return self.num_channels * (self.num_cells + 1)

    def nats(self, logits: Float[Array, "... O"], where: Int[Array, "... M"]) -> Float[Array, "... M"]:
        return categorical_nats(self._rows(logits), where)

    def chances(self, logits: Float[Array, "... O"]) -> Float[Array, "... M H*W"]:
        return jax.nn.softmax(self._rows(logits))[..., :-1]

    def _rows(self, logits: Float[Array, "... O"]) -> Float[Array, "... M H*W+1"]:
        return logits.reshape(*logits.shape[:-1], self.num_channels, self.num_cells + 1)


@dataclass(frozen=True)
class BitsLikelihood:
    """Binary channels by `Pictures` and one-hot ones by `Places`, in that order among the logits."""

    height: int
    width: int
    is_one_hot: tuple[bool, ...]  # per channel: a categorical, else Bernoullis
    num_mixed: int = 1  # M, pictures of a binary channel

    @property
    def num_cells(self) -> int:
        return self.height * self.width

    @property
    def pictures(self) -> Pictures:
        return Pictures(self.is_one_hot.count(False), self.num_cells, self.num_mixed)

    @property
    def places(self) -> Places:
        return Places(self.is_one_hot.count(True), self.num_cells)

    @property
    def num_outputs(self) -> int:
        return self.pictures.num_outputs + self.places.num_outputs

    def target(self, o_t: UInt8[Array, "... H W C"]) -> Target:
        flat = jnp.moveaxis(o_t.reshape(*o_t.shape[:-3], self.num_cells, len(self.is_one_hot)), -1, -2)
        binary, one_hot = (flat[..., np.array(part, int), :] for part in self._indices)
        absent = jnp.full(one_hot.shape[:-1], self.num_cells)
        return Target(
            cells=binary,
            where=jnp.where((one_hot > 0).any(-1), one_hot.argmax(-1), absent).astype(jnp.int32),
        )

    def nats(self, logits: Float[Array, "... O"], target: Target) -> Float[Array, "... C"]:
        """-ln p(o) under the logits, for each channel, in the world's order."""
        binary, one_hot = self._split(logits)
        losses = [self.pictures.nats(binary, target.cells), self.places.nats(one_hot, target.where)]
        return self.merge(jnp.concatenate(losses, axis=-1))

    def chances(self, logits: Float[Array, "... O"]) -> Float[Array, "... H W C"]:
        """The chance that each cell of each channel is 1."""
        binary, one_hot = self._split(logits)
        both = [self.pictures.chances(binary), self.places.chances(one_hot)]
        merged = self.merge(jnp.concatenate([jnp.moveaxis(p, -2, -1) for p in both], axis=-1))
        return merged.reshape(*logits.shape[:-1], self.height, self.width, len(self.is_one_hot))

    def merge(self, both: Array) -> Array:
        """Values of the channels in the logits' order (binary ones first), back in the world's on the last axis."""
        order = [c for part in self._indices for c in part]
        return both if order == sorted(order) else both[..., np.argsort(order)]

    def _split(self, logits: Float[Array, "... O"]) -> tuple[Array, Array]:
        cut = self.pictures.num_outputs
        return logits[..., :cut], logits[..., cut:]

    @property
    def _indices(self) -> tuple[list[int], list[int]]:
        """Which channels are binary, and which one-hot."""
        channels = range(len(self.is_one_hot))
        return [c for c in channels if not self.is_one_hot[c]], [c for c in channels if self.is_one_hot[c]]


@dataclass(frozen=True)
class Bits:
    """A frame of `bits`."""

    channels: tuple[Channel, ...]
    height: int
    width: int

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.height, self.width, len(self.channels)

    @property
    def spec(self) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(self.shape, jnp.uint8)

    def pack(self, o_t: UInt8[Array, "... H W C"]) -> UInt8[Array, "... P"]:
        return pack(o_t)

    def unpack(self, packed: UInt8[Array, "... P"]) -> UInt8[Array, "... H W C"]:
        return unpack(packed, self.shape)

    def init_encoder(self, key: Array, num_features: int, num_filters: int) -> Encoder:
        return init_encoder(key, self.shape, num_features, num_filters)

    def likelihood(self, name: str = "categorical") -> BitsLikelihood:
        """`categorical`: as each channel declares itself; `mixture`: binary ones mixed; `bernoulli`: every cell."""
        if name not in READINGS:
            raise unknown_name("likelihood", name, READINGS)
        return BitsLikelihood(
            height=self.height,
            width=self.width,
            is_one_hot=tuple(name != "bernoulli" and channel.kind == "one_hot" for channel in self.channels),
            num_mixed=NUM_MIXED if name == "mixture" else 1,
        )

    def wrong(self, o_t: np.ndarray) -> str | None:
        for c, channel in enumerate(self.channels):
            if (found := KINDS[channel.kind](o_t[..., c])) is not None:
                t, what = found
                return f"in the {channel.kind} channel {channel.name!r} of frame {t} {what}"
        return None


def bits(channels: Sequence[Channel | str], height: int, width: int | None = None) -> Bits:
    """Zeros and ones, [H, W, C]; a channel that is but a name is binary."""
    require_sequence("frame of bits", channels=channels)
    named = tuple(Channel(c, "binary") if isinstance(c, str) else c for c in channels)
    require_counts("frame of bits", height=height, width=height if width is None else width, channels=len(named))
    for channel in named:
        if not isinstance(channel, Channel):
            raise NdigoError(f"frame of bits: channels has a {type(channel).__name__}, expected Channel records")
        if channel.kind not in KINDS:
            raise unknown_name(f"kind of channel {channel.name!r}", channel.kind, KINDS)
    require_names("frame of bits", [channel.name for channel in named])
    return Bits(named, height, height if width is None else width)


def _binary(x_t: np.ndarray) -> tuple[int, str] | None:
    """The first wrong frame of x_t [T, H, W] and what is wrong in it."""
    is_wrong = (x_t != 0) & (x_t != 1)
    if not is_wrong.any():
        return None
    t = int(is_wrong.any(axis=(1, 2)).argmax())
    return t, f"the value {x_t[t][is_wrong[t]][0]}, expected 0 or 1"


def _one_hot(x_t: np.ndarray) -> tuple[int, str] | None:
    if (found := _binary(x_t)) is not None:
        return found
    count = x_t.sum(axis=(1, 2), dtype=int)
    t = int((count > 1).argmax())
    return (t, f"{count[t]} cells that are 1, expected at most one") if count[t] > 1 else None


KINDS: dict[str, Any] = {"binary": _binary, "one_hot": _one_hot}
