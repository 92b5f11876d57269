"""Layers: linear, MLP, GRU, and the recurrent core that the world model and the Q-network are built on.

Every layer acts on the last axis and takes any leading axes: one stream [T, ...] and a batch [T, B, ...] are the same
code. Activations have the weights' type, so `lower(params, "bfloat16")` is all it takes to compute in bfloat16; states
and losses stay float32.

A GRU calls the function in its field `by`: the plain `unroll` below, or its fast twin. `training/twins.py` sets it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

if TYPE_CHECKING:
    from ndigo.frames import Frame

RELU_GAIN = 2**0.5  # keeps the variance through a ReLU
SMALL_GAIN = 0.1  # output layers whose first answers should be near zero

Tree = TypeVar("Tree")


def lower(params: Tree, dtype: str) -> Tree:
    """The parameters in the type to compute in. The learner keeps and updates its own in float32."""
    return jax.tree.map(lambda x: x.astype(dtype) if jnp.issubdtype(x.dtype, jnp.floating) else x, params)


def project(x: Array, weight: Array) -> Array:
    """x W: factors in W's type, summed in float32."""
    return jnp.matmul(x.astype(weight.dtype), weight, preferred_element_type=jnp.float32)


def take(x: Array, index: Array) -> Array:
    """x[..., index], as a masked sum: a gather's gradient would be a scatter."""
    return jnp.where(index[..., None] == jnp.arange(x.shape[-1]), x, 0.0).sum(axis=-1)


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
        """The same with a float32 result, for layers whose outputs are values or logits."""
        return project(x, self.weight) + self.bias


class MLP(eqx.Module):
    """One hidden layer with a ReLU, and float32 outputs."""

    hidden: Linear
    output: Linear

    def __init__(self, key: Array, num_inputs: int, num_hidden: int, num_outputs: int, gain: float = SMALL_GAIN):
        key_hidden, key_output = jax.random.split(key)
        self.hidden = Linear(key_hidden, num_inputs, num_hidden, RELU_GAIN)
        self.output = Linear(key_output, num_hidden, num_outputs, gain)

    def __call__(self, x: Float[Array, "... I"]) -> Float[Array, "... O"]:
        return self.output.in_float32(jax.nn.relu(self.hidden(x)))


def by_gate(x: Float[Array, "... 3*D"]) -> tuple[Array, ...]:
    """Its parts for r, u and n, [..., D] each."""
    return tuple(jnp.split(x, 3, axis=-1))


def gates(x: Sequence[Array], hw: Sequence[Array]) -> tuple[Array, Array, Array]:
    """r, u and n of `gru_step`, from the input's part `x` and the state's part `hw` of each pre-activation."""
    x_r, x_u, x_n = (each.astype(jnp.float32) for each in x)
    h_r, h_u, h_n = hw
    r, u = jax.nn.sigmoid(x_r + h_r), jax.nn.sigmoid(x_u + h_u)
    return r, u, jnp.tanh(x_n + r * h_n)


def gru_step(weight: Float[Array, "D 3*D"], x: Float[Array, "... 3*D"], h: Float[Array, "... D"]) -> Array:
    """The state after one more input x, which is already projected onto the three gates.

    r, u = sigmoid(x_r + h W_r), sigmoid(x_u + h W_u)
    n    = tanh(x_n + r * (h W_n))
    h'   = u * h + (1 - u) * n
    """
    _, u, n = gates(by_gate(x), by_gate(project(h, weight)))
    return u * h + (1 - u) * n


def unroll(
    weight: Float[Array, "D 3*D"],
    x_t: Float[Array, "T ... 3*D"],
    h_0: Float[Array, "... D"],
    is_first: Bool[Array, "T ..."] | None = None,
) -> Array:
    """The state after each input, [T, ..., D]. It starts at `h_0`, and again at 0 before each input that `is_first`."""

    def body(h: Array, step: Any) -> tuple[Array, Array]:
        x, begins = step
        h = gru_step(weight, x, h if begins is None else jnp.where(begins[..., None], 0.0, h))
        return h, h

    return lax.scan(body, h_0, (x_t, is_first))[1]


