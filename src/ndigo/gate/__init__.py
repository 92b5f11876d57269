"""The gate: a world or a reward that is not ours is tried before a run begins, and refused in one line if it is wrong.

What JAX would find itself is said here with the function's name; what it would not find (truth outside the map, pay
that does not add up) would train, and could look perfect. Registered worlds and rewards pass the gate in the tests.
"""

from __future__ import annotations

from ndigo.config import Config
from ndigo.from_module import is_module
from ndigo.gate.host import check_processes, sample_host
from ndigo.gate.reward import check_pay, check_reward, refuse_short_windows, refuse_unhashable
from ndigo.gate.streams import refuse_missing_task, refuse_weights
from ndigo.gate.world import check_world
from ndigo.rewards import IntrinsicReward
from ndigo.worlds import World


def check_records(config: Config, world: World, reward: IntrinsicReward) -> None:
    """Tries the records that the settings do not name as ours."""
    if world.host is not None:
        sample_host(world)
    elif is_own(config.world):
        check_world(world)
    refuse_unfit(config, world, reward)
    if is_own(config.reward):
        refuse_unhashable(reward)
        check_reward(reward, world, config)


def refuse_unfit(config: Config, world: World, reward: IntrinsicReward) -> None:
    """An error where settings, world and reward do not go together, which needs no trying."""
    refuse_missing_task(config, world, reward)
    refuse_short_windows(config, world, reward)


def is_own(name: str) -> bool:
    """True for the user's own: MODULE:NAME, or <NAME> for a record made in Python."""
    return is_module(name) or name.startswith("<")


__all__ = [
    "check_pay",
    "check_processes",
    "check_records",
    "check_reward",
    "check_world",
    "is_own",
    "refuse_unfit",
    "refuse_weights",
]
