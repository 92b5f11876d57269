"""Windows of random frames and actions, for tests that need some window and not a certain one."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array

from ndigo.types import Window


@partial(jax.jit, static_argnames=("T", "streams", "shape", "num_actions", "state_size", "num_objects", "num_cells"))
def random_window(
    key: Array,
    *,
    T: int,
    streams: tuple[int, ...] = (),
    shape: tuple[int, int, int] = (3, 3, 2),
    num_actions: int = 3,
    state_size: int = 4,
    num_objects: int = 1,
    num_cells: int = 6,
    start: int = 0,
) -> Window:
    """Channel 0 is binary, the others one-hot or empty; `mu_t` is uniform."""
    keys = jax.random.split(key, 7)
    V, _, C = shape
    walls = jax.random.bernoulli(keys[0], 0.5, (T + 1, *streams, V * V, 1))
    where = jax.random.randint(keys[1], (T + 1, *streams, C - 1), 0, V * V + 1)
    objects = jnp.arange(V * V)[:, None] == where[..., None, :]
    actions = jax.random.randint(keys[2], (T + 2, *streams), 0, num_actions)
    return Window(
        o_t=jnp.concatenate([walls, objects], axis=-1).astype(jnp.uint8).reshape(T + 1, *streams, *shape),
        a_tm1=actions[:-1],
        a_t=actions[1:-1],
        mu_t=jnp.full((T, *streams), 1 / num_actions),
        belief=0.5 * jax.random.normal(keys[3], (*streams, state_size)),
        agent_state=0.5 * jax.random.normal(keys[4], (*streams, state_size)),
        start=jnp.full(streams, start, jnp.int32),
        cells=jax.random.randint(keys[5], (T + 1, *streams, num_objects), 0, num_cells),
        r_tc=jax.random.normal(keys[6], (T, *streams, C)),
    )
