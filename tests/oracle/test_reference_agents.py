"""Search limits against the numbers of the paper's worlds, and what a frame teaches against enumeration."""

from __future__ import annotations

import itertools
from collections import defaultdict

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from walked_path import follow

from ndigo.errors import NdigoError
from ndigo.oracle import greedy, make_filter, planner, search_path, seek_path
from ndigo.oracle.reference_agents import information
from ndigo.paper.experiments import EXPERIMENTS
from ndigo.worlds import make_world
from ndigo.worlds.rollout import rollout
from oracle.tiny import roam, tiny


def first_visit(world, agent, channel, num_episodes):
    def one(key):
        is_seen = rollout(world, agent, key).o_t[:-1, ..., channel].any(axis=(1, 2))
        return jnp.where(is_seen.any(), jnp.argmax(is_seen), world.num_steps)

    return np.asarray(jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(0), num_episodes)))


@pytest.mark.parametrize("experiment", ["exp1", "exp4"])
def test_no_path_finds_the_fixed_object_before_step_9_and_a_half_on_average(experiment):
    path = search_path(EXPERIMENTS[experiment].world, "fixed", width=1024)
    assert path.is_proven
    assert path.expected_first_visit == pytest.approx(9.5)


def test_searching_three_rooms_takes_about_36_steps_with_a_narrow_search():
    """35.1 with width 6,000; the bound on what could be better is loose here."""
    path = search_path(EXPERIMENTS["exp2"].world, "fixed", width=512)
    assert 35.125 <= path.expected_first_visit < 36.5
    assert path.lower_bound < path.expected_first_visit
    assert not path.is_proven


def test_an_agent_on_the_search_path_meets_the_object_when_the_search_says():
    world = make_world("fixed_and_noise", num_steps=40)
    path = search_path(world, "fixed", width=256)
    first = first_visit(world, follow(jnp.array(path.actions)), channel=1, num_episodes=512)
    assert first.mean() == pytest.approx(path.expected_first_visit, abs=4 * first.std() / np.sqrt(len(first)))


def test_search_agrees_with_every_path_of_a_tiny_map():
    world, enumeration = tiny("fixed")
    cells = sorted(cell for cell, letter in enumeration.letter.items() if letter == "B")
    best = np.inf
    for actions in itertools.product(range(1, 5), repeat=5):
        agent, first = enumeration.start, dict.fromkeys(cells, np.inf)
        for t in range(6):
            for cell in cells:
                if enumeration.seen(agent, cell) is not None:
                    first[cell] = min(first[cell], t)
            if t < 5:
                dr, dc = ((-1, 0), (1, 0), (0, 1), (0, -1))[actions[t] - 1]
                target = (agent[0] + dr, agent[1] + dc)
                agent = target if target in enumeration.letter else agent
        best = min(best, float(np.mean(list(first.values()))))
    path = search_path(world, "thing0")
    assert np.isfinite(best)
    assert path.is_proven
    assert path.expected_first_visit == pytest.approx(best)


@pytest.mark.parametrize("name", ["fixed", "brownian", "bouncing", "white noise", "movable"])
@pytest.mark.parametrize("lag", [0, 2])
def test_what_a_frame_teaches_is_the_enumerated_mutual_information(name, lag):
    """I(o_{t+1}; y_{t+1+lag} | h_t, a_t), the agent leaving the object alone after o_{t+1}."""
    world, enumeration = tiny(name)
    filter_ = make_filter(world)
    lesson = information(filter_.tables, 0, lag)
    a_t, states = roam(enumeration, np.random.default_rng(4), 6)

    @jax.jit
    def step(b_t, a, o_tp1):
        before = filter_.predict(b_t, a)
        return lesson(before.objects[0], before.agent), filter_.correct(before, o_tp1)

    b_t = jax.jit(filter_.init)(enumeration.frame(states[0]))
    p = enumeration.condition(enumeration.initial(), enumeration.observe(states[0]))
    for a, state in zip(a_t, states[1:], strict=True):
        taught, b_t = step(b_t, a, enumeration.frame(state))
        p = enumeration.step(p, a)
        joint: dict = defaultdict(float)
        for (agent, places), weight in p.items():
            frame = enumeration.observe((agent, places))
            far_away = {((0, 0), places): weight}  # where it blocks nobody
            for _ in range(lag):
                far_away = enumeration.step(far_away, 0)
            for (_, later), w in far_away.items():
                joint[frame, later[0][0]] += w
        entropy = lambda q: -sum(w * np.log(w) for w in q if w > 0)  # noqa: E731
        frames, cells = defaultdict(float), defaultdict(float)
        for (frame, cell), w in joint.items():
            frames[frame] += w
            cells[cell] += w
        expected = entropy(frames.values()) + entropy(cells.values()) - entropy(joint.values())
        assert float(taught) == pytest.approx(expected, abs=1e-4)
        if name == "white noise" and lag:
            assert expected == pytest.approx(0, abs=1e-9)
        p = enumeration.condition(p, enumeration.observe(state))


@pytest.mark.slow
def test_planner_goes_straight_to_the_object_and_greedy_only_if_it_happens_to_see_its_room():
    world = make_world("fixed_and_noise", num_steps=40)
    planned = first_visit(world, planner(world, num_steps=16), channel=1, num_episodes=16)
    myopic = first_visit(world, greedy(world), channel=1, num_episodes=16)
    assert planned.mean() < 16
    assert planned.max() < 40
    assert myopic.mean() > planned.mean() + 5


def test_a_seeker_walks_straight_to_where_it_sees_most_of_a_moving_objects_room():
    """In Experiment 4, six steps up to (3, 9), from where 20 of the 48 cells are in view."""
    world = EXPERIMENTS["exp4"].world
    assert seek_path(world, "brownian") == (1,) * 6
    assert len(seek_path(world, "fixed")) == len(search_path(world, "fixed", width=256).actions)


def test_searching_for_something_that_moves_is_refused():
    with pytest.raises(NdigoError, match="moves"):
        search_path(EXPERIMENTS["exp3"].world, "upper")
