"""Frames of numbers, [N] float32: inventories, joint angles.

    bins       each number a categorical over equal bins between low and high, what lies outside in the outer ones
               L = -log_softmax(l)[bin]
    gaussian   each number a normal density, of which the network says mean and spread
               L = ln(spread sqrt(2 pi)) + ((x - mean) / spread)^2 / 2        nats of a density: it may be below 0

A change of units adds a constant to the density's nats, which cancels in NDIGO's difference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int, UInt8

from ndigo.errors import NdigoError
from ndigo.frames.frame import Channel, categorical_nats, only_categorical, require_counts, require_names
from ndigo.networks import RELU_GAIN, Linear

MOST_BINS = 4096
MOST_OUTSIDE = 0.2  # of an entry's numbers beyond its outer bins, before a line says so
ENOUGH_FRAMES = 4096  # to see that
LARGEST = 1e37  # of low and high: twice the distance between two of them is still a float32
# A Gaussian's least spread, in units where low to high is 2: without it a constant number would earn ever more nats.
LEAST_SPREAD = math.exp(-5)


class VectorEncoder(eqx.Module):
    """A dense layer on the numbers, low to high as -1 to 1."""

    dense: Linear
    frame: Vector = eqx.field(static=True)

    @property
    def num_features(self) -> int:
        return self.dense.bias.shape[0]

    def __call__(self, o_t: Float[Array, "... N"]) -> Float[Array, "... Z"]:
        return jax.nn.relu(self.dense(self.frame.scaled(o_t)))


@dataclass(frozen=True)
class BinsLikelihood:
    """One categorical per number."""

    frame: Vector
    num_bins: int

    @property
    def num_outputs(self) -> int:
        return self.frame.size * self.num_bins

    def target(self, o_t: Float[Array, "... N"]) -> Int[Array, "... N"]:
        """The bin of each number."""
        share = (self.frame.scaled(o_t) + 1) / 2
        return jnp.clip(jnp.floor(share * self.num_bins), 0, self.num_bins - 1).astype(jnp.int32)

    def nats(self, logits: Float[Array, "... O"], target: Int[Array, "... N"]) -> Float[Array, "... C"]:
        return self.frame.by_channel(categorical_nats(self._rows(logits), target))

    def chances(self, logits: Float[Array, "... O"]) -> Float[Array, "... N bins"]:
        """The probability of each bin, from low to high."""
        return jax.nn.softmax(self._rows(logits))

    def _rows(self, logits: Float[Array, "... O"]) -> Float[Array, "... N bins"]:
        return logits.reshape(*logits.shape[:-1], self.frame.size, self.num_bins)


@dataclass(frozen=True)
class GaussianLikelihood:
    """A mean and a spread per number: the density of the number itself, not of its scaled form."""

    frame: Vector

    @property
    def num_outputs(self) -> int:
        return 2 * self.frame.size

    def target(self, o_t: Float[Array, "... N"]) -> Float[Array, "... N"]:
        return self.frame.scaled(o_t)

    def nats(self, logits: Float[Array, "... O"], target: Float[Array, "... N"]) -> Float[Array, "... C"]:
        mean, log_spread = self._moments(logits)
        unit = np.log((np.array(self.frame.high) - np.array(self.frame.low)) / 2).astype(np.float32)
        error = (target - mean) * jnp.exp(-log_spread)
        return self.frame.by_channel(0.5 * math.log(2 * math.pi) + log_spread + unit + error**2 / 2)

    def chances(self, logits: Float[Array, "... O"]) -> Float[Array, "... N 2"]:
        """Mean and spread of each number, in its own units."""
        mean, log_spread = self._moments(logits)
        low, high = np.array(self.frame.low, np.float32), np.array(self.frame.high, np.float32)
        half = (high - low) / 2
        return jnp.stack([low + half * (mean + 1), half * jnp.exp(log_spread)], axis=-1)

    def _moments(self, logits: Float[Array, "... O"]) -> tuple[Array, Array]:
        """Mean and log spread of the scaled numbers; logits of 0 mean a spread of 1."""
        mean, raw = jnp.split(logits, 2, axis=-1)
        least = math.log(LEAST_SPREAD)
        at_zero = math.log(math.expm1(-least))  # softplus(at_zero) = -least
        return mean, least + jax.nn.softplus(raw + at_zero)


@dataclass(frozen=True)
class Vector:
    """A frame of `vector`."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    bins: int | None
    names: tuple[str, ...]  # one for each number, or one for all together

    @property
    def size(self) -> int:
        return len(self.low)

    @property
    def channels(self) -> tuple[Channel, ...]:
        return tuple(Channel(name, "gaussian" if self.bins is None else "bins") for name in self.names)

    @property
    def spec(self) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((self.size,), jnp.float32)

    def scaled(self, o_t: Float[Array, "... N"]) -> Float[Array, "... N"]:
        """The numbers with low..high mapped onto -1..1."""
        low, high = np.array(self.low, np.float32), np.array(self.high, np.float32)
        return 2 * (o_t - low) / (high - low) - 1

    def by_channel(self, nats: Float[Array, "... N"]) -> Float[Array, "... C"]:
        return nats if len(self.names) == self.size else nats.sum(axis=-1, keepdims=True)

    def pack(self, o_t: Float[Array, "... N"]) -> UInt8[Array, "... P"]:
        as_bytes = lax.bitcast_convert_type(o_t.astype(jnp.float32), jnp.uint8)
        return as_bytes.reshape(*o_t.shape[:-1], 4 * self.size)

    def unpack(self, packed: UInt8[Array, "... P"]) -> Float[Array, "... N"]:
        return lax.bitcast_convert_type(packed.reshape(*packed.shape[:-1], self.size, 4), jnp.float32)

    def init_encoder(self, key: Array, num_features: int, num_filters: int) -> VectorEncoder:
        return VectorEncoder(Linear(key, self.size, num_features, RELU_GAIN), self)

    def likelihood(self, name: str = "categorical") -> BinsLikelihood | GaussianLikelihood:
        only_categorical("numbers", name)
        return GaussianLikelihood(self) if self.bins is None else BinsLikelihood(self, self.bins)

    def wrong(self, o_t: np.ndarray) -> str | None:
        is_wrong = ~(np.abs(o_t) <= np.finfo(np.float32).max)  # NaN too
        if not is_wrong.any():
            return None
        t, i = np.argwhere(is_wrong)[0]
        return f"in entry {i} of frame {t} the value {o_t[t, i]}, expected a finite number"

    def outside(self, rollouts: Sequence[np.ndarray]) -> str | None:
        """A line where many numbers of an entry lie beyond its bins, [..., N] each; None where few do.

        Of many frames it takes some.
        """
        if self.bins is None:
            return None
        every = 1 + sum(x.size for x in rollouts) // (self.size * ENOUGH_FRAMES)
        o = np.concatenate([x.reshape(-1, self.size)[::every] for x in rollouts])
        shares = ((o < np.array(self.low)) | (o > np.array(self.high))).mean(axis=0)
        if (share := shares[i := int(shares.argmax())]) <= MOST_OUTSIDE:
            return None
        name = self.names[i if len(self.names) == self.size else 0]
        return (
            f"{share:.0%} of the numbers in entry {i} (channel {name!r}), {o[:, i].min():g} to {o[:, i].max():g}, lie "
            f"outside {self.low[i]:g} to {self.high[i]:g}: the outer bins hold them, and what tells them apart pays "
            "nothing; give frames.vector their low and high, or scale them"
        )