class GRU(eqx.Module):
    """A gated recurrent unit whose inputs are already projected onto the gates."""

    weight: Float[Array, "D 3*D"]
    by: Callable[..., Array] = eqx.field(static=True, default=unroll)

    def unroll(
        self, x_t: Float[Array, "T ... 3*D"], h_0: Float[Array, "... D"], is_first: Bool[Array, "T ..."] | None = None
    ) -> Float[Array, "T ... D"]:
        return self.by(self.weight, x_t, h_0, is_first)


def init_gru(key: Array, size: int) -> GRU:
    return GRU(jnp.concatenate(list(jax.vmap(orthogonal)(jax.random.normal(key, (3, size, size)))), axis=1))


def orthogonal(x: Float[Array, "N N"]) -> Float[Array, "N N"]:
    """The rows of x made orthonormal by Gram and Schmidt's method, each projected twice against float32's error.

    For a standard normal `x` the result is uniform over the orthogonal matrices. Not `jnp.linalg.qr`: on a CPU each
    call into LAPACK holds a thread while it waits for another, and several at once can deadlock.
    """

    def orthonormalise(n: Int[Array, ""], basis: Float[Array, "N N"]) -> Float[Array, "N N"]:
        row, is_done = basis[n], jnp.arange(len(basis)) < n
        for _ in range(2):
            row = row - jnp.where(is_done, basis @ row, 0) @ basis
        return basis.at[n].set(row / jnp.linalg.norm(row))

    return lax.fori_loop(0, len(x), orthonormalise, x)


class Core(eqx.Module):
    """Frames and actions into a recurrent state: z_t = encoder(o_t), h_t = GRU(z_t, a_{t-1}, h_{t-1}).

    The world model and the Q-network each own one; they share no weights.
    """

    encoder: Any  # a `frames.frame.Encoder`, as the world's frame makes it
    from_features: Linear
    from_action: Float[Array, "A 3*D"]
    gru: GRU

    def __init__(self, key: Array, frame: Frame, num_actions: int, num_features: int, size: int, num_filters: int):
        keys = jax.random.split(key, 4)
        self.encoder = frame.init_encoder(keys[0], num_features, num_filters)
        self.from_features = Linear(keys[1], self.encoder.num_features, 3 * size)
        self.from_action = jax.random.normal(keys[2], (num_actions, 3 * size)) * 0.5
        self.gru = init_gru(keys[3], size)

    @property
    def size(self) -> int:
        return self.gru.weight.shape[0]

    @property
    def by_action(self) -> Float[Array, "A 3*D"]:
        """Each action's part of the gates' inputs. The bias is added here, where its gradient is a sum of few rows."""
        return self.from_action + self.from_features.bias

    def inputs(self, z_t: Float[Array, "... Z"], a_tm1: Int[Array, "..."]) -> Float[Array, "... 3*D"]:
        """What frames and actions contribute to the gates: one product for all steps, outside of the recurrence."""
        one_hot = jax.nn.one_hot(a_tm1, len(self.from_action), dtype=z_t.dtype)
        return z_t @ self.from_features.weight + one_hot @ self.by_action

    def step(self, o_t: Array, a_tm1: Array, h: Float[Array, "... D"]) -> Float[Array, "... D"]:
        """The state after one more frame."""
        return gru_step(self.gru.weight, self.inputs(self.encoder(o_t), a_tm1), h)

    def unroll(
        self,
        z_t: Float[Array, "T ... Z"],
        a_tm1: Int[Array, "T ..."],
        h_0: Float[Array, "... D"],
        is_first: Bool[Array, "T ..."] | None = None,
    ) -> Array:
        """The state after each frame of a window, given the frames' features."""
        return self.gru.unroll(self.inputs(z_t, a_tm1), h_0, is_first)
