"""One copy of any world, stepped by the world's own functions.

Slower than `NumpyWorld`, whose face it has, but it needs neither a map nor objects of known kinds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from ndigo.types import Truth
from ndigo.worlds import World


class JaxWorld:
    """A mutable world: `reset_from` and `step_from` move it, `observe` and `truth` look at it.

    Words are uniform 32-bit integers; the two of a reset or a step are its random key.
    """

    num_reset_words = num_step_words = 2

    def __init__(self, world: World) -> None:
        def look(state: Any) -> tuple[Any, Any, Truth | None]:
            return state, world.observe(state), None if world.truth is None else world.truth(state)

        def begin(words: Any) -> tuple[Any, Any, Truth | None]:
            return look(world.reset(_key(words)))

        def move(words: Any, state: Any, a_t: Any) -> tuple[Any, Any, Truth | None]:
            return look(world.step(_key(words), state, a_t))

        self._begin, self._move = jax.jit(begin), jax.jit(move)
        self._seen: tuple[Any, Any, Truth | None] = (None, None, None)

    def reset_from(self, words: Sequence[int]) -> None:
        """Starts an episode."""
        self._seen = self._begin(np.asarray(words, np.uint32))

    def step_from(self, words: Sequence[int], action: int) -> None:
        self._seen = self._move(np.asarray(words, np.uint32), self._seen[0], np.int32(action))

    def observe(self) -> Any:
        """The frame; its arrays are the caller's to keep."""
        return jax.tree.map(np.array, self._seen[1])

    def truth(self) -> Truth | None:
        """Where everything is, in NumPy arrays; None where nobody knows it."""
        return jax.tree.map(np.asarray, self._seen[2])

    def cells(self) -> dict[str, np.ndarray]:
        """(row, col) of the agent [2] and of the objects [N, 2], where they are known."""
        truth = self.truth()
        return {} if truth is None else {"agent": np.asarray(truth.agent), "objects": np.asarray(truth.objects)}


def _key(words: Any) -> jax.Array:
    return jax.random.wrap_key_data(words, impl="threefry2x32")
