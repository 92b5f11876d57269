"""The twin of `frames.cnn.encode`: convolutions of a small view as dense layers.

A small view is multiplied, flat, with the kernel spread over all positions: H*W / 9 times the arithmetic of patches,
but a quarter of the bytes. These are the limit, on a GPU up to larger views than on a CPU. A large view is cut into
patches, as in the plain one.
"""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Shaped

from ndigo.fast.pallas import on_gpu
from ndigo.frames import cnn
from ndigo.frames.cnn import Convolution, Encoder
from ndigo.networks import Tree

# Up to so many cells a convolution is one dense product.
SMALL_VIEW = 7 * 7
SMALL_ON_GPU = 12 * 12


def encode(encoder: Encoder, o_t: Shaped[Array, "... H W C"]) -> Float[Array, "... Z"]:
    """z_t = CNN(o_t)."""
    return dense(encoder)(o_t) if is_small(encoder) else cnn.encode(encoder, o_t)


def is_small(encoder: Encoder) -> bool:
    return math.prod(encoder.conv1.size) <= (SMALL_ON_GPU if on_gpu() else SMALL_VIEW)


def for_a_loop(encoder: Tree) -> Tree:
    """A frame's encoder whose small convolutions are made dense once, before the loop's first step."""
    return jax.tree.map(
        lambda x: dense(x) if type(x) is Encoder and is_small(x) else x, encoder, is_leaf=lambda x: type(x) is Encoder
    )


class DenseEncoder(eqx.Module):
    """An encoder whose convolutions are dense layers, and whose biases are a row of their weights.

    That row meets a 1 that goes with the frame from layer to layer. So a bias has its gradient from its layer's one
    product, where a sum over all frames would be a pass of its own.
    """

    weights: tuple[Float[Array, "I O"], ...]  # the last rows and columns: the 1, and empty ones

    def __call__(self, o_t: Shaped[Array, "... H W C"]) -> Float[Array, "... Z"]:
        x, weight = o_t.reshape(*o_t.shape[:-3], -1), self.weights[0]
        before = [(0, 0)] * (x.ndim - 1)
        x = jnp.pad(x, [*before, (0, 1)], constant_values=1)
        x = jnp.pad(x, [*before, (0, len(weight) - x.shape[-1])]).astype(weight.dtype)
        for weight in self.weights:
            x = jax.nn.relu(x @ weight)
        return x


def dense(encoder: Encoder) -> DenseEncoder:
    """The encoder as dense layers; a loop makes them before its first step."""
    conv1, conv2 = (_with_bias(*as_dense(layer), passes_on=True) for layer in (encoder.conv1, encoder.conv2))
    return DenseEncoder((conv1, conv2, _with_bias(encoder.dense.weight, encoder.dense.bias)))


def as_dense(layer: Convolution) -> tuple[Float[Array, "H*W*C P*F"], Float[Array, " P*F"]]:
    """The kernel over all positions: weight and bias of a dense layer."""
    taps = jnp.asarray(tap_table(layer.size, layer.stride), layer.weight.dtype)
    weight = jnp.einsum("xpd,dcf->xcpf", taps, layer.weight.reshape(9, -1, layer.weight.shape[-1]))
    return weight.reshape(math.prod(layer.size) * layer.weight.shape[0] // 9, -1), jnp.tile(layer.bias, taps.shape[1])


def tap_table(size: tuple[int, int], stride: int) -> np.ndarray:
    """[H*W inputs, P outputs, 9 taps]: 1 where the output reads that input through that tap."""
    H, W = size
    rows, cols = range(0, H, stride), range(0, W, stride)
    table = np.zeros((H, W, len(rows), len(cols), 9), np.float32)
    for y, top in enumerate(rows):
        for x, left in enumerate(cols):
            for tap in range(9):
                i, j = top + tap // 3 - 1, left + tap % 3 - 1
                if 0 <= i < H and 0 <= j < W:
                    table[i, j, y, x, tap] = 1
    return table.reshape(H * W, len(rows) * len(cols), 9)


def _with_bias(weight: Float[Array, "I O"], bias: Float[Array, " O"], passes_on: bool = False) -> Array:
    """Weight and bias as one matrix, to multiply (x, 1, empty); where it passes the 1 on, that makes (y, 1, empty)."""
    num_inputs, one = len(weight), jnp.ones((1, 1), weight.dtype)
    joined = jnp.concatenate([weight, bias[None]])
    if passes_on:
        joined = jnp.concatenate([joined, jnp.pad(one, [(num_inputs, 0), (0, 0)])], axis=1)
    # Multiples of 32, or XLA fills the sums up in every product, to cut them among its programs.
    return jnp.pad(joined, [(0, -len(joined) % 32), (0, -joined.shape[1] % 32 if passes_on else 0)])
