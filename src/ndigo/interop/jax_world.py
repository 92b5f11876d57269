"""One copy of any world, stepped by the world's own functions.

Slower than `NumpyWorld`, whose face it has, but it needs neither a map nor objects of known kinds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from ndigo.interop.outcome import Outcome, outcome_of
from ndigo.types import Truth
from ndigo.worlds import World


class Seen(NamedTuple):
    """A state, and all that is looked at in it."""

    state: Any
    o_t: Any
    truth: Truth | None
    outcome: Outcome


class JaxWorld:
    """A mutable world: `reset_from` and `step_from` move it, `observe` and `truth` look at it.

    Words are uniform 32-bit integers; the two of a reset or a step are its random key.
    """

    num_reset_words = num_step_words = 2

    def __init__(self, world: World) -> None:
        def look(state: Any) -> Seen:
            truth = None if world.truth is None else world.truth(state)
            return Seen(state, world.observe(state), truth, outcome_of(world, state))

        def begin(words: Any) -> Seen:
            return look(world.reset(_key(words)))

        def move(words: Any, state: Any, a_t: Any) -> Seen:
            return look(world.step(_key(words), state, a_t))

        self._begin, self._move = jax.jit(begin), jax.jit(move)
        self._seen: Any = None

    def reset_from(self, words: Sequence[int]) -> None:
        """Starts an episode."""
        self._seen = self._begin(np.asarray(words, np.uint32))

    def step_from(self, words: Sequence[int], action: int) -> None:
        self._seen = self._move(np.asarray(words, np.uint32), self._seen.state, np.int32(action))

    def observe(self) -> Any:
        """The frame; its arrays are the caller's to keep."""
        return jax.tree.map(np.array, self._seen.o_t)

    def outcome(self) -> Outcome:
        """Of the last step, in plain Python."""
        reward, is_over, is_terminated = self._seen.outcome
        return Outcome(float(reward), bool(is_over), bool(is_terminated))

    @property
    def state(self) -> Any:
        return self._seen.state

    def truth(self) -> Truth | None:
        """Where everything is, in NumPy arrays; None where nobody knows it."""
        return jax.tree.map(np.asarray, self._seen.truth)

    def cells(self) -> dict[str, np.ndarray]:
        """(row, col) of the agent [2] and of the objects [N, 2], where they are known."""
        truth = self.truth()
        return {} if truth is None else {"agent": np.asarray(truth.agent), "objects": np.asarray(truth.objects)}


def _key(words: Any) -> jax.Array:
    return jax.random.wrap_key_data(words, impl="threefry2x32")
