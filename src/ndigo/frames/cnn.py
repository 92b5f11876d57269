"""The CNN that reads pictures: bits, tiles and pixels share it. The features of tiles and pixels are normalised.

    z_t = CNN(o_t)

Written by hand because `vmap` over seeds turns library convolutions into grouped ones, which crawl.
"""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Shaped

from ndigo.networks import RELU_GAIN, Linear


class Convolution(eqx.Module):
    """A 3x3 convolution with zero padding: patches times its kernel."""

    weight: Float[Array, "9*C F"]  # taps in reading order, then input channels
    bias: Float[Array, " F"]
    size: tuple[int, int] = eqx.field(static=True)  # rows and columns it reads
    stride: int = eqx.field(static=True)

    def __init__(self, key: Array, size: tuple[int, int], num_channels: int, num_filters: int, stride: int):
        linear = Linear(key, 9 * num_channels, num_filters, RELU_GAIN)
        self.weight, self.bias = linear.weight, linear.bias
        self.size, self.stride = size, stride

    @property
    def num_outputs(self) -> int:
        H, W = self.size
        return ((H - 1) // self.stride + 1) * ((W - 1) // self.stride + 1) * self.bias.shape[0]

    def __call__(self, x: Float[Array, "... H*W*C"]) -> Float[Array, "... P*F"]:
        lead, (H, W), stride = x.shape[:-1], self.size, self.stride
        image = x.reshape(*lead, H, W, -1)
        padded = jnp.pad(image, [(0, 0)] * len(lead) + [(1, 1), (1, 1), (0, 0)])
        shifted = [padded[..., i : i + H : stride, j : j + W : stride, :] for i in range(3) for j in range(3)]
        return (jnp.concatenate(shifted, axis=-1) @ self.weight + self.bias).reshape(*lead, -1)


def encode(encoder: Encoder, o_t: Shaped[Array, "... H W C"]) -> Float[Array, "... Z"]:
    """z_t = CNN(o_t): 3x3 filters, 3x3 filters with stride 2, a dense layer; all ReLU (paper)."""
    x = o_t.reshape(*o_t.shape[:-3], -1).astype(encoder.dense.weight.dtype)
    for layer in (encoder.conv1, encoder.conv2, encoder.dense):
        x = jax.nn.relu(layer(x))
    return x


class Encoder(eqx.Module):
    """The weights of `encode`."""

    conv1: Convolution
    conv2: Convolution
    dense: Linear
    by: Callable[..., Array] = eqx.field(static=True, default=encode)

    @property
    def num_features(self) -> int:
        return self.dense.bias.shape[0]

    def __call__(self, o_t: Shaped[Array, "... H W C"]) -> Float[Array, "... Z"]:
        return self.by(self, o_t)


def init_encoder(key: Array, shape: tuple[int, int, int], num_features: int, num_filters: int) -> Encoder:
    *size, num_channels = shape
    keys = jax.random.split(key, 3)
    conv1 = Convolution(keys[0], (size[0], size[1]), num_channels, num_filters, stride=1)
    conv2 = Convolution(keys[1], (size[0], size[1]), num_filters, num_filters, stride=2)
    return Encoder(conv1, conv2, Linear(keys[2], conv2.num_outputs, num_features, RELU_GAIN))


class LayerNorm(eqx.Module):
    """y = g (x - mean) / std + c, over the last axis; in float32 between."""

    gain: Float[Array, " Z"]
    bias: Float[Array, " Z"]

    def __call__(self, x: Float[Array, "... Z"]) -> Float[Array, "... Z"]:
        exact = x.astype(jnp.float32)
        apart = exact - exact.mean(axis=-1, keepdims=True)
        unit = apart * lax.rsqrt((apart**2).mean(axis=-1, keepdims=True) + 1e-5)
        return (unit * self.gain + self.bias).astype(x.dtype)


def init_norm(size: int) -> LayerNorm:
    return LayerNorm(jnp.ones(size), jnp.zeros(size))
