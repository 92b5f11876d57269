"""Three ways to predict o_{t+k} from b_t and the actions a_t ... a_{t+k-1}, for k = 1..K.

    mlp         K separate MLPs on (b_t, a_t .. a_{t+k-1})                                       (paper)
    action_gru  a GRU reads the actions from zero; one MLP on (b_t, its state) for every k       (paper, appendix)
    open_loop   the action GRU starts from b_t; one decoder for every k                          (ours)

Paper: Algorithm 1 hands predictor k the actions from a_{t-1} on. Ours: a_t .. a_{t+k-1}, as in its text.

A predictor does not return its logits, which are large: it hands them to a function `read`, and returns what that
makes of them, such as nats.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ndigo.errors import unknown_name
from ndigo.networks import GRU, MLP, RELU_GAIN, SMALL_GAIN, Linear, init_gru

Read = Callable[[Float[Array, "... O"], Any], Any]  # logits, targets -> what is wanted of them


class Predictor(Protocol):
    def predict(self, b_t: Float[Array, "... D"], a_kt: Int[Array, "K ..."], read: Read, targets_kt: Any) -> Any:
        """read(logits, targets_kt), of frames t+1 .. t+K, stacked over k; a_kt[j] is a_{t+j}."""
        ...


class Unrolled(eqx.Module):
    """A GRU reads the actions one by one: `action_gru` and `open_loop`, which differ in where the belief enters."""

    gru: GRU
    from_action: Float[Array, "A 3*D"]
    from_belief: Linear | None  # None: the belief enters as the GRU's first state
    decoder: MLP

    def predict(self, b_t, a_kt, read, targets_kt):
        one_hot = jax.nn.one_hot(a_kt, self.from_action.shape[0], dtype=self.from_action.dtype)
        h_0 = b_t if self.from_belief is None else jnp.zeros_like(b_t)
        return read(self.decode(self.gru.unroll(one_hot @ self.from_action, h_0), b_t), targets_kt)

    def decode(self, h: Float[Array, "... D"], b_t: Float[Array, "... D"]) -> Float[Array, "... O"]:
        """The logits of frame t+k, from b_t and the GRU's state `h` after k actions."""
        hidden = self.decoder.hidden(h)
        if self.from_belief is not None:
            hidden = hidden + self.from_belief(b_t)
        return self.decoder.output.in_float32(jax.nn.relu(hidden))


class Separate(eqx.Module):
    """K MLPs computed as one, `mlp`: the k-th sees the first k actions, which makes the weight block-triangular."""

    from_belief: Float[Array, "D K F"]
    from_actions: Float[Array, "K A K F"]  # action j into predictor k; zero for j >= k
    bias: Float[Array, "K F"]
    output: Float[Array, "K F O"]
    output_bias: Float[Array, "K O"]

    def predict(self, b_t, a_kt, read, targets_kt):
        K, num_actions = len(a_kt), self.from_actions.shape[1]
        if len(self.from_actions) < K:
            raise ValueError(f"{K} actions for {len(self.from_actions)} separate predictors")
        is_past = jnp.tri(K).T[:, None, :, None]  # action j counts for predictor k > j
        one_hot = jax.nn.one_hot(a_kt, num_actions, dtype=self.bias.dtype)
        seen = jnp.einsum("j...a,jakf->k...f", one_hot, self.from_actions[:K, :, :K] * is_past)
        hidden = jnp.einsum("...d,dkf->k...f", b_t.astype(self.bias.dtype), self.from_belief[:, :K]) + seen
        streams = tuple(range(1, hidden.ndim - 1))
        hidden = jax.nn.relu(hidden + jnp.expand_dims(self.bias[:K], streams))
        logits = jnp.einsum("k...f,kfo->k...o", hidden, self.output[:K], preferred_element_type=jnp.float32)
        return read(logits + jnp.expand_dims(self.output_bias[:K], streams), targets_kt)


def init_mlp(key: Array, D: int, A: int, K: int, num_hidden: int, num_outputs: int) -> Separate:
    keys = jax.random.split(key, 3)
    scale = (2 / (D + A)) ** 0.5
    return Separate(
        from_belief=jax.random.normal(keys[0], (D, K, num_hidden)) * scale,
        from_actions=jax.random.normal(keys[1], (K, A, K, num_hidden)) * scale,
        bias=jnp.zeros((K, num_hidden)),
        output=jax.random.normal(keys[2], (K, num_hidden, num_outputs)) * (SMALL_GAIN / num_hidden**0.5),
        output_bias=jnp.zeros((K, num_outputs)),
    )


def init_open_loop(
    key: Array, D: int, A: int, K: int, num_hidden: int, num_outputs: int, from_belief: Linear | None = None
) -> Unrolled:
    keys = jax.random.split(key, 3)
    return Unrolled(
        gru=init_gru(keys[0], D),
        from_action=jax.random.normal(keys[1], (A, 3 * D)) * 0.5,
        from_belief=from_belief,
        decoder=MLP(keys[2], D, num_hidden, num_outputs),
    )


def init_action_gru(key: Array, D: int, A: int, K: int, num_hidden: int, num_outputs: int) -> Unrolled:
    # Paper: a_{t,k} = GRU(a_{t+k}, a_{t,k-1}). Ours: it reads a_t .. a_{t+k-1}, because a_{t+k} comes after o_{t+k}.
    key_unrolled, key_belief = jax.random.split(key)
    from_belief = Linear(key_belief, D, num_hidden, RELU_GAIN)
    return init_open_loop(key_unrolled, D, A, K, num_hidden, num_outputs, from_belief)


PREDICTORS = {"mlp": init_mlp, "action_gru": init_action_gru, "open_loop": init_open_loop}


def init_predictor(name: str, key: Array, **sizes: int) -> Predictor:
    if name not in PREDICTORS:
        raise unknown_name("predictor", name, PREDICTORS)
    return PREDICTORS[name](key, **sizes)
