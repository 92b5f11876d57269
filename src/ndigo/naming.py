"""From the names and settings that a user gives, or a run keeps, to the records that they stand for, and back."""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

import jax

from ndigo.config import Config
from ndigo.errors import NdigoError, of_gymnasium
from ndigo.from_module import check_trust
from ndigo.gate import check_records
from ndigo.interop.finding import find_world
from ndigo.paper.experiments import EXPERIMENTS
from ndigo.rewards import REWARDS, IntrinsicReward, make_reward
from ndigo.worlds import World

LONGEST_NAME = 100  # of a part of a path; file systems end at 255 bytes


def as_records(world: str | World, reward: str | IntrinsicReward) -> tuple[World, IntrinsicReward]:
    """What these names stand for; a record stands for itself."""
    return (
        find_world(world) if isinstance(world, str) else world,
        make_reward(reward) if isinstance(reward, str) else reward,
    )


def refuse_other_types(world: Any, reward: Any) -> None:
    """An error for a world or reward that is neither a name nor a record; None passes."""
    for what, given, kind, example in (("world", world, World, "exp1"), ("reward", reward, IntrinsicReward, "ndigo-2")):
        if not isinstance(given, str | kind | None):
            known = f"a name, such as {example}, or a record of {kind.__name__}"
            raise NdigoError(f"{what} is a {type(given).__name__}, expected {known}{of_gymnasium(given)}")


def name_of(record: str | World | IntrinsicReward) -> str:
    """The name that settings keep; a record of the user's own, which has no such name, is kept as <its own name>."""
    if isinstance(record, str):
        return record
    known = {name: experiment.world for name, experiment in EXPERIMENTS.items()} | REWARDS
    return next((name for name, other in known.items() if other is record), f"<{record.name}>")


def told_of_records(config: Config) -> list[str]:
    """For each record that was made in Python, a line that says how to go on with it."""
    return [
        f"{what} {name} is a record made in Python: hand it over to go on, as ndigo.resume(path, {what}=...); for "
        f"commands, train MODULE:NAME"
        for what, name in (("world", config.world), ("reward", config.reward))
        if name.startswith("<")
    ]


def records_of(
    config: Config, world: World | None, reward: IntrinsicReward | None, trust: Collection[str]
) -> tuple[World, IntrinsicReward]:
    """The records handed over, or else those that the settings name; both are checked (`gate`)."""
    check_trust(trust)
    refuse_other_types(world, reward)
    for what, given in (("world", world), ("reward", reward)):
        if isinstance(given, str):
            raise NdigoError(f"{what} {given!r} is a name, expected a record: without one, the name in the file counts")
    named = dataclasses.replace(config, world=name_of(world or config.world), reward=name_of(reward or config.reward))
    found = world or find_world(config.world, trust=trust), reward or make_reward(config.reward, trust=trust)
    check_records(named, *found)
    return found


def settled(
    config: Config, world: World, reward: IntrinsicReward, *, given: Collection[str]
) -> tuple[Config, tuple[str, ...]]:
    """The settings adapted to this world and reward, and a line for each number that changes.

    A preset's window is cut to an episode's length, and its actors are as many as a world of the host asks for.
    Settings that the user has `given` stay; a window that is too long is refused later.
    """
    told = []
    if "actors" not in given and world.host is not None and (num := world.host.num_envs) not in (None, config.actors):
        told.append(f"actors {config.actors} is set to {num}, num_envs of {world.name}")
        config = dataclasses.replace(config, actors=num)
    if world.has_one_length and "window" not in given and config.window > world.num_steps > 0:
        told.append(f"window {config.window} is cut to {world.num_steps}, the steps of an episode of {world.name}")
        config = dataclasses.replace(config, window=world.num_steps)
    if reward.num_ahead > config.num_ahead and not reward.trains_belief:
        told.append(f"num_ahead {config.num_ahead} is raised to {reward.num_ahead}, which {reward.name} needs")
    if config.last_step > config.learner_steps:
        whole = f"whole chunks of {config.updates_per_chunk:,}"
        told.append(f"learner_steps {config.learner_steps:,} is raised to {config.last_step:,}, {whole}")
    return config, tuple(told)


def config_of(settings: dict[str, Any], path: str | Path) -> Config:
    """The settings that a run has written; an error where they are another version's."""
    config = settings["config"]
    known = {field.name for field in dataclasses.fields(Config)}
    if unknown := sorted(set(config) - known):
        raise NdigoError(
            f"{path} was written by another version: its settings do not fit (unknown: {', '.join(unknown)})"
        )
    return Config(**config)


def default_preset() -> str:
    return "cpu" if jax.default_backend() == "cpu" else "gpu"


def default_path(config: Config) -> Path:
    """runs/WORLD-REWARD-TIME, with a number after it where that exists."""
    stem = f"{file_name(f'{config.world}-{config.reward}')}-{time.strftime('%Y%m%d-%H%M%S')}"
    candidates = [Path("runs") / stem, *(Path("runs") / f"{stem}-{i}" for i in range(2, 1000))]
    return next(path for path in candidates if not path.exists())


def file_name(name: str) -> str:
    """A name as part of a file's name: letters, digits, dots and dashes, not too long."""
    return re.sub(r"[^\w.]+", "-", name).strip("-.")[:LONGEST_NAME]
