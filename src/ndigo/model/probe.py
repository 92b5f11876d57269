"""The probe: a glass box, which reads off the belief where each object is.

    L_discovery = -ln p(x_t | b_t),   one categorical over all cells of the map per object (paper)

The belief enters behind a stop-gradient: the probe measures what the belief knows and never changes it.
"""

from __future__ import annotations

import equinox as eqx
import jax
from jax import lax
from jaxtyping import Array, Float, Int

from ndigo.networks import MLP, take


class Probe(eqx.Module):
    mlp: MLP
    num_objects: int = eqx.field(static=True)

    def __init__(self, key: Array, *, belief_size: int, num_objects: int, num_cells: int, num_hidden: int):
        self.mlp = MLP(key, belief_size, num_hidden, num_objects * num_cells)
        self.num_objects = num_objects

    def logits(self, b_t: Float[Array, "... D"]) -> Float[Array, "... N cells"]:
        out = self.mlp(lax.stop_gradient(b_t))
        return out.reshape(*b_t.shape[:-1], self.num_objects, -1)

    def locate(self, b_t: Float[Array, "... D"]) -> Float[Array, "... N cells"]:
        """The probability of each cell of the map, for each object."""
        return jax.nn.softmax(self.logits(b_t))


def discovery_loss(probe: Probe, b_t: Float[Array, "... D"], cells: Int[Array, "... N"]) -> Float[Array, "... N"]:
    """-ln p(true cell), in nats, for each object."""
    return -take(jax.nn.log_softmax(probe.logits(b_t)), cells)
