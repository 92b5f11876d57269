"""Frames of tiles, [H, W, L]: whole numbers in L layers (MiniGrid's object, colour and state).

One categorical per cell over the combinations of the layers: all of them, or a list of those that occur and one class
for any other. By the chain rule its nats are split by layer,

    L_l = -ln p(x_l | x_1 .. x_{l-1}) = ln sum_{j: x_1 .. x_{l-1}} e^{l_j} - ln sum_{j: x_1 .. x_l} e^{l_j}

and L(o) = sum_l L_l is -ln of the joint chance. Cells are independent given the prediction.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, UInt8

from ndigo.errors import NdigoError
from ndigo.frames.cnn import Encoder, LayerNorm, init_encoder, init_norm
from ndigo.frames.frame import Channel, only_categorical, require_counts, require_names, require_sequence
from ndigo.networks import take

MOST_CLASSES = 4096  # per cell: with more, the output layer alone would fill a device
MOST_CODES = 2**31 - 1
MULTI_HOT = 256  # up to so many values a product with ones is faster than looking rows up
LEAST_POWER = 1e-37
OTHER = -1  # every layer of the class that stands for all combinations not listed


class TileEncoder(eqx.Module):
    """A learned row for each value of each layer; a cell is the sum of its rows, and the CNN reads the cells.

    Its features are normalised. Most cells of a map are walls and floor in every frame, so what differs between frames
    is a small part of what the CNN says, and a model takes long to find it (`studies/features`).
    """

    rows: Float[Array, "sum(values) F"]
    cnn: Encoder
    norm: LayerNorm
    values: tuple[int, ...] = eqx.field(static=True)

    @property
    def num_features(self) -> int:
        return self.cnn.num_features

    def __call__(self, o_t: Int[Array, "... H W L"]) -> Float[Array, "... Z"]:
        starts = np.cumsum([0, *self.values[:-1]])
        index = jnp.clip(o_t.astype(jnp.int32), 0, np.array(self.values) - 1) + starts
        if len(self.rows) <= MULTI_HOT:
            ones = (index[..., None] == jnp.arange(len(self.rows))).any(axis=-2).astype(self.rows.dtype)
            # A product per step: the gradient of one for all steps is a few numbers, each a sum over millions of cells,
            # and a GPU would leave such a sum to a few of its processors.
            lead = o_t.shape[:1] if o_t.ndim > 3 else (1,)
            cells = ones.reshape(*lead, -1, len(self.rows)) @ jnp.broadcast_to(self.rows, (*lead, *self.rows.shape))
            return self.norm(self.cnn(cells.reshape(*o_t.shape[:-1], -1)))
        return self.norm(self.cnn(self.rows[index].sum(axis=-2)))


@dataclass(frozen=True)
class TilesLikelihood:
    """One categorical per cell."""

    frame: Tiles

    @property
    def num_outputs(self) -> int:
        return self.frame.num_cells * self.frame.num_classes

    def target(self, o_t: Int[Array, "... H W L"]) -> Int[Array, "... H*W L"]:
        """For each cell and layer l, which set of classes with equal x_1 .. x_l it is in (`Tiles.prefixes`)."""
        return jnp.asarray(self.frame.prefixes)[self.frame.class_of(o_t)]

    def nats(self, logits: Float[Array, "... O"], target: Int[Array, "... H*W L"]) -> Float[Array, "... L"]:
        rows = self._rows(logits)
        logit = take(rows, target[..., -1])
        top = jax.lax.stop_gradient(rows.max(axis=-1))
        power = jnp.exp(rows - top[..., None])  # once for all layers
        log_sums = [top + jnp.log(power.sum(axis=-1))]
        for layer in range(len(self.frame.values) - 1):
            shared = target[..., layer, None] == jnp.asarray(self.frame.prefixes[:, layer])
            total = jnp.where(shared, power, 0).sum(axis=-1)
            # The cell's own class is in every set, even where it is 87 nats below the top and its power is 0.
            log_sums.append(jnp.maximum(top + jnp.log(jnp.maximum(total, LEAST_POWER)), logit))
        log_sums.append(logit)
        return jnp.stack([(more - less).sum(axis=-1) for more, less in pairwise(log_sums)], axis=-1)

    def chances(self, logits: Float[Array, "... O"]) -> Float[Array, "... H W n"]:
        """The probability of each class of `frame.classes`, in each cell."""
        p = jax.nn.softmax(self._rows(logits))
        return p.reshape(*logits.shape[:-1], self.frame.height, self.frame.width, -1)

    def _rows(self, logits: Float[Array, "... O"]) -> Float[Array, "... H*W n"]:
        return logits.reshape(*logits.shape[:-1], self.frame.num_cells, self.frame.num_classes)


@dataclass(frozen=True)
class Tiles:
    """A frame of `tiles`."""

    values: tuple[int, ...]  # of each layer: 0 .. values - 1
    height: int
    width: int
    names: tuple[str, ...]
    listed: tuple[tuple[int, ...], ...] | None  # sorted combinations that occur; None: all

    @property
    def channels(self) -> tuple[Channel, ...]:
        return tuple(Channel(name, "tiles") for name in self.names)

    @property
    def spec(self) -> jax.ShapeDtypeStruct:
        shape = (self.height, self.width, len(self.values))
        return jax.ShapeDtypeStruct(shape, jnp.uint8 if max(self.values) <= 256 else jnp.int32)

    @property
    def num_cells(self) -> int:
        return self.height * self.width

    @cached_property
    def classes(self) -> Int[np.ndarray, "n L"]:
        """The layers' values in each class; with `listed`, class 0 is everything else, -1 in every layer."""
        rows = product(*map(range, self.values)) if self.listed is None else [(OTHER,) * len(self.values), *self.listed]
        return np.array(list(rows), np.int32)

    @property
    def num_classes(self) -> int:
        return math.prod(self.values) if self.listed is None else 1 + len(self.listed)

    @cached_property
    def prefixes(self) -> Int[np.ndarray, "n L"]:
        """Classes with the same number in column l agree in their layers up to l."""
        columns = [
            np.unique(self.classes[:, : layer + 1], axis=0, return_inverse=True)[1].ravel()
            for layer in range(len(self.values))
        ]
        return np.stack(columns, axis=-1).astype(np.int16)

    @property
    def _strides(self) -> np.ndarray:
        return np.cumprod([1, *self.values[:0:-1]])[::-1].astype(np.int32)

    def code(self, o_t: Int[Array, "... H W L"]) -> Int[Array, "... H*W"]:
        """Each cell as one number, the first layer its highest digit; a value out of range is the nearest inside."""
        inside = jnp.clip(o_t.astype(jnp.int32), 0, np.array(self.values) - 1)
        return (inside * self._strides).sum(axis=-1).reshape(*o_t.shape[:-3], self.num_cells)

    def class_of(self, o_t: Int[Array, "... H W L"]) -> Int[Array, "... H*W"]:
        """Each cell's class."""
        code = self.code(o_t)
        if self.listed is None:
            return code
        known = jnp.asarray(self.classes[1:] @ self._strides)
        at = jnp.minimum(jnp.searchsorted(known, code), len(known) - 1)
        return jnp.where(known[at] == code, 1 + at, 0)

    def pack(self, o_t: Int[Array, "... H W L"]) -> UInt8[Array, "... P"]:
        code = self.code(o_t)
        parts = [(code >> 8 * i).astype(jnp.uint8) for i in range(self._num_bytes)]
        return jnp.concatenate(parts, axis=-1)

    def unpack(self, packed: UInt8[Array, "... P"]) -> Int[Array, "... H W L"]:
        lead = packed.shape[:-1]
        parts = packed.reshape(*lead, self._num_bytes, self.num_cells).astype(jnp.int32)
        code = sum(parts[..., i, :] << 8 * i for i in range(self._num_bytes))
        layers = jnp.asarray(code)[..., None] // self._strides % np.array(self.values)
        return layers.reshape(*lead, *self.spec.shape).astype(self.spec.dtype)

    @property
    def _num_bytes(self) -> int:
        """Bytes per cell."""
        return max((math.prod(self.values) - 1).bit_length() + 7, 8) // 8

    def init_encoder(self, key: Array, num_features: int, num_filters: int) -> TileEncoder:
        key_rows, key_cnn = jax.random.split(key)
        return TileEncoder(
            # A cell is the sum of one row per layer: of variance 1, as a bit's is at most.
            rows=jax.random.normal(key_rows, (sum(self.values), num_filters)) / len(self.values) ** 0.5,
            cnn=init_encoder(key_cnn, (self.height, self.width, num_filters), num_features, num_filters),
            norm=init_norm(num_features),
            values=self.values,
        )

    def likelihood(self, name: str = "categorical") -> TilesLikelihood:
        only_categorical("tiles", name)
        return TilesLikelihood(self)

    def wrong(self, o_t: np.ndarray) -> str | None:
        for layer, (name, num_values) in enumerate(zip(self.names, self.values, strict=True)):
            is_wrong = (o_t[..., layer] < 0) | (o_t[..., layer] >= num_values)
            if is_wrong.any():
                t, row, col = np.argwhere(is_wrong)[0]
                value = o_t[t, row, col, layer]
                return f"in the tiles' layer {name!r} of frame {t} the value {value}, expected 0 to {num_values - 1}"
        return None


