"""Frames as small pictures, RGB: what an agent sees and expects where no map tells how to draw it.

    bits     each cell mixes the colours of its channels; a frame of few cells shows its channels side by side
    tiles    each class of a cell has a colour; an expectation is the mean colour of the classes
    vector   a column per number and a row per bin, high above low; a number with a name has a colour of its own, and
             many numbers are a table of grey
    pixels   themselves; an expectation is the mean of the codebook's patches
    join     the parts in a row
    other    the bytes of `pack` as grey; nothing is drawn of what is expected

Everything is a function of arrays with any leading axes, safe under `jit`.
"""

from __future__ import annotations

import colorsys
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, UInt8

from ndigo.frames import Bits, Frame, Join, Pixels, Tiles, Vector
from ndigo.palette import OBJECTS, RGB
from ndigo.watching.panels import mix

FLOOR, EMPTY, WALL = (16, 18, 23), (34, 38, 46), (98, 101, 110)
# Layers of MiniGrid, NAVIX and XLand-MiniGrid: in the first 0, 1 and 2 are the ground, such as unseen, empty and wall.
WITH_GROUND = {("object", "colour", "state"), ("entity", "colour", "state"), ("tile", "colour")}
FEW_CELLS = 4  # of a frame of bits: up to these, channels are drawn side by side
MOST_COLUMNS, MOST_ROWS = 64, 32  # of a vector's picture; more numbers make a table, more bins share a row
BELIEF_POWER = 0.4  # a chance's weight in a picture: one in a hundred still shows

Picture = UInt8[Array, "... Y X 3"]


@dataclass(frozen=True, eq=False)
class Painter:
    """How one frame is drawn: what was seen, and what its likelihood's `chances` say is expected."""

    shape: tuple[int, int]  # Y, X
    seen: Callable[[Any], Picture]
    expected: Callable[[Any], Picture] | None
    colours: tuple[RGB | None, ...] = ()  # each channel's; none where a picture has none for channels


def painter_of(frame: Frame) -> Painter:
    makers: dict[type, Callable[[Any], Painter]] = {
        Bits: _bits,
        Tiles: _tiles,
        Vector: _vector,
        Pixels: _pixels,
        Join: _join,
    }
    if type(frame) in makers:
        return makers[type(frame)](frame)
    size = jax.eval_shape(frame.pack, frame.spec).shape[0]
    return Painter(_table_shape(size), lambda o_t: _table(frame.pack(o_t) / 255), None)


def colour_of(i: int) -> RGB:
    """A colour for the i-th of anything: the palette's, then hues apart by the golden ratio."""
    if i < len(OBJECTS):
        return OBJECTS[i]
    r, g, b = colorsys.hsv_to_rgb(i * 0.618034 % 1, 0.55, 0.9)
    return round(255 * r), round(255 * g), round(255 * b)


def channel_colours(frame: Bits) -> tuple[RGB, ...]:
    """A single binary channel is walls; all others take the palette's colours in order."""
    is_wall = [c.kind == "binary" for c in frame.channels]
    alone = sum(is_wall) == 1 and len(is_wall) > 1
    others = iter(range(len(is_wall)))
    return tuple(WALL if alone and wall else colour_of(next(others)) for wall in is_wall)


def _bits(frame: Bits) -> Painter:
    each = channel_colours(frame)
    colours = np.array(each, np.float32)
    H, W, C = frame.shape
    if H * W <= FEW_CELLS:
        row = np.repeat(colours, W, axis=0)  # [C * W, 3]

        def beside(p: Array) -> Picture:
            flat = jnp.swapaxes(p, -1, -2).reshape(*p.shape[:-3], H, C * W)
            return _bytes(mix(jnp.array(EMPTY, jnp.float32), row, flat.astype(jnp.float32)))

        return Painter((H, C * W), beside, beside, each)

    def mixed(p: Array) -> Picture:
        weights = p.astype(jnp.float32) ** BELIEF_POWER
        total = weights.sum(axis=-1)
        mean = weights @ colours / jnp.maximum(total, 1e-6)[..., None]
        floor = jnp.array(FLOOR, jnp.float32)
        return _bytes(mix(floor, mean, jnp.minimum(total, 1)))

    return Painter((H, W), mixed, mixed, each)


def _tiles(frame: Tiles) -> Painter:
    if frame.num_cells == len(frame.values) == 1:
        return _number(frame)
    colour = ground_or_colour if frame.names in WITH_GROUND else tile_colour
    table = jnp.array([colour(tuple(tile)) for tile in frame.classes.tolist()], jnp.float32)

    def seen(o_t: Array) -> Picture:
        return _bytes(table[frame.class_of(o_t)].reshape(*o_t.shape[:-1], 3))

    return Painter((frame.height, frame.width), seen, lambda chances: _bytes(chances @ table))


def _number(frame: Tiles) -> Painter:
    """One whole number: a field for each that it can be."""
    n = frame.num_classes

    def expected(chances: Array) -> Picture:
        return _table(chances.reshape(*chances.shape[:-3], n) ** BELIEF_POWER)

    def seen(o_t: Array) -> Picture:
        return expected(jax.nn.one_hot(frame.class_of(o_t), n)[..., None, :])

    return Painter(_table_shape(n), seen, expected)


def tile_colour(tile: tuple[int, ...]) -> RGB:
    """The first layer gives the colour, 0 the floor's; what is not 0 in the others tints it, by hues of their own."""
    kind, *others = tile
    hues = [colour_of(len(OBJECTS) + value) if value > 0 else None for value in others]
    return _tinted(FLOOR if kind <= 0 else colour_of(kind - 1), hues)


