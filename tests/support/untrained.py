"""Agents that have learned nothing, in any world: their networks are small and random."""

from __future__ import annotations

from random_weights import random_weights
from tiny_runs import TINY

from ndigo.agents.agent import Agent
from ndigo.config import preset
from ndigo.rewards import make_reward
from ndigo.training.learner import make_learner
from ndigo.worlds import World


def untrained(world: World, reward: str = "ndigo-1") -> Agent:
    """Of the sizes of a tiny run."""
    config = preset("cpu", world=world.name, reward=reward, **{k: v for k, v in TINY.items() if k != "preset"})
    learner = make_learner(config, world, make_reward(reward))
    params = random_weights(lambda key: learner.init(key).params)
    about = {"label": reward, "world": world.name, "reward": reward, "seed": 0, "learner_step": 0}
    return Agent(params, world, make_reward(reward), config, about=about)
