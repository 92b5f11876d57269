"""Windows of random frames and actions, for tests that need some window and not a certain one."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from ndigo.types import Window


def random_window(
    seed: int,
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
    """Channel 0 is binary, the others one-hot or empty; `mu_t` is uniform.

    NumPy draws it: by `jax.random` it is a program for every new shape.
    """
    rng = np.random.default_rng(seed)
    V, _, C = shape

    def integers(most: int, *sizes: int) -> np.ndarray:
        return rng.integers(most, size=sizes, dtype=np.int32)

    def normal(*sizes: int) -> np.ndarray:
        return rng.standard_normal(sizes, np.float32)

    walls = integers(2, T + 1, *streams, V * V, 1)
    objects = np.arange(V * V)[:, None] == integers(V * V + 1, T + 1, *streams, C - 1)[..., None, :]
    actions = integers(num_actions, T + 2, *streams)
    fields = {
        "o_t": np.concatenate([walls, objects], axis=-1).astype(np.uint8).reshape(T + 1, *streams, *shape),
        "a_tm1": actions[:-1],
        "a_t": actions[1:-1],
        "mu_t": np.full((T, *streams), 1 / num_actions, np.float32),
        "belief": 0.5 * normal(*streams, state_size),
        "agent_state": 0.5 * normal(*streams, state_size),
        "start": np.full(streams, start, np.int32),
        "cells": integers(num_cells, T + 1, *streams, num_objects),
        "r_tc": normal(T, *streams, C),
    }
    return Window(**{name: jnp.asarray(x) for name, x in fields.items()})
