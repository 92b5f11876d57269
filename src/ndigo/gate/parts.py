"""Whether a reward can be split: its memory must not take what only a part of the seed was paid."""

from __future__ import annotations

from typing import Any

import jax
from jax.sharding import Mesh

from ndigo.config import Config
from ndigo.devices.mesh import parts_of
from ndigo.errors import NdigoError
from ndigo.rewards import IntrinsicReward
from ndigo.training.learner import LearnerState, make_learner
from ndigo.worlds import World


class _Unshared:
    """Stands for what was paid where each part of a seed knows only its own."""

    def __init__(self, reward: IntrinsicReward):
        self._name = reward.name

    def __getattr__(self, field: str) -> Any:
        raise NdigoError(
            f"reward {self._name} remembers what it paid, which parts of a seed cannot share: leave out data="
        )


def refuse_unshared(mesh: Mesh | None, config: Config, world: World, reward: IntrinsicReward) -> None:
    """On a mesh with parts, an error for a memory that takes what was paid: how to join it, the reward alone knows."""
    if parts_of(mesh).num == 1:
        return

    def remember(state: LearnerState) -> Any:
        return reward.after_update(state.memory, state.params.model, _Unshared(reward), state.step)  # type: ignore

    jax.eval_shape(remember, jax.eval_shape(make_learner(config, world, reward).init, jax.random.key(0)))
