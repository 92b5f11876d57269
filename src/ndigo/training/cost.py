"""What a run costs, before it begins: disk, memory, and the time of a round."""

from __future__ import annotations

import dataclasses
import math
import os
import time
from pathlib import Path
from typing import Any

import jax

from ndigo.config import Config
from ndigo.errors import NdigoError
from ndigo.rewards import IntrinsicReward
from ndigo.storage.checkpoint import NUM_NEWEST
from ndigo.training.trainer import make_trainer
from ndigo.worlds import World

CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")  # of a container, on Linux


def disk_bytes(config: Config, world: World, reward: IntrinsicReward) -> int:
    """The bytes of the checkpoints that are kept, and of one being written."""
    state = jax.eval_shape(make_trainer(config, world, reward).init, jax.random.key(0))
    return (NUM_NEWEST + 1) * num_bytes(state)


def sizes_of(config: Config, world: World, reward: IntrinsicReward) -> dict[str, int]:
    """What the settings amount to: parameters and world steps per seed, bytes, learner steps."""
    trainer = make_trainer(config, world, reward)
    state = jax.eval_shape(trainer.init, jax.random.key(0))
    parameters = {
        f"parameters of {name}, per seed": num_entries(getattr(state.learner.params, name)) // config.seeds
        for name in ("model", "agent", "reward", "probe")
    }
    rounds = config.last_step // config.updates_per_round
    return parameters | {
        "replay": num_bytes(state.rows),
        "checkpoint": num_bytes(state),
        f"world steps{'' if world.ends is None else ' and resets'}, per seed": rounds * trainer.steps_per_round,
        "learner steps between checkpoints, at least": config.updates_per_chunk,
    }


def num_bytes(tree: Any) -> int:
    return sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))


def num_entries(tree: Any) -> int:
    return sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(tree))


def refuse_too_large(state: Any) -> None:
    """An error for a state that the device cannot hold; computing takes memory on top of that."""
    needed, there = num_bytes(state), device_bytes()
    if needed > there:
        raise NdigoError(
            f"the replay and the networks take {needed / 1e9:,.1f} GB and this device has {there / 1e9:,.1f} GB: "
            "lower replay_steps, actors, seeds or the networks' sizes"
        )


def device_bytes() -> int:
    """The memory of all accelerators, or of the machine; other processes are taken to have as much as this one."""
    limits = [(device.memory_stats() or {}).get("bytes_limit") for device in jax.local_devices()]
    if all(limits):
        return jax.process_count() * sum(limits)  # type: ignore[arg-type]
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(machine, int(CGROUP_LIMIT.read_text(encoding="utf-8")))
    except (OSError, ValueError):  # no such file, or "max"
        return machine


def time_round(config: Config, world: World, reward: IntrinsicReward) -> float:
    """Roughly the seconds of one round on this device, once compiled: an episode for every actor, and its updates."""
    # The replay's size costs memory and no time. On a CPU one seed fills the cores, and time grows with worlds and
    # windows: a 32nd of the worlds, and a quarter of the updates on an eighth of their windows, tell about all.
    is_slow = jax.default_backend() == "cpu"
    seeds, rounds, parts = (1, min(4, config.updates_per_round), 8) if is_slow else (config.seeds, 1, 1)
    short = dataclasses.replace(
        config,
        seeds=seeds,
        actors=-(-config.actors // (rounds * parts)),
        updates_per_round=-(-config.updates_per_round // rounds),
        batch=-(-config.batch // parts),
        replay_steps=1,
    )
    trainer = make_trainer(short, world, reward)
    state = trainer.init(jax.random.key(0))
    began = 0.0
    for _ in range(2):  # the first compiles
        began = time.monotonic()
        state, _ = trainer.run_rounds(state, 1)
    return (time.monotonic() - began) * rounds * parts * config.seeds / seeds
