"""Rewards of the exact filter against the sum over every state, and what they may and may not read."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from oracle.tiny import roam, tiny
from random_windows import random_window

from ndigo.errors import NdigoError
from ndigo.rewards import make_reward
from ndigo.types import Seen

NAMES = ("ideal-pe", "ideal-ndigo-2", "ig", "ig-2")
STEPS = 10


def judge(world, names=NAMES):
    """name -> r_tc of an episode, in one program."""
    judges = {}
    for name in names:
        on_episode = make_reward(name).on_episode
        assert on_episode is not None
        judges[name] = on_episode(world)
    return jax.jit(lambda a_t, o_t: {name: pay(None, a_t, o_t) for name, pay in judges.items()})


def enumerated(enumeration, a_t, states):
    """The same rewards from their definitions, state by state: [T, C] each."""
    T, C = len(a_t), 1 + len(enumeration.things)
    seen = [enumeration.observe(s) for s in states]
    after = [enumeration.condition(enumeration.initial(), seen[0])]
    before = [enumeration.initial()]
    for t in range(T):
        before.append(enumeration.step(after[t], a_t[t]))
        after.append(enumeration.condition(before[-1], seen[t + 1]))

    def loss(s, t):
        """L_{s|t}: for each object its own, and for the walls what is left of the whole frame's."""
        p = after[t]
        for a in a_t[t:s]:
            p = enumeration.step(p, a)
        objects = [-np.log(enumeration.channel(p, seen[s], c)) for c in range(1, C)]
        return np.array([-np.log(enumeration.observations(p)[seen[s]]) - sum(objects), *objects])

    def gain(t, i, lag):
        """KL of object i's place `lag` steps after frame t, the agent being where it blocks nobody."""
        places = []
        for p in (after[t], before[t]):
            p = {((0, 0), objects): sum(w for s, w in p.items() if s[1] == objects) for objects in {s[1] for s in p}}
            for _ in range(lag):
                p = enumeration.step(p, 0)
            marginal: dict = {}
            for (_, objects), w in p.items():
                marginal[objects[i]] = marginal.get(objects[i], 0) + w
            places.append(marginal)
        return sum(w * np.log(w / places[1][y]) for y, w in places[0].items())

    r = {name: np.zeros((T, C)) for name in NAMES}
    for t in range(T):
        r["ideal-pe"][t] = loss(t + 1, t)
        if t >= 2:  # frame t-1 is paid for what it says of frame t+1
            r["ideal-ndigo-2"][t] = loss(t + 1, t - 2) - loss(t + 1, t - 1)
        for name, lag in (("ig", 0), ("ig-2", 2)):
            r[name][t, 1:] = [gain(t + 1, i, lag) for i in range(C - 1)]
    return r


def test_rewards_on_an_episode_are_their_definitions_over_every_state():
    world, enumeration = tiny("fixed and brownian")
    pay = judge(world)
    largest: dict[str, float] = {}
    for seed in range(4):
        a_t, states = roam(enumeration, np.random.default_rng(seed), STEPS)
        ours = pay(jnp.asarray(a_t), jnp.asarray(np.stack([enumeration.frame(s) for s in states])))
        for reward, expected in enumerated(enumeration, a_t, states).items():
            np.testing.assert_allclose(ours[reward], expected, atol=3e-5, err_msg=reward)
            largest[reward] = max(largest.get(reward, 0.0), float(abs(expected).max()))
    assert min(largest.values()) > 0.1


def test_a_stored_reward_is_paid_as_it_was_stored_and_all_of_it_is_known():
    window = random_window(0, T=5, streams=(2,), start=100)
    seen = Seen(window=window, z_t=jnp.zeros(0), b_t=jnp.zeros(0), loss_tk=None)
    paid = make_reward("ig").pay(None, None, None, seen)
    np.testing.assert_array_equal(paid.r_tc, window.r_tc)
    np.testing.assert_allclose(paid.r_t, np.asarray(window.r_tc).sum(axis=-1), rtol=1e-5)
    assert paid.is_known.all()
    without = dataclasses.replace(seen, window=dataclasses.replace(window, r_tc=None))
    with pytest.raises(NdigoError, match="computed when an episode is collected"):
        make_reward("ig").pay(None, None, None, without)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ideal-icm", "reward icm has no ideal"),
        ("ideal-pg", "reward pg has no ideal"),
        ("ideal-ig", "reward ig has no ideal"),
        ("ideal-ndigo", "write ndigo-H"),
        ("ideal-curiosity", "unknown reward 'curiosity'"),
        ("ig-", "write ig, or ig-L"),
        ("ig-1.5", "write ig, or ig-L"),
    ],
)
def test_bad_name_is_one_clear_error(name, message):
    with pytest.raises(NdigoError, match=message):
        make_reward(name)


def test_a_world_whose_prediction_is_not_exact_that_far_is_refused():
    on_episode = make_reward("ideal-ndigo-10").on_episode
    assert on_episode is not None
    with pytest.raises(NdigoError, match="further than is exact in world fixed and brownian"):
        on_episode(tiny("fixed and brownian")[0])
