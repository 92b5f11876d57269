"""A seed split into equal parts over the axis `data`: each acts, remembers and learns with its share of the windows.

All parts hold the same networks. One all-reduce per update makes their gradients the whole batch's,

    g = sum_p w_p g_p / sum_p w_p        w_p: how much part p took its own mean over

Where episodes end within windows a small one before it counts the batch's pairs and steps
(`training/model_and_reward.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array

DATA = "data"


@dataclass(frozen=True)
class Parts:
    """How many there are; of one part, everything is its own and nothing is sent."""

    num: int = 1

    def own(self, x: Any) -> Any:
        """This part's share of what leads with the actor: [E, ...] -> [E / num, ...]."""
        if self.num == 1:
            return x
        size = len(x) // self.num
        return lax.dynamic_slice_in_dim(x, size * lax.axis_index(DATA), size)

    def draw_with(self, key: Array) -> Array:
        """A key of this part's own, so that no two draw the same rows of their replays."""
        return key if self.num == 1 else jax.random.fold_in(key, lax.axis_index(DATA))

    def mean(self, tree: Any, weights: Any) -> Any:
        """The mean of all parts' trees, as `weights` counts this one's; weights are a prefix of the tree."""
        weights = jax.tree.map(jnp.float32, weights)
        weighted = jax.tree.map(lambda w, x: jax.tree.map(lambda leaf: w * leaf, x), weights, tree)
        flat, unravel = ravel_pytree((weighted, weights))
        total, over = unravel(lax.psum(flat, DATA))  # in one message
        return jax.tree.map(lambda w, x: jax.tree.map(lambda leaf: leaf / jnp.maximum(w, 1), x), over, total)


ALONE = Parts()
