"""A recorded episode of a world that the host steps, against the environment stepped by hand."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest
from stream_worlds import CountingEnv, hosted_counting, read_count
from untrained import untrained

from ndigo.commands.view import Arguments, recorded_first
from ndigo.errors import NdigoError
from ndigo.types import Window
from ndigo.watching.recording import episode_key, record
from ndigo.worlds import World
from ndigo.worlds.host import Host, seed_of

KEYS = [episode_key(0, i) for i in range(4)]


@pytest.fixture(scope="module")
def agent():
    return untrained(hosted_counting())


@pytest.fixture(scope="module")
def episodes(agent):
    return record(agent, KEYS)


def test_the_environment_stepped_by_hand_with_the_agents_own_actions_shows_the_same(agent, episodes):
    lengths = []
    for e, key in enumerate(KEYS):
        env, state, task, happened = CountingEnv(), agent.start(), [], []
        o_t, _ = env.reset(seed=seed_of(jax.random.split(key, 3)[0]))
        frames, is_over = [o_t], False
        while not is_over:
            a_t, state = agent.step(frames[-1], state)
            o_t, reward, is_terminal, is_cut, _ = env.step(int(a_t))
            assert int(a_t) == episodes.a[e, len(task)]
            task.append(reward)
            frames.append(o_t)
            happened.append([env.t == 2, env.last_action == 1])
            is_over = is_terminal or is_cut
        T = len(task)
        lengths.append(T)
        np.testing.assert_array_equal(episodes.task[e, :T], task)
        np.testing.assert_array_equal(episodes.events[e, 1 : T + 1, -2:], happened)
        lit = (episodes.seen[e, : T + 1, 0].max(axis=-1) > 60).astype(np.uint8)  # a bit that is 0 is nearly black
        np.testing.assert_array_equal(read_count(lit[:, None, None]), read_count(np.stack(frames)))
        np.testing.assert_array_equal(episodes.drawn[e, : T + 1, 0, 0, 0], range(T + 1))
    assert len(set(lengths)) > 1
    assert episodes.lengths.tolist() == lengths


def test_what_is_recorded_is_paid_as_the_window_of_its_frames(agent, episodes):
    """Of the longest: frames by hand, cut at its end, by the functions that the learner uses."""
    e = int(episodes.lengths.argmax())
    env, T = CountingEnv(), int(episodes.lengths[e])
    o_t = [env.reset(seed=seed_of(jax.random.split(KEYS[e], 3)[0]))[0]]
    o_t += [env.step(int(a))[0] for a in episodes.a[e, :T]]

    @jax.jit
    def pay(networks, o_t, a_t):
        window = Window.whole(o_t, a_t, agent.params.model.core.size)
        return networks.pay(agent.reward, window)[1]

    paid = jax.device_get(pay(agent.networks, np.stack(o_t), episodes.a[e, :T].astype(np.int32)))
    assert int(paid.is_known.sum()) > 2
    known = np.flatnonzero(paid.is_known)
    np.testing.assert_allclose(episodes.reward[e, known], paid.r_t[known], atol=1e-5)


def test_an_environment_that_makes_no_pictures_is_shown_by_its_frames(agent):
    host = agent.world.host
    blind = Host(host.open, lambda: (host.open(1, 0), lambda: None))
    found = record(dataclasses.replace(agent, world=dataclasses.replace(agent.world, host=blind)), KEYS[:1])
    assert found.drawn is None
    assert found.seen is not None


def test_the_page_records_such_a_world_first_and_does_not_mix_it_with_live_ones(agent, tmp_path):
    def found(world: World) -> Any:
        return SimpleNamespace(path=tmp_path, world=world, world_name=world.name, agent=lambda *_: agent)

    hosted, live = found(agent.world), found(dataclasses.replace(agent.world, host=None))
    args = Arguments(paths=(tmp_path,), episode=1)
    assert recorded_first(args, [live]) == []
    assert [recording.meta["first_episode"] for recording in recorded_first(args, [hosted])] == [1]
    with pytest.raises(NdigoError, match=r"can only be recorded \(counting\): name it without the others$"):
        recorded_first(args, [hosted, live])
