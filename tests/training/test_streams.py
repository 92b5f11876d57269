"""Actors in a world whose episodes end by themselves: what they leave in the replay, and what they learn there.

On the device, and where the host steps the same world.
"""

from __future__ import annotations

import dataclasses
from functools import cache
from types import SimpleNamespace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from random_windows import random_window
from stream_worlds import CountingEnv, corridor_to_goal, counting, hosted_counting, read_count

from ndigo import frames
from ndigo.config import preset
from ndigo.evaluation import streams
from ndigo.fast import resets
from ndigo.fast.resets import num_operations
from ndigo.interop.suites import from_gymnasium
from ndigo.rewards import IntrinsicReward, make_reward, paid, table
from ndigo.rewards.reward import earned
from ndigo.training.trainer import Trainer, make_trainer
from ndigo.training.twins import PLAIN
from ndigo.types import Paid, ahead
from ndigo.worlds.host import Host

T, ACTORS, WINDOWS, LONGEST = 5, 3, 6, 6
TINY: dict[str, Any] = {
    **dict.fromkeys(("belief_size", "num_features", "predictor_hidden", "head_hidden", "probe_hidden"), 8),
    "num_filters": 2,
    "num_ahead": 3,
    "batch": 4,
    "updates_per_round": 2,
    "replay_steps": 2 * T * ACTORS * WINDOWS,
}
CONFIG = preset(
    "cpu", window=T, actors=ACTORS, round_steps=T * WINDOWS + 3, evaluation_episodes=20, longest_stretch=4, **TINY
)


WORLDS = {"device": counting, "host": hosted_counting}
each_way = pytest.mark.parametrize("where", WORLDS)


@cache
def trainer_of(where: str) -> Trainer:
    return make_trainer(CONFIG, WORLDS[where](LONGEST), make_reward("ndigo-1"))


def prefers_b(params: Any) -> Any:
    """The same networks with action 1 for the best at every frame."""
    bias = np.zeros((1, 3), np.float32)
    bias[:, 1] = 1000
    return eqx.tree_at(lambda p: p.agent.advantage.output.bias, params, bias)


@cache
def trained(where: str) -> Any:
    """Two rounds of one seed, and greedy episodes of who then prefers one action."""
    trainer = trainer_of(where)
    state, _ = trainer.run_rounds(trainer.init(jax.random.key(0)), 2)
    return jax.device_get((state, trainer.measure(prefers_b(state.learner.params), jax.random.key(1))))


@cache
def stored(where: str) -> tuple[Any, ...]:
    """The rows in the order [round, actor, window], and step, length, name and last action of their frames."""
    windows = jax.tree.map(lambda x: x[0], trained(where)[0].rows.windows)
    frames = counting().frame.unpack(windows.o_t)
    return windows, *(np.asarray(x) for x in read_count(frames))


@each_way
def test_each_slot_is_the_next_frame_of_its_episode_or_the_first_of_another(where):
    windows, step, length, name, action = stored(where)
    np.testing.assert_array_equal(windows.is_first, step == 0)
    begins = windows.is_first[:, 1:]
    assert begins.any()
    assert not begins.all()
    np.testing.assert_array_equal(step[:, :-1][begins], length[:, :-1][begins])  # the true last frame was seen
    np.testing.assert_array_equal(step[:, 1:][~begins], step[:, :-1][~begins] + 1)
    np.testing.assert_array_equal(name[:, 1:][~begins], name[:, :-1][~begins])
    assert (name[:, 1:][begins] != name[:, :-1][begins]).any()
    np.testing.assert_array_equal(windows.start, step[:, 0])
    np.testing.assert_array_equal(windows.a_tm1, action)  # 0 before a first frame
    np.testing.assert_array_equal(windows.a_t[~begins], action[:, 1:][~begins])


@each_way
def test_only_a_termination_is_discounted_and_the_task_pays_its_steps(where):
    windows, step, length, _, action = stored(where)
    is_end = (step[:, 1:] == length[:, 1:]) & (length[:, 1:] % 2 == 0)
    np.testing.assert_array_equal(windows.discount_t, 1.0 - is_end)
    np.testing.assert_array_equal(windows.task_t, np.where(action[:, 1:] == 1, step[:, 1:], 0))


