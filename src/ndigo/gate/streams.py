"""What a world says of its ends, its task, its events and its places, against its record."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ndigo.config import Config
from ndigo.errors import NdigoError
from ndigo.gate.shapes import require_array, returned, text_of
from ndigo.rewards import IntrinsicReward
from ndigo.worlds import World


class Notes(NamedTuple):
    """What a state says beside its frame, in a world that says when its episodes end."""

    is_last: Any
    is_terminal: Any
    task: Any  # what was earned, 0 without a task
    place: Any  # numbers, none without places


def check_ends(world: World, state: Any) -> None:
    """An error in one line where a function that only worlds with `ends` have does not return what the record says."""
    whose = f"world {world.name}:"
    if world.ends is None:
        for name in ("task_reward", "events", "happens", "place"):
            if getattr(world, name) not in (None, ()):
                raise NdigoError(f"{whose} {name} is for worlds whose episodes end by themselves: it has no ends")
        return
    found = returned(f"{whose} ends", world.ends, state)
    if not isinstance(found, tuple) or len(found) != 2:
        raise NdigoError(f"{whose} ends returned {text_of(found)}, expected two: is_last and is_terminal")
    for name, flag in zip(("is_last", "is_terminal"), found, strict=True):
        require_array(f"{whose} ends' {name}", flag, (), "bool")
    if world.task_reward is not None:
        found = returned(f"{whose} task_reward", world.task_reward, state)
        require_array(f"{whose} task_reward", found, (), "floating")
    if (world.happens is None) != (len(world.events) == 0):
        raise NdigoError(f"{whose} events names {len(world.events)}, and happens is {world.happens!r}: give both")
    if world.happens is not None:
        found = returned(f"{whose} happens", world.happens, state)
        require_array(f"{whose} happens", found, (len(world.events),), "bool", f": the world names {world.events}")
    if world.place is not None:
        returned(f"{whose} place", world.place, state)


def notes_of(world: World, state: Any) -> Notes | None:
    if world.ends is None:
        return None
    return Notes(
        *world.ends(state),
        task=jnp.float32(0) if world.task_reward is None else world.task_reward(state),
        place=() if world.place is None else world.place(state),
    )


def check_notes(world: World, is_first: np.ndarray, notes: Notes) -> None:
    """An error where the notes of sampled states, [E, T+1] each, cannot be."""
    whose = f"world {world.name}:"
    if notes.is_last[is_first].all():
        raise NdigoError(f"{whose} ends says of every episode's first frame that it is the last: no step is ever taken")
    if (at := np.argwhere(notes.is_terminal & ~notes.is_last)).size:
        raise NdigoError(
            f"{whose} ends says of frame {at[0][1]} that it terminates its episode, and not that it ends it"
        )
    if (at := np.argwhere(~np.isfinite(notes.task))).size:
        t = at[0][1]
        raise NdigoError(
            f"{whose} task_reward returned {notes.task[tuple(at[0])]} in frame {t}, expected a finite number"
        )
    for leaf in jax.tree.leaves(notes.place):
        if not np.isfinite(leaf).all():
            raise NdigoError(f"{whose} place returned numbers that are not finite")


def refuse_weights(config: Config, reward: IntrinsicReward) -> None:
    """An error for weights of a new run that nobody can mean: with them nothing is learned, or the task paid twice."""
    curiosity, task = config.curiosity_weight, config.task_weight
    if reward.pays_task and (task or not curiosity):
        raise NdigoError(f"reward {reward.name} is the task itself: leave out --task-weight and --curiosity-weight")
    if reward.acts_at_random and task:
        raise NdigoError(f"reward {reward.name} learns no policy, so no task: leave out --task-weight")
    if not (curiosity or task or reward.acts_at_random):
        raise NdigoError("nothing to learn from: --curiosity-weight and --task-weight are both 0")


def refuse_missing_task(config: Config, world: World, reward: IntrinsicReward) -> None:
    """An error where the agent is to earn a task's reward and the world has none."""
    has_task = world.task_reward is not None and world.ends is not None
    if not has_task and (reward.pays_task or config.task_weight):
        asked = f"reward {reward.name}" if reward.pays_task else f"task_weight {config.task_weight:g}"
        raise NdigoError(f"{asked}: world {world.name} has no task reward; curiosity alone can be trained in it")
