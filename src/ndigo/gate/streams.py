"""What a world says of its ends, its task and its events, against its record."""

from __future__ import annotations

from typing import Any

from ndigo.config import Config
from ndigo.errors import NdigoError
from ndigo.gate.shapes import require_array, returned, told
from ndigo.rewards import IntrinsicReward
from ndigo.worlds import World


def check_ends(world: World, state: Any) -> None:
    """An error in one line where a function of a world with `ends` does not return what the record says."""
    whose = f"world {world.name}:"
    assert world.ends is not None
    found = returned(f"{whose} ends", world.ends, state)
    if not isinstance(found, tuple) or len(found) != 2:
        raise NdigoError(f"{whose} ends returned {told(found)}, expected two: is_last and is_terminal")
    for name, flag in zip(("is_last", "is_terminal"), found, strict=True):
        require_array(f"{whose} ends' {name}", flag, (), "bool")
    if world.task_reward is not None:
        require_array(
            f"{whose} task_reward", returned(f"{whose} task_reward", world.task_reward, state), (), "floating"
        )
    if (world.happens is None) != (len(world.events) == 0):
        raise NdigoError(f"{whose} events names {len(world.events)}, and happens is {world.happens!r}: give both")
    if world.happens is not None:
        found = returned(f"{whose} happens", world.happens, state)
        require_array(f"{whose} happens", found, (len(world.events),), "bool", f": the world names {world.events}")


def refuse_missing_task(config: Config, world: World, reward: IntrinsicReward) -> None:
    """An error where the agent is to earn a task's reward and the world has none."""
    if world.task_reward is None and (reward.pays_task or config.task_weight):
        asked = f"reward {reward.name}" if reward.pays_task else f"task_weight {config.task_weight:g}"
        raise NdigoError(f"{asked}: world {world.name} has no task reward; curiosity alone can be trained in it")
