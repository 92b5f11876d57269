"""How one seed's actors fill the replay and are measured: what episodes (`acting.py`) and streams have in common."""

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
    """The functions of one seed; they lower the networks they are given to the run's precision."""

    start: Callable[[Array, Params], Any]  # key, params -> the actors before their first round; None: each is new
    explore: Callable[[Array, Params, Any], tuple[Window, Any]]  # key, params, actors -> a round's windows, actors
    measure: Callable[[Params, Array], Measured]  # params, key -> greedy episodes
    windows_per_round: int  # of this part of the seed
    steps: int  # of each actor in a round


class Exploring(NamedTuple):
    """How the actors of a round act."""

    epsilons: Float[Array, " E"]
    longest: int  # random stretch
    greedy: Float[Array, ""]  # the epsilon of those that are measured: 0, or 1 for who acts at random


def exploring(config: Config, reward: IntrinsicReward) -> Exploring:
    epsilons = actor_epsilons(config.actors, config.first_epsilon, config.last_epsilon)
    if reward.acts_at_random:  # the paper's uniform walker, at every step and in evaluation too
        return Exploring(jnp.ones_like(epsilons), 1, jnp.float32(1))
    return Exploring(epsilons, config.longest_stretch, jnp.float32(0))
