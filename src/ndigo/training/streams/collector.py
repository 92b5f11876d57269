"""`Collector`: how one seed's actors fill the replay and are evaluated, by whole episodes (`acting.py`) or streams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from ndigo.agent import actor_epsilons
from ndigo.agents.agent import Params
from ndigo.config import Config
from ndigo.evaluation.measure import Measured
from ndigo.rewards import IntrinsicReward
from ndigo.types import Window


@dataclass(frozen=True)
class Collector:
    """The functions of one seed. Each lowers the networks it is given to the run's precision."""

    start: Callable[[Array, Params], Any]  # key, params -> the actors; None where each round starts new episodes
    explore: Callable[[Array, Params, Any], tuple[Window, Any]]  # key, params, actors -> a round's windows, actors
    measure: Callable[[Params, Array], Measured]  # params, key -> what greedy episodes show
    windows_per_round: int  # on this device, where a seed is split between several
    steps: int  # per actor and round


class Exploring(NamedTuple):
    """How a seed's actors explore."""

    epsilons: Float[Array, " E"]
    longest: int  # the longest random stretch
    evaluation_epsilon: Float[Array, ""]  # 0, or 1 for a reward that acts at random


def exploring(config: Config, reward: IntrinsicReward) -> Exploring:
    epsilons = actor_epsilons(config.actors, config.first_epsilon, config.last_epsilon)
    if reward.acts_at_random:  # the paper's uniform walker, at every step and in evaluation too
        return Exploring(jnp.ones_like(epsilons), 1, jnp.float32(1))
    return Exploring(epsilons, config.longest_stretch, jnp.float32(0))
