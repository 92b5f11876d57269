"""A predictor of one's own: the belief is moved by a matrix of each action, and read by another.

h_0 = b_t,   h_k = h_{k-1} M(a_{t+k-1}),   logits of o_{t+k} = h_k W
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax

from ndigo.model import PREDICTORS


class Linear(eqx.Module):
    by_action: jax.Array  # [A, D, D]
    decoder: jax.Array  # [D, outputs]

    def ahead(self, b_t, a_kt, read, targets_kt):
        def body(h, a_t):
            h = jnp.einsum("...d,...de->...e", h, self.by_action[a_t])
            return h, h

        h_kt = lax.scan(body, b_t.astype(self.decoder.dtype), a_kt)[1]
        return read((h_kt @ self.decoder).astype(jnp.float32), targets_kt)


def init_linear(key, D, A, K, num_hidden, num_outputs):
    keys = jax.random.split(key)
    by_action = jnp.eye(D) + 0.1 * jax.random.normal(keys[0], (A, D, D))
    return Linear(by_action, 0.1 * jax.random.normal(keys[1], (D, num_outputs)))


PREDICTORS["linear"] = init_linear