@each_way
def test_an_actor_goes_on_where_it_was_from_window_to_window_and_round_to_round(where):
    windows, step, _, name, _ = stored(where)
    of_actor = np.arange(2 * ACTORS * WINDOWS).reshape(2, ACTORS, WINDOWS).swapaxes(0, 1).reshape(ACTORS, -1)
    for rows in of_actor:
        np.testing.assert_array_equal(step[rows[1:], 0], step[rows[:-1], -1])
        np.testing.assert_array_equal(name[rows[1:], 0], name[rows[:-1], -1])
        np.testing.assert_array_equal(windows.is_first[rows[1:], 0], windows.is_first[rows[:-1], -1])
    assert set(windows.a_t[of_actor[0]].ravel().tolist()) == {0, 1, 2}, "the first actor's epsilon is 1"
    one, other = (np.concatenate([step[rows, :T] == 0, name[rows, :T]], axis=-1) for rows in of_actor[:2])
    both = one[:, :T] & other[:, :T] == 1  # begin an episode at the same slot, each with draws of its own
    assert both[1:].any()
    assert (one[:, T:] != other[:, T:])[both].all()


@each_way
def test_stored_states_are_those_of_the_stream_so_far(where):
    """In the first round one network saw all: the state before window w is that after the slots before it."""
    windows, state = stored(where)[0], trained(where)[0]
    params = jax.tree.map(lambda x: x[0], jax.device_get(trainer_of(where).init(jax.random.key(0)).learner.params))
    of_actor = slice(0, WINDOWS)

    def stitched(x: np.ndarray) -> np.ndarray:
        return np.concatenate(x[of_actor, :T])

    frames = stitched(np.asarray(counting().frame.unpack(windows.o_t)))
    unroll = jax.jit(lambda core, o_t, *rest: core.unroll(core.encoder(o_t), *rest))
    for core, kept in ((params.model.core, windows.belief), (params.agent.core, windows.agent_state)):
        h_t = unroll(
            core, frames, stitched(windows.a_tm1).astype(int), np.zeros(8, np.float32), stitched(windows.is_first)
        )
        for w in range(1, WINDOWS):
            if not windows.is_first[w, 0]:
                np.testing.assert_allclose(kept[w], h_t[w * T - 1], atol=1e-5)
    assert state.crowd.b_tm1.shape == (1, ACTORS, 8)


@each_way
def test_what_the_actors_finished_adds_up_to_the_slots(where):
    """Each finished episode of n steps took n + 1 slots; the last of each actor goes on."""
    episodes, steps, _ = trained(where)[0].crowd.actors.finished[0].sum(axis=0)
    going_on = trained(where)[0].crowd.actors.time[0].sum()
    assert episodes + steps + going_on == 2 * ACTORS * WINDOWS * T
    windows = stored(where)[0]
    assert episodes == windows.is_first[:, 1:].sum()


@each_way
def test_one_episode_is_measured_to_its_own_end(where):
    found = jax.tree.map(lambda x: x[0], trained(where)[1].evaluation)
    steps = found.episode_steps
    assert set(steps) <= set(range(1, LONGEST + 1))
    assert len(set(steps)) > 2
    np.testing.assert_array_equal(found.coverage, steps + 1)  # a place is a step, and o_0 counts
    np.testing.assert_array_equal(found.frequency[:, 0], steps >= 2)
    np.testing.assert_array_equal(found.first_visit[:, 0], np.where(steps >= 2, 2, LONGEST))
    np.testing.assert_array_equal(found.visits[:, 0], steps >= 2)
    np.testing.assert_array_equal(found.visits[:, 1], steps)  # action 1 at every step: nothing is explored
    np.testing.assert_array_equal(found.task_return, steps * (steps + 1) / 2)  # 1 + 2 + ... + n