def ground_or_colour(tile: tuple[int, ...]) -> RGB:
    kind, *others = tile
    return (FLOOR, EMPTY, WALL)[max(kind, 0)] if kind < 3 else _tinted(colour_of(kind - 3), map(colour_of, others))


def _tinted(colour: RGB, tints: Iterable[RGB | None]) -> RGB:
    mixed = np.array(colour, float)
    for weight, tint in zip(chain((0.35,), repeat(0.2)), tints, strict=False):
        if tint is not None:
            mixed += weight * (np.array(tint) - mixed)
    r, g, b = np.rint(mixed).astype(int).tolist()
    return r, g, b


def _vector(frame: Vector) -> Painter:
    num_bins = frame.bins or MOST_ROWS
    centres = (np.arange(num_bins, dtype=np.float32) + 0.5) / num_bins

    def share(o_t: Array) -> Array:
        return jnp.clip((frame.scaled(o_t) + 1) / 2, 0, 1)

    def of_bins(chances: Array) -> Float[Array, "... N bins"]:
        if frame.bins is not None:
            return chances
        low, high = np.array(frame.low, np.float32), np.array(frame.high, np.float32)
        mean = (chances[..., 0] - low) / (high - low)
        spread = jnp.maximum(chances[..., 1] / (high - low), 0.5 / num_bins)
        return jax.nn.softmax(-0.5 * ((centres - mean[..., None]) / spread[..., None]) ** 2)

    if frame.size > MOST_COLUMNS:
        return Painter(
            _table_shape(frame.size),
            lambda o_t: _table(share(o_t)),
            lambda chances: _table((of_bins(chances) * centres).sum(axis=-1)),
        )
    rows = min(num_bins, MOST_ROWS)
    wide = max(1, rows // frame.size)
    group = np.arange(num_bins)[:, None] * rows // num_bins == np.arange(rows)
    colours = tuple(map(colour_of, range(len(frame.names))))
    across = np.repeat(np.array(colours, np.float32), wide * frame.size // len(colours), axis=0)

    def columns(p: Float[Array, "... N bins"]) -> Picture:
        heat = jnp.flip(jnp.swapaxes(p @ group.astype(np.float32), -1, -2), axis=-2) ** BELIEF_POWER
        return _bytes(mix(jnp.array(FLOOR, jnp.float32), across, jnp.repeat(heat, wide, axis=-1)))

    def seen(o_t: Array) -> Picture:
        at = jnp.minimum(jnp.floor(share(o_t) * num_bins), num_bins - 1).astype(jnp.int32)
        return columns(jax.nn.one_hot(at, num_bins))

    return Painter((rows, wide * frame.size), seen, lambda chances: columns(of_bins(chances)), colours)


def _pixels(frame: Pixels) -> Painter:
    book = frame.patches.reshape(len(frame.patches), -1).astype(np.float32)
    h, w, patch = frame.height // frame.patch, frame.width // frame.patch, frame.patch

    def expected(chances: Array) -> Picture:
        lead = chances.shape[:-3]
        cut = (chances @ book).reshape(*lead, h, w, patch, patch, frame.depth)
        return _rgb(_bytes(jnp.swapaxes(cut, -3, -4).reshape(*lead, frame.height, frame.width, frame.depth)))

    return Painter((frame.height, frame.width), _rgb, expected)


def _join(frame: Join) -> Painter:
    painters = {name: painter_of(part) for name, part in frame.parts}
    tall = max(painter.shape[0] for painter in painters.values())
    scales = {name: max(1, tall // painter.shape[0]) for name, painter in painters.items()}

    def in_a_row(pictures: dict[str, Picture]) -> Picture:
        placed: list[Array] = []
        for name, picture in pictures.items():
            large = jnp.repeat(jnp.repeat(picture, scales[name], axis=-3), scales[name], axis=-2)
            gap = ((0, tall - large.shape[-3]), (0, 1 if len(placed) < len(pictures) - 1 else 0), (0, 0))
            placed.append(jnp.pad(large, (*[(0, 0)] * (large.ndim - 3), *gap)))
        return jnp.concatenate(placed, axis=-2)

    widths = [scales[name] * painter.shape[1] for name, painter in painters.items()]
    shape = (tall, sum(widths) + len(widths) - 1)
    colours = tuple(c for name, part in frame.parts for c in painters[name].colours or (None,) * len(part.channels))
    seen = lambda o_t: in_a_row({name: painter.seen(o_t[name]) for name, painter in painters.items()})  # noqa: E731
    if any(painter.expected is None for painter in painters.values()):
        return Painter(shape, seen, None, colours)
    return Painter(shape, seen, lambda p: in_a_row({n: painters[n].expected(p[n]) for n in painters}), colours)  # type: ignore[misc]


def _table_shape(size: int) -> tuple[int, int]:
    across = math.ceil(math.sqrt(size))
    return math.ceil(size / across), across


def _table(values: Float[Array, "... N"]) -> Picture:
    """Values from 0 to 1 as grey, in reading order."""
    rows, across = _table_shape(values.shape[-1])
    padded = jnp.pad(values, (*[(0, 0)] * (values.ndim - 1), (0, rows * across - values.shape[-1])))
    return _rgb(_bytes(255 * padded.reshape(*values.shape[:-1], rows, across, 1)))


def _rgb(picture: Array) -> Picture:
    """Of one colour, grey; of more than three, the first three."""
    if picture.shape[-1] >= 3:
        return picture[..., :3]
    return jnp.repeat(picture[..., :1], 3, axis=-1)


def _bytes(x: Array) -> Array:
    return jnp.clip(jnp.rint(x), 0, 255).astype(jnp.uint8)
