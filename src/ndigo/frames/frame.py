"""What an agent sees. A frame decides how it is read, stored and predicted; a world declares one.

    encoder      z_t = encoder(o_t)
    storage      unpack(pack(o_t)), bytes in between
    likelihood   L(o) = -ln p(o) in nats, split by channel

A frame may predict a fixed code c(o) of the observation in place of all of it. NDIGO then pays on average
E r = I(o_t; c(o_{t+H}) | h), which is at most the information about the whole frame, and still 0 for white noise. The
code must be fixed: a learned one could make itself easy to predict.

Frames and likelihoods are values: hashable, and equal where they are made alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, UInt8

from ndigo.errors import NdigoError, unknown_name
from ndigo.networks import take


@dataclass(frozen=True)
class Channel:
    """What losses and pay are split by.

    binary    every cell is 0 or 1 on its own (walls)
    one_hot   at most one cell is 1; all zero means out of view (an object)
    tiles     a layer of tiles      bins, gaussian   numbers      tokens   patches of pixels
    """

    name: str
    kind: str


class Likelihood(Protocol):
    """Turns `num_outputs` logits and a frame into nats per channel. Any leading axes."""

    @property
    def num_outputs(self) -> int: ...

    def target(self, o_t: Any) -> Any:
        """A frame as `nats` reads it, computed once and compared with K predictions: a tree of arrays."""
        ...

    def nats(self, logits: Float[Array, "... O"], target: Any) -> Float[Array, "... C"]:
        """-ln p(o) under the logits, for each channel of the frame."""
        ...

    def chances(self, logits: Float[Array, "... O"]) -> Any:
        """What the logits expect, to look at: chances of cells, of tiles or of bins."""
        ...


class Encoder(Protocol):
    """A module whose weights learn."""

    @property
    def num_features(self) -> int: ...

    def __call__(self, o_t: Any) -> Float[Array, "... Z"]: ...


class Frame(Protocol):
    """One kind of frame with its sizes. Functions take any leading axes."""

    @property
    def channels(self) -> tuple[Channel, ...]: ...

    @property
    def spec(self) -> Any:
        """Shape and type of what `observe` returns, a `jax.ShapeDtypeStruct`; of a join, a dictionary of them."""
        ...

    def pack(self, o_t: Any) -> UInt8[Array, "... P"]:
        """The frame as bytes."""
        ...

    def unpack(self, packed: UInt8[Array, "... P"]) -> Any:
        """What the encoder and the likelihood read: the frame itself, or its code."""
        ...

    def init_encoder(self, key: Array, num_features: int, num_filters: int) -> Encoder: ...

    def likelihood(self, name: str = "categorical") -> Likelihood:
        """`categorical` is the kind's own; `mixture` and `bernoulli` are other readings of bits."""
        ...

    def wrong(self, o_t: Any) -> str | None:
        """What is wrong in the first wrong one of the frames o_t [T, ...] in NumPy; None where all are right."""
        ...


def shape_of(frame: Frame) -> Any:
    """An observation's shape; for a join, a dictionary of shapes."""
    return jax.tree.map(lambda leaf: tuple(leaf.shape), frame.spec)


def code_of(frame: Frame, o_t: Any) -> Any:
    """What is predicted of a frame, a tree of arrays: equal for frames that cost the same under any prediction."""
    return frame.likelihood().target(o_t)


def empty(frame: Frame, *lead: int) -> Any:
    """Frames of zeros with these leading axes."""
    return jax.tree.map(lambda leaf: jnp.zeros((*lead, *leaf.shape), leaf.dtype), frame.spec)


def check_shape(name: str, frame: Frame, o: Any, lead: tuple[int, ...] = ()) -> None:
    """An error unless `o` holds frames of this kind with these leading axes."""
    if jax.tree.structure(o) != jax.tree.structure(frame.spec):
        found, known = (_in_words(x) for x in (o, frame.spec))
        raise NdigoError(f"{name} is {found}, expected {known}")
    for part, leaf, spec in by_part(name, frame, o):
        if jnp.shape(leaf) != (*lead, *spec.shape):
            raise NdigoError(f"{part} has the shape {list(jnp.shape(leaf))}, expected {[*lead, *spec.shape]}")


def by_part(name: str, frame: Frame, o: Any) -> Iterator[tuple[str, Any, jax.ShapeDtypeStruct]]:
    """Each array of a frame, called `name['part']` in a join, and what it should be."""
    leaves = jax.tree_util.tree_leaves_with_path(o)
    for (path, leaf), spec in zip(leaves, jax.tree.leaves(frame.spec), strict=True):
        yield f"{name}{jax.tree_util.keystr(path)}", leaf, spec


def _in_words(o: Any) -> str:
    if isinstance(o, dict):
        return f"a dictionary with {', '.join(map(str, o)) or 'nothing'}"
    return "an array" if isinstance(o, jax.ShapeDtypeStruct | jax.Array | np.ndarray) else f"a {type(o).__name__}"


def categorical_nats(logits: Float[Array, "... n"], index: Array) -> Float[Array, "..."]:
    """-log_softmax(l)[index]."""
    return jax.nn.logsumexp(logits, axis=-1) - take(logits, index)


def require_counts(what: str, **counts: Any) -> None:
    """An error unless all of them are whole numbers of at least 1."""
    for name, n in counts.items():
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise NdigoError(f"{what}: {name} is {n!r}, expected a whole number of at least 1")


def require_names(what: str, names: Sequence[Any]) -> None:
    """An error unless all names are text and no two are the same, since pay is reported by name."""
    for name in names:
        if not isinstance(name, str):
            raise NdigoError(f"{what}: the name {name!r} is no text")
        if names.count(name) > 1:
            raise NdigoError(f"{what}: two channels are named {name!r}")


def require_sequence(what: str, **values: Any) -> None:
    """An error unless all values are iterable."""
    for name, value in values.items():
        if not isinstance(value, Iterable):
            raise NdigoError(f"{what}: {name} is {value!r}, expected a list")


def only_categorical(kind: str, name: str) -> None:
    """An error for any other name, in a kind of frame that has one likelihood."""
    if name != "categorical":
        raise unknown_name(f"likelihood of {kind}", name, ("categorical",))
