"""Beliefs and open-loop predictions against the sum over every state of tiny worlds."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference.enumeration import State

from ndigo.oracle import exact_horizon, ideal_table, make_filter
from ndigo.oracle.predictive import predict_views
from ndigo.paper.experiments import EXPERIMENTS
from ndigo.worlds import Object, grid_world, read_layout
from oracle.tiny import TINY, roam, tiny

STEPS, K = 9, 6


def judge(name, K):
    """a_t, o_t -> where each object may be [T+1, N, cells], and the table of losses, in one program."""
    filter_ = make_filter(tiny(name)[0])

    def run(a_t, o_t):
        b_t = filter_.run(a_t, o_t)
        return b_t.agent, jax.vmap(filter_.locate)(b_t), ideal_table(filter_, b_t, a_t, o_t, K)

    return jax.jit(run)


def frames_of(enumeration, states):
    return jnp.asarray(np.stack([enumeration.frame(s) for s in states]))


def posteriors(enumeration, a_t, states):
    """The joint distribution of everything after each frame."""
    p = enumeration.condition(enumeration.initial(), enumeration.observe(states[0]))
    found = [p]
    for a, state in zip(a_t, states[1:], strict=True):
        found.append(enumeration.condition(enumeration.step(found[-1], a), enumeration.observe(state)))
    return found


def enumerated_table(enumeration, a_t, states, known, K):
    """-ln p of each frame, of its channels and of its walls cell by cell, from what is known; NaN beyond the end."""
    T, C = len(a_t), 1 + len(enumeration.things)
    frame, channels, wall_cells = np.full((T, K), np.nan), np.full((T, K, C), np.nan), np.full((T, K), np.nan)
    for t, q in enumerate(known[:-1]):
        for k in range(1, min(K, T - t) + 1):
            q = enumeration.step(q, a_t[t + k - 1])
            o = enumeration.observe(states[t + k])
            frame[t, k - 1] = -np.log(enumeration.observations(q)[o])
            channels[t, k - 1] = [-np.log(enumeration.channel(q, o, c)) for c in range(C)]
            is_as_seen = np.array([np.equal(enumeration.walls(agent), o[0]) for agent, _ in q], float)
            wall_cells[t, k - 1] = -np.log(np.array(list(q.values())) @ is_as_seen).sum()
    return frame, channels, wall_cells


@pytest.mark.parametrize("name", TINY)
def test_beliefs_and_predictions_are_those_of_a_sum_over_every_state(name):
    """The product of the objects' beliefs is the joint posterior, and predicted frames have their probability."""
    world, enumeration = tiny(name)
    run = judge(name, min(K, exact_horizon(world)))
    assert world.map_shape is not None
    cols, stride = world.map_shape[1], make_filter(world).tables.stride
    for seed in range(2):
        a_t, states = roam(enumeration, np.random.default_rng(seed), STEPS)
        agent, located, table = jax.device_get(run(jnp.asarray(a_t), frames_of(enumeration, states)))
        known = posteriors(enumeration, a_t, states)
        for t, p in enumerate(known):
            assert {cell for cell, _ in p} == {states[t][0]}, "the agent's cell must follow from the history"
            assert agent[t] == states[t][0][0] * stride + states[t][0][1]
            joint = np.zeros((located.shape[-1],) * len(enumeration.things))
            for (_, places), weight in p.items():
                joint[tuple(r * cols + c for (r, c), _ in places)] += weight
            product = located[t, 0] if len(located[t]) == 1 else np.multiply.outer(located[t, 0], located[t, 1])
            np.testing.assert_allclose(product, joint, atol=1e-6)
        frame, channels, wall_cells = enumerated_table(enumeration, a_t, states, known, table.frame.shape[1])
        np.testing.assert_allclose(table.frame, frame, atol=2e-5)
        np.testing.assert_allclose(table.channels, channels, atol=2e-5)
        np.testing.assert_allclose(table.wall_cells, wall_cells, atol=5e-5)
        np.testing.assert_allclose(table.by_chain().sum(axis=-1), frame, atol=5e-5)


def test_walls_and_objects_are_dependent_when_a_block_is_possible():
    """Walking blind into a room, the walls one sees tell whether the object stood in the way."""
    enumeration = tiny("fixed")[1]
    actions = np.array([3, 3, 3])
    states: list[State] = [(enumeration.start, (((2, 5), 0),))]
    for a in actions:
        states.append(enumeration.sample(np.random.default_rng(0), enumeration.step({states[-1]: 1.0}, int(a))))
    ours = judge("fixed", 3)(jnp.asarray(actions), frames_of(enumeration, states))[2]
    known = posteriors(enumeration, actions, states)
    np.testing.assert_allclose(ours.frame, enumerated_table(enumeration, actions, states, known, 3)[0], atol=2e-5)
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
    run = judge(name, len(actions))
    for seed in range(8):
        rng = np.random.default_rng(seed)
        states = [enumeration.sample(rng, enumeration.initial())]
        for a in actions:
            states.append(enumeration.sample(rng, enumeration.step({states[-1]: 1.0}, int(a))))
        ours = run(jnp.asarray(actions), frames_of(enumeration, states))[2]
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


def test_a_large_map_has_a_horizon():
    """No story takes 8 steps: 14 columns lie between the rooms, and one sees 2 of them."""
    row = "a" * 13 + "c" * 14 + "b" * 13
    rows = ["#" * 42, *[f"#{row}#"] * 20, f"#{row[:20]}P{row[21:]}#", *[f"#{row}#"] * 19, "#" * 42]
    layout = read_layout("\n".join(rows), {"a": "A", "b": "B", "c": "C"})
    objects = [Object("one", "fixed", ("A",)), Object("two", "fixed", ("B",))]
    assert exact_horizon(grid_world("large", layout, objects), 8) == 8


def test_predicted_views_are_the_enumerated_marginals():
    world, enumeration = tiny("fixed and brownian")
    filter_ = make_filter(world)
    p = enumeration.initial()
    state = next(iter(p))
    p = enumeration.condition(p, enumeration.observe(state))
    actions = [3, 3, 1, 3]
    for a in actions:
        p = enumeration.step(p, a)
    expected = np.zeros((2, 10))
    for (agent, places), weight in p.items():
        for i, (cell, _) in enumerate(places):
            offset = enumeration.seen(agent, cell)
            expected[i, 9 if offset is None else (offset[0] + 1) * 3 + offset[1] + 1] += weight
    look = jax.jit(lambda o_t, a: predict_views(filter_.tables, filter_.init(o_t), a))
    np.testing.assert_allclose(look(enumeration.frame(state), np.array(actions)), expected, atol=1e-6)
