"""Layers: linear, 3x3 convolution as a matrix product, MLP, GRU, and the recurrent core of both networks.

Every layer acts on the last axis and takes any leading axes, so one stream [T, ...] and a batch
[T, B, ...] are the same code. Activations have the weights' type: `lower(params, "bfloat16")` is all it
takes to compute in bfloat16 (states and losses stay float32). Written by hand because `vmap` over seeds
turns library convolutions into grouped ones, which crawl.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int, UInt8

from ndigo.gru import gru_step, gru_unroll, project


class Linear(eqx.Module):
    """y = x W + b, with W drawn from N(0, gain^2 / inputs)."""

    weight: Float[Array, "I O"]
    bias: Float[Array, " O"]

    def __init__(self, key: Array, num_inputs: int, num_outputs: int, gain: float = 1.0):
        self.weight = jax.random.normal(key, (num_inputs, num_outputs)) * (gain / num_inputs**0.5)
        self.bias = jnp.zeros(num_outputs)

    def __call__(self, x: Float[Array, "... I"]) -> Float[Array, "... O"]:
        return x.astype(self.weight.dtype) @ self.weight + self.bias

    def in_float32(self, x: Float[Array, "... I"]) -> Float[Array, "... O"]:
        """The same with a float32 answer: for layers whose outputs are values or logits."""
        product = jnp.matmul(x.astype(self.weight.dtype), self.weight, preferred_element_type=jnp.float32)
        return product + self.bias


RELU_GAIN = 2**0.5  # keeps the variance through a ReLU
NUM_FILTERS = 16  # of each layer of the CNN (paper)
SMALL_VIEW = 7  # up to here a convolution is one dense product
SMALL_GAIN = 0.1  # output layers whose first answers should be near zero


def lower(params: Any, dtype: str) -> Any:
    """The parameters in a smaller type for computing; the float32 ones stay the learner's."""
    return jax.tree.map(lambda x: x.astype(dtype) if jnp.issubdtype(x.dtype, jnp.floating) else x, params)


class MLP(eqx.Module):
    """One hidden layer with a ReLU; float32 answers."""

    hidden: Linear
    output: Linear

    def __init__(self, key: Array, num_inputs: int, num_hidden: int, num_outputs: int, gain: float = SMALL_GAIN):
        key_hidden, key_output = jax.random.split(key)
        self.hidden = Linear(key_hidden, num_inputs, num_hidden, RELU_GAIN)
        self.output = Linear(key_output, num_hidden, num_outputs, gain)

    def __call__(self, x: Float[Array, "... I"]) -> Float[Array, "... O"]:
        return self.output.in_float32(jax.nn.relu(self.hidden(x)))


