"""The least a step of Experiment 1 can cost on this machine: its random words and its bytes.

A step needs one word for the action and one for the noise. It reads and writes the state (agent and
two objects, four bytes each), reads the action, writes the observation (75 bytes) and reads it once.
Both rates are measured here, at the working set of that many copies: words from JAX's own generator
in a scan, bytes from copying an array of the observations' size. Look-ups in the map's tables (9 kB,
in the nearest cache) and all arithmetic count as nothing.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

WORDS = 2
OBSERVATION = 75
STATE = 3 * 4
BYTES = 2 * STATE + 4 + 2 * OBSERVATION
STEPS = 400


def floor_of(copies: int) -> dict[str, Any]:
    """Counted words and bytes of one step, and the seconds they take at this machine's rates."""
    per_word = seconds_per_word(copies)
    per_byte = seconds_per_byte(copies)
    return {"words": WORDS, "bytes": BYTES, "seconds_per_step": WORDS * per_word + BYTES * per_byte}


def seconds_per_word(copies: int) -> float:
    @jax.jit
    def draw(key: jax.Array) -> jax.Array:
        def body(total: jax.Array, key: jax.Array) -> tuple[jax.Array, None]:
            return total ^ jax.random.bits(key, (copies, WORDS)), None

        return jax.lax.scan(body, jnp.zeros((copies, WORDS), jnp.uint32), jax.random.split(key, STEPS))[0]

    key = jax.random.key(0)
    return median_seconds(lambda: draw(key).block_until_ready()) / (copies * WORDS * STEPS)


def seconds_per_byte(copies: int) -> float:
    source = np.ones(copies * OBSERVATION, np.uint8)
    target = np.empty_like(source)

    def copy_often() -> None:
        for _ in range(STEPS):
            np.copyto(target, source)

    return median_seconds(copy_often) / (2 * source.nbytes * STEPS)  # each byte is read and written


def median_seconds(act: Callable[[], Any], repeats: int = 7) -> float:
    act()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        act()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)