@each_way
def test_numbers_without_a_place_of_their_own_count_by_their_bins(where):
    """The step over 100, in bins from 0 to 1/50 and to 1/25: steps 0 and 1, steps 2 and 3, and what is beyond."""
    frame = frames.vector(1, low=0, high=0.04, bins=2)
    if where == "host":
        world = from_gymnasium(
            lambda: CountingEnv(LONGEST), frame=frame, read=lambda o: np.float32(read_count(o)[0] / 100).reshape(1)
        )
        assert world.host is not None
        make = world.host.open
        host = Host(lambda num, _: make(num, 0), world.host.open_drawn)
        world = dataclasses.replace(world, host=host, num_steps=LONGEST)
    else:
        observe = lambda s: (s.t / 100).astype(jnp.float32).reshape(1)  # noqa: E731
        world = dataclasses.replace(counting(LONGEST), frame=frame, observe=observe, place=None)
    trainer = make_trainer(CONFIG, world, make_reward("pe"))
    params = trainer.init(jax.random.key(0)).learner.params
    found = trainer.measure(params, jax.random.key(1)).evaluation
    trainer.close()
    steps = np.asarray(found.episode_steps)
    assert steps.min() < 2 <= steps.max()
    np.testing.assert_array_equal(found.coverage, np.where(steps >= 2, 2, 1))


@each_way
def test_a_reward_that_needs_float32_is_paid_in_it_when_it_is_measured_as_well(where):
    seen_by: list[str] = []

    def pay(params: Any, memory: Any, model: Any, seen: Any) -> Paid:
        seen_by.append(str(model.core.gru.weight.dtype))
        return paid(ahead(table(seen), 1))

    config = dataclasses.replace(CONFIG, precision="bfloat16", evaluation_episodes=2)
    trainer = make_trainer(config, WORLDS[where](), IntrinsicReward("own", pay=pay, needs_float32=True))
    trainer.measure(trainer.init(jax.random.key(0)).learner.params, jax.random.key(1))
    trainer.close()
    assert set(seen_by) == {"float32"}


def test_acting_is_compiled_once_for_a_world_that_begins_with_pythons_numbers():
    """As suites do: `jit` tells a number of Python's from an array, and only a first state has any."""
    world = counting(LONGEST)
    own = dataclasses.replace(
        world,
        reset=lambda key: dataclasses.replace(world.reset(key), t=0, last_action=0),
        step=lambda key, s, a: dataclasses.replace(world.step(key, s, a), name=s.name * 1),
    )
    trainer = make_trainer(CONFIG, own, make_reward("ndigo-1"))
    state, _ = trainer.run_rounds(trainer.init(jax.random.key(0)), 2)
    assert trainer.collect_round._cache_size() == 1  # type: ignore[attr-defined]
    ours, theirs = (jax.tree.leaves(jax.device_get(x.rows.windows)) for x in (state, trained("device")[0]))
    for one, two in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, two)


def test_episodes_are_measured_fewer_at_a_time_where_the_models_answers_are_many(monkeypatch):
    """20 episodes; the answers for one are LONGEST steps times 3 ahead times the outputs of 20 bits."""
    sizes, of_all = [], trained("device")
    spy = SimpleNamespace(map=lambda f, x: sizes.append(x[0].start.shape[:2]) or lax.map(f, x))
    monkeypatch.setattr(streams, "lax", spy)
    for most, expected in ((2**28, (2, 10)), (4 * LONGEST * 3 * 20, (5, 4)), (1, (20, 1))):
        monkeypatch.setattr(streams, "MOST_ANSWERS", most)
        trainer = make_trainer(CONFIG, counting(LONGEST), make_reward("ndigo-1"))
        found = trainer.measure(prefers_b(of_all[0].learner.params), jax.random.key(1))
        assert sizes.pop() == expected
        for one, two in zip(jax.tree.leaves(found), jax.tree.leaves(of_all[1]), strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("begin", "few"),
    [(resets.begin_where, 0), (resets.begin_where, resets.FEW), (PLAIN.begin_where, None)],
    ids=["a few at a time", "for every actor", "plain"],
)
def test_new_episodes_are_made_where_one_is_over_whatever_the_axes(begin, few, monkeypatch):
    monkeypatch.setattr(resets, "FEW", few)

    def reset(key):
        return {"x": jax.random.uniform(key, (2,)), "key": key, "time": 0}

    keys = jax.random.split(jax.random.key(0), (3, 20))
    is_over = jax.random.bernoulli(jax.random.key(1), 0.3, (3, 20))
    keys_before = jax.random.split(jax.random.key(2), (3, 20))
    state = {"x": jnp.zeros((3, 20, 2)), "key": keys_before, "time": jnp.full((3, 20), 7, jnp.int16)}

    def one(is_over, key, state):
        return begin(reset, is_over, key, state)

    made = jax.jit(jax.vmap(jax.vmap(one)))(is_over, keys, state)
    expected = jax.vmap(jax.vmap(reset))(keys)
    np.testing.assert_array_equal(made["x"], jnp.where(is_over[..., None], expected["x"], 0))
    np.testing.assert_array_equal(made["time"], jnp.where(is_over, 0, 7))
    assert made["time"].dtype == jnp.int16
    np.testing.assert_array_equal(
        jax.random.key_data(made["key"]),
        jnp.where(is_over[..., None], jax.random.key_data(expected["key"]), jax.random.key_data(state["key"])),
    )