class Convolution(eqx.Module):
    """A 3x3 convolution with zero padding: patches times its kernel, or a dense layer, which a test holds equal.

    A small view is multiplied, flat, with the kernel spread over all positions: V*V / 9 times the arithmetic of
    patches, but a quarter of the bytes, and bytes bind. A large view is cut into patches.
    """

    weight: Float[Array, "9*C F"]  # taps in reading order, then input channels
    bias: Float[Array, " F"]
    view: int = eqx.field(static=True)
    stride: int = eqx.field(static=True)

    def __init__(self, key: Array, view: int, num_channels: int, num_filters: int, stride: int):
        linear = Linear(key, 9 * num_channels, num_filters, RELU_GAIN)
        self.weight, self.bias = linear.weight, linear.bias
        self.view, self.stride = view, stride

    @property
    def num_outputs(self) -> int:
        return ((self.view - 1) // self.stride + 1) ** 2 * self.bias.shape[0]

    def __call__(self, x: Float[Array, "... V*V*C"]) -> Float[Array, "... W*W*F"]:
        """By patches."""
        lead, V, stride = x.shape[:-1], self.view, self.stride
        image = x.reshape(*lead, V, V, -1)
        padded = jnp.pad(image, [(0, 0)] * len(lead) + [(1, 1), (1, 1), (0, 0)])
        shifted = [padded[..., i : i + V : stride, j : j + V : stride, :] for i in range(3) for j in range(3)]
        return (jnp.concatenate(shifted, axis=-1) @ self.weight + self.bias).reshape(*lead, -1)

    def spread(self) -> tuple[Float[Array, "V*V*C W*W*F"], Float[Array, " W*W*F"]]:
        """The kernel over all positions: weight and bias of a dense layer."""
        taps = jnp.asarray(tap_table(self.view, self.stride), self.weight.dtype)
        spread = jnp.einsum("xpd,dcf->xcpf", taps, self.weight.reshape(9, -1, self.weight.shape[-1]))
        spread = spread.reshape(self.view**2 * self.weight.shape[0] // 9, -1)
        return spread, jnp.tile(self.bias, taps.shape[1])


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


class Encoder(eqx.Module):
    """z_t = CNN(o_t): 3x3 filters, 3x3 filters with stride 2, a dense layer; all ReLU (paper)."""

    conv1: Convolution
    conv2: Convolution
    dense: Linear

    def __init__(self, key: Array, shape: tuple[int, int, int], num_features: int, num_filters: int = NUM_FILTERS):
        V, _, C = shape
        keys = jax.random.split(key, 3)
        self.conv1 = Convolution(keys[0], V, C, num_filters, stride=1)
        self.conv2 = Convolution(keys[1], V, num_filters, num_filters, stride=2)
        self.dense = Linear(keys[2], self.conv2.num_outputs, num_features, RELU_GAIN)

    def __call__(self, o_t: UInt8[Array, "... V V C"]) -> Float[Array, "... Z"]:
        spread = self.spread()
        if spread is not self:
            return spread(o_t)
        x = o_t.reshape(*o_t.shape[:-3], -1).astype(self.dense.weight.dtype)
        return jax.nn.relu(self.dense(jax.nn.relu(self.conv2(jax.nn.relu(self.conv1(x))))))

    def spread(self) -> Encoder | SpreadEncoder:
        """The same encoder as dense layers, where the view is small; a loop does that before its first step."""
        if self.conv1.view > SMALL_VIEW:
            return self
        *first, last = self.conv1.spread(), self.conv2.spread(), (self.dense.weight, self.dense.bias)
        return SpreadEncoder(weights=(*(_joined(*layer, passes_on=True) for layer in first), _joined(*last)))


class SpreadEncoder(eqx.Module):
    """An encoder whose convolutions are dense layers, and whose biases are a row of their weights.

    That row meets a 1 that goes with the frame from layer to layer. So a bias has its gradient from its layer's one
    product, where a sum over all frames would be a pass of its own.
    """

    weights: tuple[Float[Array, "I+1+spare O+1+spare"], ...]

    def __call__(self, o_t: UInt8[Array, "... V V C"]) -> Float[Array, "... Z"]:
        x, weight = o_t.reshape(*o_t.shape[:-3], -1), self.weights[0]
        before = [(0, 0)] * (x.ndim - 1)
        x = jnp.pad(x, [*before, (0, 1)], constant_values=1)
        x = jnp.pad(x, [*before, (0, len(weight) - x.shape[-1])]).astype(weight.dtype)
        for weight in self.weights:
            x = jax.nn.relu(x @ weight)
        return x


def _joined(weight: Float[Array, "I O"], bias: Float[Array, " O"], passes_on: bool = False) -> Float[Array, "I+ O+"]:
    """Weight and bias as one matrix of (x, 1, empty); its answers are (y, 1, empty) where it passes the 1 on."""
    num_inputs, one = len(weight), jnp.ones((1, 1), weight.dtype)
    joined = jnp.concatenate([weight, bias[None]])
    if passes_on:
        joined = jnp.concatenate([joined, jnp.pad(one, [(num_inputs, 0), (0, 0)])], axis=1)
    # Multiples of 32, or XLA fills the sums up in every product, to cut them among its programs.
    return jnp.pad(joined, [(0, -len(joined) % 32), (0, -joined.shape[1] % 32 if passes_on else 0)])


def orthogonal(x: Float[Array, "N N"]) -> Float[Array, "N N"]:
    """Gram and Schmidt's orthonormal rows, each projected twice (once leaves float32's error behind).

    Of a standard normal `x` it is uniform over the orthogonal matrices. Not `jnp.linalg.qr`: on a CPU its calls
    into LAPACK hold a thread each while they wait for another, and several at once wait for ever.
    """

    def orthonormalise(n: Int[Array, ""], q: Float[Array, "N N"]) -> Float[Array, "N N"]:
        row, is_done = q[n], jnp.arange(len(q)) < n
        for _ in range(2):
            row = row - jnp.where(is_done, q @ row, 0) @ q
        return q.at[n].set(row / jnp.linalg.norm(row))

    return lax.fori_loop(0, len(x), orthonormalise, x)


class GRU(eqx.Module):
    """A gated recurrent unit (`gru`); the input's share of the gates is computed by the caller."""

    weight: Float[Array, "D 3*D"]

    def __init__(self, key: Array, size: int):
        self.weight = jnp.concatenate(list(jax.vmap(orthogonal)(jax.random.normal(key, (3, size, size)))), axis=1)

    def unroll(self, x_t: Float[Array, "T ... 3*D"], h_0: Float[Array, "... D"]) -> Float[Array, "T ... D"]:
        """h after each input, starting from the state `h_0` before the first."""
        D = h_0.shape[-1]
        h_t = gru_unroll(x_t.reshape(len(x_t), -1, 3 * D), self.weight, h_0.reshape(-1, D))
        return h_t.reshape(len(x_t), *h_0.shape)


class Core(eqx.Module):
    """Observations and actions into a recurrent state: h_t = GRU(CNN(o_t), a_{t-1}, h_{t-1}).

    The world model and the Q-network each own one; they share no weights.
    """

    encoder: Encoder
    from_features: Linear
    from_action: Float[Array, "A 3*D"]
    gru: GRU

    def __init__(
        self,
        key: Array,
        shape: tuple[int, int, int],
        num_actions: int,
        num_features: int,
        size: int,
        num_filters: int = NUM_FILTERS,
    ):
        keys = jax.random.split(key, 4)
        self.encoder = Encoder(keys[0], shape, num_features, num_filters)
        self.from_features = Linear(keys[1], num_features, 3 * size)
        self.from_action = jax.random.normal(keys[2], (num_actions, 3 * size)) * 0.5
        self.gru = GRU(keys[3], size)

    @property
    def size(self) -> int:
        return self.gru.weight.shape[0]

    def inputs(self, z_t: Float[Array, "... Z"], a_tm1: Int[Array, "..."]) -> Float[Array, "... 3*D"]:
        """The gates' input share, hoisted out of the recurrence: one product for all steps."""
        # The bias goes with the action, of which there always is one: its gradient is a sum of a few rows.
        by_action = self.from_action + self.from_features.bias
        one_hot = jax.nn.one_hot(a_tm1, len(by_action), dtype=z_t.dtype)
        return z_t @ self.from_features.weight + one_hot @ by_action

    def for_steps(self) -> CoreSteps:
        """The same core for many steps in a loop."""
        return CoreSteps(
            encoder=self.encoder.spread(),
            from_features=self.from_features.weight,
            by_action=(self.from_action + self.from_features.bias).astype(jnp.float32),
            weight=self.gru.weight,
        )

    def step(self, o_t: Array, a_tm1: Array, h: Float[Array, "... D"]) -> Float[Array, "... D"]:
        """The state after one more frame."""
        return self.for_steps().step(o_t, a_tm1, h)

    def unroll(self, z_t: Float[Array, "T ... Z"], a_tm1: Int[Array, "T ..."], h_0: Float[Array, "... D"]) -> Array:
        """The states after each frame of a window, given the features of its frames."""
        return self.gru.unroll(self.inputs(z_t, a_tm1), h_0)


class CoreSteps(eqx.Module):
    """A core whose step is few kernels: on a GPU a small one in a loop takes as long as a large one."""

    encoder: Encoder | SpreadEncoder
    from_features: Float[Array, "Z 3*D"]
    by_action: Float[Array, "A 3*D"]
    weight: Float[Array, "D 3*D"]

    def step(self, o_t: Array, a_tm1: Array, h: Float[Array, "... D"]) -> Float[Array, "... D"]:
        return gru_step(project(self.encoder(o_t), self.from_features) + self.by_action[a_tm1], self.weight, h)
