"""A seed in parts does what it does whole: the actors' episodes, and an update of the same windows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from custom_world import world
from tiny_runs import TINY

from ndigo.agent import make_replay
from ndigo.config import preset
from ndigo.devices.parts import ALONE, DATA, Parts
from ndigo.errors import NdigoError
from ndigo.gate.parts import refuse_unshared
from ndigo.rewards import make_reward
from ndigo.training.acting import make_collector
from ndigo.training.learner import make_learner
from ndigo.training.twins import PLAIN
from ndigo.types import Window

CONFIG = preset("cpu", **{name: value for name, value in TINY.items() if name != "preset"})
REWARD = make_reward("ndigo-1")
TWO = Parts(2)


def over_parts(function: Callable[..., Any], in_axes: Any = 0) -> Callable[..., Any]:
    """The function of each part, one device doing them all: `vmap` names the axis as a mesh would."""
    return jax.jit(jax.vmap(function, in_axes=in_axes, axis_name=DATA, axis_size=TWO.num))


def test_the_mean_over_parts_is_weighed_by_what_each_part_counts():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 5)), rng.normal(size=(2, 3))
    counts = np.array([7, 2])
    mean = over_parts(lambda x, y, n: TWO.mean({"x": x, "y": [y, None]}, {"x": n, "y": 1}))(
        jnp.float32(x), jnp.float32(y), jnp.int32(counts)
    )
    for part in range(2):  # both have it
        np.testing.assert_allclose(mean["x"][part], (7 * x[0] + 2 * x[1]) / 9, rtol=1e-6)
        np.testing.assert_allclose(mean["y"][0][part], (y[0] + y[1]) / 2, rtol=1e-6)


@pytest.fixture(scope="module")
def learner_and_rows():
    """An untrained learner, and what its two actors collect in a round: [actors x windows, ...]."""
    learner = make_learner(CONFIG, world, REWARD)
    state = jax.jit(learner.init)(jax.random.key(0))
    alone = make_collector(CONFIG, world, REWARD, PLAIN)
    return learner, state, jax.jit(alone.explore)(jax.random.key(1), state.params, None)[0]


def test_the_parts_of_the_actors_collect_what_all_of_them_collect(learner_and_rows):
    _, state, rows = learner_and_rows
    split = make_collector(CONFIG, world, REWARD, PLAIN, TWO)
    assert split.windows_per_round == len(rows.start) // 2
    assert split.steps == make_collector(CONFIG, world, REWARD, PLAIN).steps
    by_part, _ = over_parts(lambda key, params: split.explore(key, params, None), in_axes=None)(
        jax.random.key(1), state.params
    )
    for whole, parts in zip(jax.tree.leaves(rows), jax.tree.leaves(by_part), strict=True):
        np.testing.assert_allclose(np.asarray(parts).reshape(whole.shape), whole, rtol=1e-5, atol=1e-6)


def test_an_update_of_two_half_batches_is_the_update_of_the_whole_one(learner_and_rows):
    """The halves differ in how many steps have a known pay: windows at an episode's start, and later ones."""
    learner, state, rows = learner_and_rows
    order = np.argsort(np.asarray(rows.start), kind="stable")
    rows = jax.tree.map(lambda x: x[order], rows)
    window = make_replay(capacity=len(order), frame=world.frame).open(rows)
    halves = jax.tree.map(lambda x: x.reshape(2, len(order) // 2, *x.shape[1:]), rows)
    split, replay = make_learner(CONFIG, world, REWARD, TWO), make_replay(capacity=2, frame=world.frame)

    def update_part(state, half):
        return split.update(jax.random.key(2), state, replay.open(half))

    whole = jax.jit(learner.update)(jax.random.key(2), state, window)
    parts = over_parts(update_part, in_axes=(None, 0))(state, halves)
    counts = [int((half == 0).sum()) for half in np.split(np.asarray(rows.start), 2)]
    assert counts == [2, 0]
    for expected, found in zip(jax.tree.leaves(whole), jax.tree.leaves(parts), strict=True):
        for part in range(2):  # no part knows another's networks, and all have the same
            np.testing.assert_allclose(found[part], expected, rtol=2e-4, atol=1e-6)


def cut_into_episodes(rows: Window) -> Window:
    """The rows as those of a stream: from the second step on every frame of the first half begins an episode."""
    is_first = np.zeros(rows.a_tm1.shape, bool)
    is_first[: len(is_first) // 2, 2:] = True
    discount_t = np.ones(rows.a_t.shape, np.float32)
    return dataclasses.replace(rows, is_first=jnp.asarray(is_first), discount_t=jnp.asarray(discount_t))


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("name", ["ndigo-1", "icm"])
def test_halves_with_fewer_steps_and_pairs_count_less(name, plain, learner_and_rows):
    """Of 6 steps a stream of the first half has 2, and one pair of frames two steps apart; of the other 6, and 5."""
    config, reward, rows = (
        dataclasses.replace(CONFIG, plain=plain),
        make_reward(name),
        cut_into_episodes(learner_and_rows[2]),
    )
    learner, split = (make_learner(config, world, reward, parts) for parts in (ALONE, TWO))
    replay = make_replay(capacity=2, frame=world.frame)
    state = jax.jit(learner.init)(jax.random.key(0))
    halves = jax.tree.map(lambda x: x.reshape(2, len(x) // 2, *x.shape[1:]), rows)
    whole = jax.jit(learner.update)(jax.random.key(2), state, replay.open(rows))
    parts = over_parts(
        lambda state, half: split.update(jax.random.key(2), state, replay.open(half)), in_axes=(None, 0)
    )(state, halves)
    for expected, found in zip(jax.tree.leaves(whole), jax.tree.leaves(parts), strict=True):
        for part in range(2):
            np.testing.assert_allclose(found[part], expected, rtol=2e-4, atol=1e-6)


def test_a_reward_that_remembers_what_it_paid_is_refused_in_parts_and_one_that_does_not_is_not():
    mesh = FakeMesh()
    summing = dataclasses.replace(
        REWARD,
        name="summing",
        remember=lambda model: jnp.float32(0),
        after_update=lambda m, _, paid, t: m + paid.r_t.sum(),
    )
    with pytest.raises(NdigoError, match=r"^reward summing remembers what it paid, which parts of a seed cannot share"):
        refuse_unshared(mesh, CONFIG, world, summing)  # type: ignore[arg-type]
    refuse_unshared(mesh, CONFIG, world, make_reward("pg"))  # type: ignore[arg-type]
    refuse_unshared(None, CONFIG, world, summing)


class FakeMesh:
    """Two parts and no devices: enough to be refused."""

    shape = {"seeds": 1, "data": 2}  # noqa: RUF012
