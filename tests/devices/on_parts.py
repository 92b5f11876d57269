"""Run by a test in a process of its own, which has four CPU devices: two seeds in two parts each."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

import jax
from custom_world import world
from on_eight_devices import CONFIG, REWARD, collectives
from tiny_runs import TINY, WORLD, numbers

import ndigo
from ndigo.devices.mesh import make_mesh
from ndigo.storage.saving import Clock
from ndigo.training.trainer import make_trainer


def main(folder: Path) -> None:
    split = make_trainer(dataclasses.replace(CONFIG, seeds=2), world, REWARD, make_mesh(seeds=2, data=2))
    state = split.init(jax.random.key(0))
    found = {
        "act": collectives(split.collect_round, state.key, state.learner.params, state.rows, state.crowd, {}),
        "learn": collectives(split.learn, state.learner, state.rows, state.key, {}),
    }
    is_over, Clock.is_over = Clock.is_over, lambda self: True  # after a chunk
    run = ndigo.train(WORLD, "ndigo-1", out=folder / "run", mesh="seeds=2,data=2", quiet=True, **TINY)
    Clock.is_over = is_over
    assert run.outcome == ndigo.api.Outcome(4, "time")
    ndigo.resume(run.path, mesh="seeds=1", trust=("custom_world",), quiet=True)
    print(json.dumps(found | {"steps": [line["step"] for line in numbers(run.path)]}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
