"""The layers of a frame's encoder, as the floor counts them: (positions, inputs, outputs) of each."""

from __future__ import annotations

import math

import jax

from ndigo.frames import Bits, Frame, Join, Pixels, Tiles, Vector

Layer = tuple[int, int, int]


def encoder_layers(frame: Frame, num_features: int, num_filters: int) -> tuple[Layer, ...]:
    """Products alone; of a kind that is not ours, the least there can be: one dense layer on its numbers."""
    if isinstance(frame, Join):
        return tuple(layer for _, part in frame.parts for layer in encoder_layers(part, num_features, num_filters))
    if isinstance(frame, Bits):
        return cnn(*frame.shape, num_features, num_filters)
    if isinstance(frame, Tiles):  # rows of the layers' values are added up, then as bits
        embedding = (frame.num_cells, len(frame.values), num_filters)
        return (embedding, *cnn(frame.height, frame.width, num_filters, num_features, num_filters))
    if isinstance(frame, Pixels):
        return encoder_layers(frame.grid, num_features, num_filters)
    if isinstance(frame, Vector):
        return ((1, frame.size, num_features),)
    return ((1, sum(math.prod(x.shape) for x in jax.tree.leaves(frame.spec)), num_features),)


def features(frame: Frame, num_features: int) -> int:
    """Those of all parts of a join."""
    return sum(features(part, num_features) for _, part in frame.parts) if isinstance(frame, Join) else num_features


def cnn(height: int, width: int, channels: int, num_features: int, num_filters: int) -> tuple[Layer, ...]:
    """Two layers of 3 x 3 filters, the second on every other cell, and a dense one."""
    halved = -(-height // 2) * -(-width // 2)
    return (
        (height * width, 9 * channels, num_filters),
        (halved, 9 * num_filters, num_filters),
        (1, halved * num_filters, num_features),
    )
