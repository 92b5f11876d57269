"""The twin of `networks.encode`: convolutions of a small view as dense layers.

A small view is multiplied, flat, with the kernel spread over all positions: V*V / 9 times the arithmetic of patches,
but a quarter of the bytes, and bytes bind. A large view is cut into patches, as in the plain one.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, UInt8

from ndigo import networks
from ndigo.networks import Convolution, Encoder

SMALL_VIEW = 7  # up to here a convolution is one dense product


def encode(encoder: Encoder, o_t: UInt8[Array, "... V V C"]) -> Float[Array, "... Z"]:
    """z_t = CNN(o_t)."""
    return networks.encode(encoder, o_t) if encoder.conv1.view > SMALL_VIEW else dense(encoder)(o_t)


class DenseEncoder(eqx.Module):
    """An encoder whose convolutions are dense layers, and whose biases are a row of their weights.

    That row meets a 1 that goes with the frame from layer to layer. So a bias has its gradient from its layer's one
    product, where a sum over all frames would be a pass of its own.
    """

    weights: tuple[Float[Array, "I O"], ...]  # of both, the last ones: the 1, and empty ones

    def __call__(self, o_t: UInt8[Array, "... V V C"]) -> Float[Array, "... Z"]:
        x, weight = o_t.reshape(*o_t.shape[:-3], -1), self.weights[0]
        before = [(0, 0)] * (x.ndim - 1)
        x = jnp.pad(x, [*before, (0, 1)], constant_values=1)
        x = jnp.pad(x, [*before, (0, len(weight) - x.shape[-1])]).astype(weight.dtype)
        for weight in self.weights:
            x = jax.nn.relu(x @ weight)
        return x


def dense(encoder: Encoder) -> DenseEncoder:
    """The encoder as dense layers; a loop makes them before its first step."""
    conv1, conv2 = (_with_bias(*spread(layer), passes_on=True) for layer in (encoder.conv1, encoder.conv2))
    return DenseEncoder((conv1, conv2, _with_bias(encoder.dense.weight, encoder.dense.bias)))


def spread(layer: Convolution) -> tuple[Float[Array, "V*V*C W*W*F"], Float[Array, " W*W*F"]]:
    """The kernel over all positions: weight and bias of a dense layer."""
    taps = jnp.asarray(tap_table(layer.view, layer.stride), layer.weight.dtype)
    weight = jnp.einsum("xpd,dcf->xcpf", taps, layer.weight.reshape(9, -1, layer.weight.shape[-1]))
    return weight.reshape(layer.view**2 * layer.weight.shape[0] // 9, -1), jnp.tile(layer.bias, taps.shape[1])


def tap_table(view: int, stride: int) -> np.ndarray:
    """[V*V inputs, W*W outputs, 9 taps]: 1 where the output reads that input through that tap."""
    rows = range(0, view, stride)
    table = np.zeros((view, view, len(rows), len(rows), 9), np.float32)
    for p, top in enumerate(rows):
        for q, left in enumerate(rows):
            for tap in range(9):
                i, j = top + tap // 3 - 1, left + tap % 3 - 1
                if 0 <= i < view and 0 <= j < view:
                    table[i, j, p, q, tap] = 1
    return table.reshape(view**2, len(rows) ** 2, 9)


def _with_bias(weight: Float[Array, "I O"], bias: Float[Array, " O"], passes_on: bool = False) -> Array:
    """Weight and bias as one matrix of (x, 1, empty); its answers are (y, 1, empty) where it passes the 1 on."""
    num_inputs, one = len(weight), jnp.ones((1, 1), weight.dtype)
    joined = jnp.concatenate([weight, bias[None]])
    if passes_on:
        joined = jnp.concatenate([joined, jnp.pad(one, [(num_inputs, 0), (0, 0)])], axis=1)
    # Multiples of 32, or XLA fills the sums up in every product, to cut them among its programs.
    return jnp.pad(joined, [(0, -len(joined) % 32), (0, -joined.shape[1] % 32 if passes_on else 0)])