def vector(
    size: int,
    *,
    low: float | Sequence[float],
    high: float | Sequence[float],
    bins: int | None = 32,
    names: Sequence[str] | None = None,
) -> Vector:
    """Numbers, float32 [N], mostly between low and high; `bins=None` for a Gaussian.

    With a name for each number its nats are a channel of their own, else all are one.
    """
    require_counts("frame of numbers", size=size, bins=1 if bins is None else bins)
    if bins == 1:
        raise NdigoError("frame of numbers: bins is 1, expected at least 2: what is always in one bin tells nothing")
    if bins is not None and bins > MOST_BINS:
        raise NdigoError(f"frame of numbers: bins is {bins}, expected at most {MOST_BINS}")
    lows, highs = (_limits(name, limit, size) for name, limit in (("low", low), ("high", high)))
    for i, (a, b) in enumerate(zip(lows, highs, strict=True)):
        # In float32, as the device computes: there two numbers can be equal, or their difference infinite.
        if not (abs(a) <= LARGEST and abs(b) <= LARGEST and np.float32(a) < np.float32(b)):
            raise NdigoError(f"frame of numbers: entry {i} lies between {a} and {b}, expected finite low < high")
    names = ("numbers",) if names is None else tuple(names)
    if len(names) not in (1, size):
        raise NdigoError(f"frame of numbers: {len(names)} names for {size} numbers, expected one, or one for each")
    require_names("frame of numbers", names)
    return Vector(lows, highs, bins, names)


def _limits(name: str, limit: float | Sequence[float], size: int) -> tuple[float, ...]:
    try:
        return tuple(float(x) for x in np.broadcast_to(limit, (size,)))
    except (TypeError, ValueError):
        raise NdigoError(
            f"frame of numbers: {name} is {limit!r}, expected a number, or one for each of {size}"
        ) from None
