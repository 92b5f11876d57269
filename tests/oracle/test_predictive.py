"""Open-loop prediction against the sum over every state of tiny worlds."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference.enumeration import State

from ndigo.experiments import EXPERIMENTS
from ndigo.oracle import exact_horizon, ideal_table, make_filter
from ndigo.oracle.predictive import predict_views
from oracle.tiny import TINY, roam, tiny

STEPS = 8


def tables_of_walk(name, a_t, states, K):
    """The oracle's table and the enumeration's, [T, K] and [T, K, C] each; NaN beyond the end."""
    world, enumeration = tiny(name)
    filter_ = make_filter(world)
    frames = jnp.asarray(np.stack([enumeration.frame(s) for s in states]))
    ours = jax.jit(lambda a, o: ideal_table(filter_, filter_.run(a, o), a, o, K))(jnp.asarray(a_t), frames)
    T, C = len(a_t), frames.shape[-1]
    frame, channels = np.full((T, K), np.nan), np.full((T, K, C), np.nan)
    p = enumeration.initial()
    for t in range(T):
        p = enumeration.condition(enumeration.step(p, a_t[t - 1]) if t else p, enumeration.observe(states[t]))
        q = p
        for k in range(1, min(K, T - t) + 1):
            q = enumeration.step(q, a_t[t + k - 1])
            o = enumeration.observe(states[t + k])
            frame[t, k - 1] = -np.log(enumeration.observations(q)[o])
            channels[t, k - 1] = [-np.log(enumeration.channel(q, o, c)) for c in range(C)]
    return ours, frame, channels


@pytest.mark.parametrize("name", TINY)
def test_predicted_frames_have_the_enumerated_probability(name):
    K = min(6, exact_horizon(tiny(name)[0]))
    for seed in range(2):
        a_t, states = roam(tiny(name)[1], np.random.default_rng(seed), STEPS)
        ours, frame, channels = tables_of_walk(name, a_t, states, K)
        np.testing.assert_allclose(ours.frame, frame, atol=2e-5)
        np.testing.assert_allclose(ours.channels, channels, atol=2e-5)


def test_walls_and_objects_are_dependent_when_a_block_is_possible():
    """Walking blind into a room, the walls one sees tell whether the object stood in the way."""
    enumeration = tiny("fixed")[1]
    actions = np.array([3, 3, 3])
    states: list[State] = [(enumeration.start, (((2, 5), 0),))]
    for a in actions:
        states.append(enumeration.sample(np.random.default_rng(0), enumeration.step({states[-1]: 1.0}, int(a))))
    ours, frame, _ = tables_of_walk("fixed", actions, states, 3)
    np.testing.assert_allclose(ours.frame, frame, atol=2e-5)
    # By hand, k = 2: it is on one of 6 cells, as 2 of the room's 8 are in view from the start. The walls
    # show that it blocked (1/6). Alone, the object at the agent's right has two causes: it blocked, or
    # the agent went on and it is one cell further. Given the walls it says nothing new.
    assert float(ours.frame[0, 1]) == pytest.approx(np.log(6), abs=1e-5)
    np.testing.assert_allclose(ours.channels[0, 1], [np.log(6), np.log(3)], atol=1e-5)


@pytest.mark.parametrize("name", ["fixed and brownian", "bouncing and movable"])
def test_prediction_is_exact_up_to_the_horizon_and_not_for_ever(name):
    """Into one room, across to the other, and back: the story that the horizon is made of."""
    world, enumeration = tiny(name)
    actions = np.array([4] * 3 + [3] * 6 + [4] * 3)
    gap = np.zeros(len(actions))
    filter_ = make_filter(world)
    table = jax.jit(lambda a, o: ideal_table(filter_, filter_.run(a, o), a, o, len(actions)))
    for seed in range(8):
        rng = np.random.default_rng(seed)
        states = [enumeration.sample(rng, enumeration.initial())]
        for a in actions:
            states.append(enumeration.sample(rng, enumeration.step({states[-1]: 1.0}, int(a))))
        ours = table(jnp.asarray(actions), jnp.asarray(np.stack([enumeration.frame(s) for s in states])))
        p = enumeration.condition(enumeration.initial(), enumeration.observe(states[0]))
        for k, a in enumerate(actions):
            p = enumeration.step(p, int(a))
            exact = -np.log(enumeration.observations(p)[enumeration.observe(states[k + 1])])
            gap[k] = max(gap[k], abs(float(ours.frame[0, k]) - exact))
    horizon = exact_horizon(world)
    assert gap[:horizon].max() < 2e-5
    assert gap.max() > 0.1


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=EXPERIMENTS.keys())
def test_prediction_is_exact_as_far_as_the_papers_rewards_look(experiment):
    """NDIGO-10 needs k = 11."""
    assert exact_horizon(experiment.world) >= 11


def test_predicted_views_are_the_enumerated_marginals():
    world, enumeration = tiny("fixed and brownian")
    filter_ = make_filter(world)
    p = enumeration.initial()
    state = next(iter(p))
    p = enumeration.condition(p, enumeration.observe(state))
    b_t = filter_.init(jnp.asarray(enumeration.frame(state)))
    actions = [3, 3, 1, 3]
    for a in actions:
        p = enumeration.step(p, a)
    expected = np.zeros((2, 10))
    for (agent, places), weight in p.items():
        for i, (cell, _) in enumerate(places):
            offset = enumeration.seen(agent, cell)
            expected[i, 9 if offset is None else (offset[0] + 1) * 3 + offset[1] + 1] += weight
    np.testing.assert_allclose(predict_views(filter_.tables, b_t, jnp.array(actions)), expected, atol=1e-6)
