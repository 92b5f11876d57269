"""Run by a test in a process of its own, which has eight CPU devices: prints what it finds as JSON."""

from __future__ import annotations

import dataclasses
import json
import re

import jax
from custom_world import world
from tiny_runs import TINY

from ndigo.config import preset
from ndigo.devices.mesh import make_mesh
from ndigo.rewards import make_reward
from ndigo.storage.checkpoint import named_arrays
from ndigo.training.trainer import make_trainer

CONFIG = preset("cpu", **{name: value for name, value in TINY.items() if name != "preset"} | {"seeds": 8})
REWARD = make_reward("ndigo-1")
COLLECTIVE = re.compile(r"= \S+ ((?:all|collective|ragged)-[\w-]+|reduce-scatter)(?:-start)?\(")


def collectives(program, *args) -> list[str]:
    return COLLECTIVE.findall(program.lower(*args).compile().as_text())


def differing(ours, others) -> list[str]:
    """The names of arrays that are not equal to the bit."""
    ours, others = named_arrays(ours), named_arrays(others)
    return sorted({name for name in ours.keys() | others.keys() if ours[name].tobytes() != others[name].tobytes()})


def part(tree, i: int):
    """What the i-th device holds. Each slice is a message between eight threads: many at once, on few cores, could wait
    for each other until XLA gives up.
    """
    return jax.tree.map(lambda x: jax.device_put(x[i : i + 1].block_until_ready(), jax.devices()[0]), tree)


def main() -> None:
    many = make_trainer(CONFIG, world, REWARD, make_mesh(seeds=8))
    alone = make_trainer(dataclasses.replace(CONFIG, seeds=1), world, REWARD)
    begun = many.init(jax.random.key(0))
    one_each = [part(begun, i) for i in range(8)]
    found = {
        "act": collectives(many.collect_round, begun.key, begun.learner.params, begun.rows, begun.crowd, {}),
        "learn": collectives(many.learn, begun.learner, begun.rows, begun.key, {}),
        "devices": sorted({shard.device.id for shard in begun.key.addressable_shards}),
    }
    ended, numbers = many.run_rounds(begun, 3)
    different = []
    for i in range(8):
        state, own = alone.run_rounds(one_each[i], 3)
        different += differing(own, jax.tree.map(lambda x, i=i: x[i : i + 1], numbers))
        different += differing(state, part(ended, i))
    print(json.dumps(found | {"different": different}))


if __name__ == "__main__":
    main()
