"""Frames of pixels, uint8 [H, W, C], read as a grid of patch tokens.

    c(o)[i, j] = the patch of the codebook that is nearest to patch (i, j) of the picture

The codebook is fixed before a run and nothing learns through it, so NDIGO keeps its meaning: nats of the code. All that
is stored, read and predicted is the code: one token per patch, each a categorical over the codebook.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, UInt8

from ndigo.errors import NdigoError
from ndigo.frames.frame import Channel, only_categorical, require_counts
from ndigo.frames.tiles import MOST_CLASSES, TileEncoder, Tiles, TilesLikelihood


class PixelEncoder(eqx.Module):
    """A token is read as a tile."""

    tokens: TileEncoder
    frame: Pixels = eqx.field(static=True)

    @property
    def num_features(self) -> int:
        return self.tokens.num_features

    def __call__(self, o_t: Int[Array, "... H W C"]) -> Float[Array, "... Z"]:
        return self.tokens(self.frame.code(o_t))


@dataclass(frozen=True)
class PixelsLikelihood:
    """One categorical per patch."""

    frame: Pixels

    @property
    def num_outputs(self) -> int:
        return self._tokens.num_outputs

    def target(self, o_t: Int[Array, "... H W C"]) -> Int[Array, "... h*w 1"]:
        return self._tokens.target(self.frame.code(o_t))

    def nats(self, logits: Float[Array, "... O"], target: Int[Array, "... h*w 1"]) -> Float[Array, "... 1"]:
        return self._tokens.nats(logits, target)

    def chances(self, logits: Float[Array, "... O"]) -> Float[Array, "... h w n"]:
        """The probability of each patch of the codebook."""
        return self._tokens.chances(logits)

    @property
    def _tokens(self) -> TilesLikelihood:
        return TilesLikelihood(self.frame.grid)


@dataclass(frozen=True)
class Pixels:
    """A frame of `pixels`."""

    height: int
    width: int
    depth: int  # colours of a pixel
    patch: int
    codebook: bytes  # the patches end to end: bytes can be compared, and hashed once

    @property
    def channels(self) -> tuple[Channel, ...]:
        return (Channel("pixels", "tokens"),)

    @property
    def spec(self) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((self.height, self.width, self.depth), jnp.uint8)

    @cached_property
    def patches(self) -> UInt8[np.ndarray, "n patch patch C"]:
        return np.frombuffer(self.codebook, np.uint8).reshape(-1, self.patch, self.patch, self.depth)

    @cached_property
    def grid(self) -> Tiles:
        """The tokens as a frame of tiles with one layer."""
        sizes = self.height // self.patch, self.width // self.patch
        return Tiles((len(self.patches),), *sizes, names=("pixels",), listed=None)

    def code(self, o_t: Int[Array, "... H W C"]) -> Int[Array, "... h w 1"]:
        """Pictures (uint8) as tokens (int32); what is not uint8 is taken for tokens, as `unpack` returns them."""
        if o_t.dtype != jnp.uint8:
            return o_t
        book = (self.patches.reshape(len(self.patches), -1).astype(np.int16) - 128).astype(np.int8)
        cut = (_cut(o_t, self.patch).astype(jnp.int16) - 128).astype(jnp.int8)
        # |x - c|^2 less |x|^2, in whole numbers: a token must not depend on how its product was computed.
        product = jnp.matmul(cut, book.T, preferred_element_type=jnp.int32)
        distance = (book.astype(np.int32) ** 2).sum(axis=-1) - 2 * product
        return distance.argmin(axis=-1).astype(jnp.int32)[..., None]

    def picture(self, tokens: Int[Array, "... h w 1"]) -> UInt8[Array, "... H W C"]:
        """The patches of the tokens, put together."""
        patches = jnp.moveaxis(jnp.asarray(self.patches)[tokens[..., 0]], -3, -4)
        return patches.reshape(*tokens.shape[:-3], self.height, self.width, self.depth)

    def pack(self, o_t: Int[Array, "... H W C"]) -> UInt8[Array, "... P"]:
        return self.grid.pack(self.code(o_t))

    def unpack(self, packed: UInt8[Array, "... P"]) -> Int[Array, "... h w 1"]:
        """The tokens, int32."""
        return self.grid.unpack(packed).astype(jnp.int32)

    def init_encoder(self, key: Array, num_features: int, num_filters: int) -> PixelEncoder:
        return PixelEncoder(self.grid.init_encoder(key, num_features, num_filters), self)

    def likelihood(self, name: str = "categorical") -> PixelsLikelihood:
        only_categorical("pixels", name)
        return PixelsLikelihood(self)

    def wrong(self, o_t: np.ndarray) -> str | None:
        is_wrong = (o_t < 0) | (o_t > 255)
        if not is_wrong.any():
            return None
        t = np.argwhere(is_wrong)[0][0]
        return f"in frame {t} the value {o_t[t][is_wrong[t]][0]}, expected 0 to 255"


def pixels(height: int, width: int | None = None, channels: int = 3, *, patch: int, codebook: Any) -> Pixels:
    """Pictures, uint8 [H, W, C], in patches of `patch` x `patch` pixels.

    The codebook is uint8 [n, patch, patch, C]; `patches_in` collects one from pictures.
    """
    width = height if width is None else width
    require_counts("frame of pixels", height=height, width=width, channels=channels, patch=patch)
    if height % patch or width % patch:
        raise NdigoError(f"frame of pixels: patches of {patch} do not fill {height} x {width} pixels")
    try:
        book = np.asarray(codebook)
    except ValueError:
        raise NdigoError("frame of pixels: the codebook's patches are not of one size") from None
    if book.dtype != np.uint8 or book.shape[1:] != (patch, patch, channels):
        expected = f"uint8[n,{patch},{patch},{channels}]"
        raise NdigoError(f"frame of pixels: the codebook is {book.dtype}{list(book.shape)}, expected {expected}")
    if not 1 <= len(book) <= MOST_CLASSES:
        raise NdigoError(f"frame of pixels: a codebook of {len(book)} patches, expected 1 to {MOST_CLASSES}")
    if len(np.unique(book, axis=0)) < len(book):
        raise NdigoError("frame of pixels: two patches of the codebook are the same")
    return Pixels(height, width, channels, patch, book.tobytes())


def patches_in(pictures: Any, patch: int, most: int = 256, apart: float = 0.0) -> UInt8[np.ndarray, "n patch patch C"]:
    """A codebook: the patches of pictures [..., H, W, C], without those that are close to one taken before.

    `apart` is the least mean squared difference of two patches, in pixels' values; `most` is the largest size.
    """
    found = np.asarray(pictures)
    if found.dtype != np.uint8 or found.ndim < 3 or any(size % patch for size in found.shape[-3:-1]):
        kind = f"{found.dtype}{list(found.shape)}"
        raise NdigoError(
            f"patches_in: the pictures are {kind}, expected uint8 [..., H, W, C] that patches of {patch} fill"
        )
    rows = np.asarray(_cut(found, patch)).reshape(-1, patch * patch * found.shape[-1])
    rows = rows[np.sort(np.unique(rows, axis=0, return_index=True)[1])]
    taken: list[np.ndarray] = []
    for row in rows:
        if len(taken) == most:
            break
        if not taken or ((np.array(taken, np.float64) - row) ** 2).mean(axis=1).min() >= apart:
            taken.append(row)
    return np.array(taken, np.uint8).reshape(-1, patch, patch, found.shape[-1])


def _cut(o_t: Any, patch: int) -> Any:
    """[..., H, W, C] into [..., h, w, patch * patch * C]."""
    *lead, H, W, C = o_t.shape
    blocks = o_t.reshape(*lead, H // patch, patch, W // patch, patch, C)
    return blocks.swapaxes(-3, -4).reshape(*lead, H // patch, W // patch, patch * patch * C)
