"""Run by a test in a process with two CPU devices: a seed in two parts on both, and the same parts on one of them."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import jax
import numpy as np
from custom_world import world
from on_eight_devices import CONFIG, REWARD

from ndigo.agent import make_replay
from ndigo.devices.mesh import make_mesh
from ndigo.devices.parts import DATA, Parts
from ndigo.training.acting import make_collector
from ndigo.training.learner import make_learner
from ndigo.training.rounds import TrainState, make_learn
from ndigo.training.trainer import make_trainer
from ndigo.training.twins import twins

ALONE = dataclasses.replace(CONFIG, seeds=1)
TWO = Parts(2)
NUM_ROUNDS = 4


def on_one(state: TrainState) -> tuple[Any, Any]:
    """The learner and its numbers after some rounds, of each part: [part, S, ...]. `vmap` names the mesh's axis."""
    learner = make_learner(ALONE, world, REWARD, TWO)
    actors = make_collector(ALONE, world, REWARD, twins(ALONE), TWO)
    block = actors.windows_per_round
    kept_rounds = ALONE.replay_steps // ALONE.window // (block * TWO.num)
    replay = make_replay(capacity=kept_rounds * block, frame=world.frame)
    learn = make_learn(ALONE, replay, lambda values: learner, TWO)

    def empty(key, params):
        example, _ = jax.eval_shape(actors.explore, key, params, None)
        return replay.init(jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), example))

    def play(key, params, rows):
        key, key_collect, key_learn = jax.random.split(key, 3)
        windows, _ = actors.explore(key_collect, params, None)
        return key, key_learn, replay.add(rows, windows)

    def one_round(key, learned, rows):
        key, key_learn, rows = jax.vmap(play)(key, learned.params, rows)
        learned, numbers = learn(learned, rows, key_learn, {})
        return key, learned, rows, numbers

    def over_parts(function: Any, in_axes: Any = 0) -> Any:
        return jax.jit(jax.vmap(function, in_axes=in_axes, axis_name=DATA, axis_size=TWO.num))

    rows = over_parts(jax.vmap(empty), in_axes=None)(state.key, state.learner.params)
    key, learned = over_parts(lambda x: x, in_axes=None)((state.key, state.learner))
    step, told = over_parts(one_round), []
    for _ in range(NUM_ROUNDS):
        key, learned, rows, numbers = step(key, learned, rows)
        told.append(numbers)
    return learned, jax.tree.map(lambda *rounds: np.concatenate(rounds, axis=2), *told)


def far(found: Any, expected: Any) -> float:
    """The largest difference in any array, as a share of that array's largest number."""

    def share(x: Any, y: Any) -> float:
        x, y = np.asarray(x, float), np.asarray(y, float)
        return float(np.abs(x - y).max(initial=0) / max(np.abs(x).max(initial=0), 1e-3))

    return max(jax.tree.leaves(jax.tree.map(share, found, expected)))


def main() -> None:
    split = make_trainer(ALONE, world, REWARD, make_mesh(data=2))
    begun = split.init(jax.random.key(0))
    before = jax.device_get(begun)
    expected = on_one(jax.device_put(before, jax.devices()[0]))
    ended, numbers = split.run_rounds(begun, NUM_ROUNDS)
    found = jax.device_get((ended.learner, numbers))
    moved = far(found[0].params, before.learner.params)
    off = max(far(found, jax.tree.map(lambda x, part=part: x[part], expected)) for part in range(TWO.num))
    print(json.dumps({"devices": len(ended.key.devices()), "off": off, "moved": moved}))


if __name__ == "__main__":
    main()
