"""Layers: linear, 3x3 convolution as a matrix product, MLP, GRU, and the recurrent core of both networks.

Every layer acts on the last axis and takes any leading axes, so one stream [T, ...] and a batch
[T, B, ...] are the same code. Written by hand because `vmap` over seeds turns library convolutions into
grouped ones, which crawl, and because the recurrent unroll is where the time goes.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int, UInt8


class Linear(eqx.Module):
    """y = x W + b, with W drawn from N(0, gain^2 / inputs)."""

    weight: Float[Array, "I O"]
    bias: Float[Array, " O"]

    def __init__(self, key: Array, num_inputs: int, num_outputs: int, gain: float = 1.0):
        self.weight = jax.random.normal(key, (num_inputs, num_outputs)) * (gain / num_inputs**0.5)
        self.bias = jnp.zeros(num_outputs)

    def __call__(self, x: Float[Array, "... I"]) -> Float[Array, "... O"]:
        return x @ self.weight + self.bias


RELU_GAIN = 2**0.5  # keeps the variance through a ReLU
SMALL_GAIN = 0.1  # output layers whose first answers should be near zero


class MLP(eqx.Module):
    """One hidden layer with a ReLU."""

    hidden: Linear
    output: Linear

    def __init__(self, key: Array, num_inputs: int, num_hidden: int, num_outputs: int, gain: float = SMALL_GAIN):
        key_hidden, key_output = jax.random.split(key)
        self.hidden = Linear(key_hidden, num_inputs, num_hidden, RELU_GAIN)
        self.output = Linear(key_output, num_hidden, num_outputs, gain)

    def __call__(self, x: Float[Array, "... I"]) -> Float[Array, "... O"]:
        return self.output(jax.nn.relu(self.hidden(x)))


def patches(x: Float[Array, "... V V C"], stride: int) -> Float[Array, "... W W P"]:
    """The 3x3 neighbourhoods of a zero-padded image, so that a convolution is `patches(x) @ W`."""
    V = x.shape[-3]
    padded = jnp.pad(x, [(0, 0)] * (x.ndim - 3) + [(1, 1), (1, 1), (0, 0)])
    shifted = [padded[..., i : i + V : stride, j : j + V : stride, :] for i in range(3) for j in range(3)]
    return jnp.concatenate(shifted, axis=-1)


class Encoder(eqx.Module):
    """z_t = CNN(o_t): 16 3x3 filters, 16 3x3 filters with stride 2, a dense layer; all ReLU (paper)."""

    conv1: Linear
    conv2: Linear
    dense: Linear

    def __init__(self, key: Array, shape: tuple[int, int, int], num_features: int, num_filters: int = 16):
        V, _, C = shape
        keys = jax.random.split(key, 3)
        self.conv1 = Linear(keys[0], 9 * C, num_filters, RELU_GAIN)
        self.conv2 = Linear(keys[1], 9 * num_filters, num_filters, RELU_GAIN)
        self.dense = Linear(keys[2], ((V + 1) // 2) ** 2 * num_filters, num_features, RELU_GAIN)

    def __call__(self, o_t: UInt8[Array, "... V V C"]) -> Float[Array, "... Z"]:
        x = jax.nn.relu(self.conv1(patches(o_t.astype(self.dense.weight.dtype), stride=1)))
        x = jax.nn.relu(self.conv2(patches(x, stride=2)))
        return jax.nn.relu(self.dense(x.reshape(*x.shape[:-3], -1)))


class GRU(eqx.Module):
    """A gated recurrent unit; the input's share of the gates is computed by the caller.

    r, u = sigmoid(x_r + h W_r), sigmoid(x_u + h W_u)
    n    = tanh(x_n + r * (h W_n))
    h'   = u * h + (1 - u) * n
    """

    weight: Float[Array, "D 3*D"]

    def __init__(self, key: Array, size: int):
        blocks = [jax.nn.initializers.orthogonal()(k, (size, size)) for k in jax.random.split(key, 3)]
        self.weight = jnp.concatenate(blocks, axis=1)

    def step(self, x: Float[Array, "... 3*D"], h: Float[Array, "... D"]) -> Float[Array, "... D"]:
        _, u, n, _ = _gates(x, h @ self.weight)
        return u * h + (1 - u) * n

    def unroll(self, x_t: Float[Array, "T ... 3*D"], h_0: Float[Array, "... D"]) -> Float[Array, "T ... D"]:
        """h after each input, starting from the state `h_0` before the first."""
        return gru_unroll(x_t, self.weight, h_0)


def _gates(x: Array, hw: Array) -> tuple[Array, Array, Array, Array]:
    x_r, x_u, x_n = jnp.split(x, 3, axis=-1)
    h_r, h_u, h_n = jnp.split(hw, 3, axis=-1)
    r, u = jax.nn.sigmoid(x_r + h_r), jax.nn.sigmoid(x_u + h_u)
    return r, u, jnp.tanh(x_n + r * h_n), h_n


SCAN_UNROLL = 4  # loop bodies per iteration: fewer, larger launches


@jax.custom_vjp
def gru_unroll(x_t: Array, weight: Array, h_0: Array) -> Array:
    """The GRU over the first axis of `x_t`, with a gradient of our own.

    Backward, every gate is recomputed in one product over all steps, and the weight's gradient is one
    product after the loop; only dh, D numbers a stream, runs through time. Automatic differentiation
    would add a [D, 3D] gradient at every step and keep every gate.
    """

    def body(h, x):
        _, u, n, _ = _gates(x, h @ weight)
        h = u * h + (1 - u) * n
        return h, h

    return lax.scan(body, h_0, x_t, unroll=SCAN_UNROLL)[1]


def _gru_forward(x_t, weight, h_0):
    h_t = gru_unroll(x_t, weight, h_0)
    return h_t, (x_t, weight, h_0, h_t)


def _gru_backward(saved, dh_t):
    x_t, weight, h_0, h_t = saved
    h_tm1 = jnp.concatenate([h_0[None], h_t[:-1]])
    r, u, n, h_n = _gates(x_t, h_tm1 @ weight)
    # What each pre-activation gets for one unit of dh.
    per_n = (1 - u) * (1 - n * n)
    per_u = (h_tm1 - n) * u * (1 - u)
    per_r = per_n * h_n * r * (1 - r)
    per_hw = jnp.concatenate([per_r, per_u, per_n * r], axis=-1)

    def body(dh, inputs):
        dh_out, u, per_hw = inputs
        dh = dh + dh_out
        return dh * u + (jnp.concatenate([dh] * 3, axis=-1) * per_hw) @ weight.T, dh

    dh_0, dh = lax.scan(body, jnp.zeros_like(h_0), (dh_t, u, per_hw), reverse=True, unroll=SCAN_UNROLL)
    dhw = jnp.concatenate([dh] * 3, axis=-1) * per_hw
    dx = jnp.concatenate([dhw[..., : -dh.shape[-1]], dh * per_n], axis=-1)
    dweight = h_tm1.reshape(-1, h_tm1.shape[-1]).T @ dhw.reshape(-1, dhw.shape[-1])
    return dx, dweight, dh_0


gru_unroll.defvjp(_gru_forward, _gru_backward)


class Core(eqx.Module):
    """Observations and actions into a recurrent state: h_t = GRU(CNN(o_t), a_{t-1}, h_{t-1}).

    The world model and the Q-network each own one; they share no weights.
    """

    encoder: Encoder
    from_features: Linear
    from_action: Float[Array, "A 3*D"]
    gru: GRU

    def __init__(self, key: Array, shape: tuple[int, int, int], num_actions: int, num_features: int, size: int):
        keys = jax.random.split(key, 4)
        self.encoder = Encoder(keys[0], shape, num_features)
        self.from_features = Linear(keys[1], num_features, 3 * size)
        self.from_action = jax.random.normal(keys[2], (num_actions, 3 * size)) * 0.5
        self.gru = GRU(keys[3], size)

    @property
    def size(self) -> int:
        return self.gru.weight.shape[0]

    def inputs(self, z_t: Float[Array, "... Z"], a_tm1: Int[Array, "..."]) -> Float[Array, "... 3*D"]:
        """The gates' input share, hoisted out of the recurrence: one product for all steps."""
        num_actions = self.from_action.shape[0]
        return self.from_features(z_t) + jax.nn.one_hot(a_tm1, num_actions, dtype=z_t.dtype) @ self.from_action

    def step(self, o_t: Array, a_tm1: Array, h: Float[Array, "... D"]) -> Float[Array, "... D"]:
        """The state after one more frame."""
        return self.gru.step(self.inputs(self.encoder(o_t), a_tm1), h)

    def unroll(self, z_t: Float[Array, "T ... Z"], a_tm1: Int[Array, "T ..."], h_0: Float[Array, "... D"]) -> Array:
        """The states after each frame of a window, given the features of its frames."""
        return self.gru.unroll(self.inputs(z_t, a_tm1), h_0)
