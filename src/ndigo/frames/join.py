"""Several frames at once, a dictionary of observations: a map beside an inventory.

The parts are independent given the prediction: L(o) = sum over parts, and every channel of every part is a channel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, UInt8

from ndigo.errors import NdigoError, unknown_name
from ndigo.frames.bits import READINGS, Bits
from ndigo.frames.frame import Channel, Encoder, Frame, Likelihood, empty, require_names
from ndigo.frames.vector import Vector


class JoinedEncoder(eqx.Module):
    """The parts' features side by side."""

    parts: dict[str, Any]
    order: tuple[str, ...] = eqx.field(static=True)

    @property
    def num_features(self) -> int:
        return sum(part.num_features for part in self.parts.values())

    def __call__(self, o_t: dict[str, Any]) -> Float[Array, "... Z"]:
        return jnp.concatenate([self.parts[name](o_t[name]) for name in self.order], axis=-1)


@dataclass(frozen=True)
class JoinedLikelihood:
    """The sum of the parts'."""

    parts: tuple[tuple[str, Likelihood], ...]

    @property
    def num_outputs(self) -> int:
        return sum(part.num_outputs for _, part in self.parts)

    def target(self, o_t: dict[str, Any]) -> dict[str, Any]:
        return {name: part.target(o_t[name]) for name, part in self.parts}

    def nats(self, logits: Float[Array, "... O"], target: dict[str, Any]) -> Float[Array, "... C"]:
        each = self._split(logits)
        return jnp.concatenate([part.nats(each[name], target[name]) for name, part in self.parts], axis=-1)

    def chances(self, logits: Float[Array, "... O"]) -> dict[str, Any]:
        each = self._split(logits)
        return {name: part.chances(each[name]) for name, part in self.parts}

    def _split(self, logits: Float[Array, "... O"]) -> dict[str, Array]:
        ends = np.cumsum([part.num_outputs for _, part in self.parts])
        return dict(zip([name for name, _ in self.parts], jnp.split(logits, ends[:-1], axis=-1), strict=True))


@dataclass(frozen=True)
class Join:
    """A frame of `join`."""

    parts: tuple[tuple[str, Frame], ...]

    @property
    def channels(self) -> tuple[Channel, ...]:
        """A part's only channel has the part's name; of several, each has both names."""
        return tuple(
            Channel(name if len(part.channels) == 1 else f"{name}.{channel.name}", channel.kind)
            for name, part in self.parts
            for channel in part.channels
        )

    @property
    def spec(self) -> dict[str, Any]:
        return {name: part.spec for name, part in self.parts}

    def pack(self, o_t: dict[str, Any]) -> UInt8[Array, "... P"]:
        return jnp.concatenate([part.pack(o_t[name]) for name, part in self.parts], axis=-1)

    def unpack(self, packed: UInt8[Array, "... P"]) -> dict[str, Any]:
        each = jnp.split(packed, np.cumsum(self._sizes)[:-1], axis=-1)
        return {name: part.unpack(x) for (name, part), x in zip(self.parts, each, strict=True)}

    @cached_property
    def _sizes(self) -> list[int]:
        """Bytes of each part."""
        return [jax.eval_shape(lambda part=part: part.pack(empty(part))).shape[-1] for _, part in self.parts]

    def init_encoder(self, key: Array, num_features: int, num_filters: int) -> JoinedEncoder:
        keys = jax.random.split(key, len(self.parts))
        made: dict[str, Encoder] = {
            name: part.init_encoder(key, num_features, num_filters)
            for (name, part), key in zip(self.parts, keys, strict=True)
        }
        return JoinedEncoder(made, tuple(name for name, _ in self.parts))

    def likelihood(self, name: str = "categorical") -> JoinedLikelihood:
        """`mixture` and `bernoulli` are for parts that are bits."""
        can_read = [isinstance(part, Bits | Join) for _, part in self.parts]
        known = READINGS if any(can_read) else ("categorical",)
        if name not in known:
            raise unknown_name("likelihood of a join", name, known)
        return JoinedLikelihood(
            tuple(
                (part_name, part.likelihood(name if can else "categorical"))
                for (part_name, part), can in zip(self.parts, can_read, strict=True)
            )
        )

    def wrong(self, o_t: dict[str, Any]) -> str | None:
        for name, part in self.parts:
            if (found := part.wrong(o_t[name])) is not None:
                return f"in the part {name!r}, {found}"
        return None


def join(**parts: Frame) -> Join:
    """Several frames: `observe` returns a dictionary with a frame under each name."""
    if not parts:
        raise NdigoError("a join of no frames, expected at least one")
    for name, part in parts.items():
        if not hasattr(part, "spec"):
            raise NdigoError(f"a join's part {name!r} is a {type(part).__name__}, expected one of ndigo.frames")
    made = Join(tuple(parts.items()))
    require_names("frame of join", [channel.name for channel in made.channels])
    return made


def outside(frame: Frame, rollouts: Sequence[Any]) -> str | None:
    """A line where many numbers of a vector, or of one in a join, lie beyond its bins (`Vector.outside`)."""
    if isinstance(frame, Join):
        each = ((name, outside(part, [o[name] for o in rollouts])) for name, part in frame.parts)
        return next((f"in the part {name!r}, {told}" for name, told in each if told), None)
    return frame.outside(rollouts) if isinstance(frame, Vector) else None