def tiles(
    values: Sequence[int] = (11, 6, 4),
    height: int = 7,
    width: int | None = None,
    *,
    names: Sequence[str] | None = None,
    listed: Iterable[Sequence[int]] | None = None,
) -> Tiles:
    """Whole numbers, [H, W, L]: layer l has the values 0 .. values[l] - 1. The sizes are MiniGrid's unless given.

    `listed` are the combinations of the layers that occur (`tiles_in` collects them); all others are one class.
    """
    require_sequence("frame of tiles", values=values, listed=() if listed is None else listed)
    values, width = tuple(values), height if width is None else width
    require_counts("frame of tiles", height=height, width=width, layers=len(values))
    for layer, num_values in enumerate(values):
        require_counts("frame of tiles", **{f"values[{layer}]": num_values})
    values = tuple(map(int, values))  # NumPy's would overflow in a product
    names = tuple(f"layer{layer}" for layer in range(len(values))) if names is None else tuple(names)
    if len(names) != len(values):
        raise NdigoError(f"frame of tiles: {len(names)} names for {len(values)} layers")
    require_names("frame of tiles", names)
    made = Tiles(values, height, width, names, None if listed is None else _sorted_tiles(values, listed))
    if math.prod(values) > MOST_CODES:
        raise NdigoError(f"frame of tiles: values {values} have more than {MOST_CODES} combinations; join two frames")
    if made.num_classes > MOST_CLASSES:
        raise NdigoError(
            f"frame of tiles: {made.num_classes} combinations in a cell, at most {MOST_CLASSES}; list those that occur"
        )
    return made


def _sorted_tiles(values: tuple[int, ...], listed: Iterable[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    tiles = [tuple(tile) for tile in listed]
    for tile in tiles:
        is_whole = all(isinstance(x, int | np.integer) for x in tile)
        if len(tile) != len(values) or not is_whole or not all(0 <= x < n for x, n in zip(tile, values, strict=True)):
            raise NdigoError(f"frame of tiles: {tile} is listed, expected one of {values} values per layer")
    known = sorted({tuple(int(x) for x in tile) for tile in tiles})
    if not known:
        raise NdigoError("frame of tiles: no combination is listed, expected at least one")
    return tuple(known)


def tiles_in(o_t: Any) -> tuple[tuple[int, ...], ...]:
    """The combinations of layers that occur in frames [..., H, W, L]."""
    found = np.asarray(o_t)
    return tuple(tuple(int(x) for x in tile) for tile in np.unique(found.reshape(-1, found.shape[-1]), axis=0))
