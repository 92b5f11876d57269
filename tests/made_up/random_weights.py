"""Networks whose weights NumPy draws: to draw them the usual way is a large program for every new shape."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

Network = TypeVar("Network")


def random_weights(init: Callable[[Any], Network], seed: int = 0) -> Network:
    """What `init(key)` makes, with other numbers: normal, of variance 1 / inputs; biases of 0.1 and not of 0."""
    rng = np.random.default_rng(seed)

    def draw(x: jax.ShapeDtypeStruct) -> jax.Array:
        scale = 0.1 if x.ndim < 2 else 1 / math.sqrt(math.prod(x.shape[:-1]))
        return jnp.asarray(scale * rng.normal(size=x.shape), x.dtype)

    return jax.tree.map(draw, jax.eval_shape(init, jax.random.key(0)))
