"""Kinds of frames, one file each: what a world's observations are, and with it how they are read, stored and predicted.

from ndigo import frames

frames.bits(channels, height, width)                         zeros and ones: our own worlds
frames.tiles(values=(11, 6, 4), height=7, width=7)           layers of whole numbers: MiniGrid, Craftax
frames.vector(size, low=0, high=9, bins=10)                  numbers; `bins=None` for a Gaussian
frames.pixels(64, 64, patch=8, codebook=patches_in(...))     patch tokens
frames.join(map=..., inventory=...)                          several
"""

from ndigo.frames.bits import Bits, BitsLikelihood, bits
from ndigo.frames.frame import Channel, Frame, Likelihood, by_part, check_shape, code_of, empty, shape_of
from ndigo.frames.join import Join, join
from ndigo.frames.pixels import Pixels, patches_in, pixels
from ndigo.frames.tiles import Tiles, tiles, tiles_in
from ndigo.frames.vector import Vector, vector

__all__ = [
    "Bits",
    "BitsLikelihood",
    "Channel",
    "Frame",
    "Join",
    "Likelihood",
    "Pixels",
    "Tiles",
    "Vector",
    "bits",
    "by_part",
    "check_shape",
    "code_of",
    "empty",
    "join",
    "patches_in",
    "pixels",
    "shape_of",
    "tiles",
    "tiles_in",
    "vector",
]