def test_operations_are_counted_in_what_a_program_calls():
    def twice(x):
        return jax.jit(lambda x: jnp.sin(x) + 1)(x) * jax.jit(lambda x: jnp.sin(x) + 1)(x)

    assert num_operations(jax.make_jaxpr(twice)(1.0).jaxpr) == 5


@pytest.mark.slow
def test_task_reward_alone_is_learned_in_seconds():
    small = TINY | {"batch": 16, "updates_per_round": 20, "replay_steps": 4000, "agent_rate": 5e-3, "target_period": 20}
    acting: Any = {"window": 10, "actors": 8, "round_steps": 20, "evaluation_episodes": 4, "longest_stretch": 2}
    config = preset("cpu", gamma=0.9, reward="task", **acting, **small)
    trainer = make_trainer(config, corridor_to_goal(), make_reward("task"))
    state, _ = trainer.run_rounds(trainer.init(jax.random.key(0)), 15)
    found = trainer.measure(state.learner.params, jax.random.key(1)).evaluation
    np.testing.assert_array_equal(found.task_return, 1)
    np.testing.assert_array_equal(found.episode_steps, 4)  # the shortest way


def test_curiosity_and_task_are_summed_by_their_weights():
    """Where curiosity is not known its step is left out, unless it has no weight."""
    window = dataclasses.replace(random_window(0, T=3), task_t=jnp.array([1.0, 0.0, 10.0]))
    paid = Paid(jnp.array([5.0, 7.0, 9.0]), None, jnp.array([False, True, True]), jnp.float32(0))

    def both(curiosity: float, task: float) -> tuple[list[float], list[bool]]:
        r_t, is_known = earned(preset("cpu", curiosity_weight=curiosity, task_weight=task), paid, window)
        return r_t.tolist(), is_known.tolist()

    assert both(1.0, 0.0) == ([5, 7, 9], [False, True, True])
    assert both(0.5, 2.0) == ([4.5, 3.5, 24.5], [False, True, True])
    assert both(0.0, 1.0) == ([1, 0, 10], [True, True, True])


def test_the_actors_start_with_a_key_that_no_round_has(monkeypatch):
    def starting(key, params):
        return {"key": jax.random.key_data(key), "crowd": real.start(key, params)}

    def exploring(key, params, given):
        rows, crowd = real.explore(key, params, given["crowd"])
        return rows, given | {"crowd": crowd}

    real = trainer_of("device").collector
    fake = dataclasses.replace(real, start=starting, explore=exploring)
    monkeypatch.setattr("ndigo.training.trainer.make_collector", lambda *_: fake)
    state = make_trainer(CONFIG, counting(LONGEST), make_reward("ndigo-1")).init(jax.random.key(0))
    of_round = jax.random.key_data(jax.random.split(state.key[0], 3))
    assert not (np.asarray(of_round) == np.asarray(state.crowd["key"][0])).all(axis=1).any()
