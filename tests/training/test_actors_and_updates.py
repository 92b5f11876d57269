"""What an actor of a stream does slot by slot, against a plain loop; and when a host's round learns, by its rule."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chisquare

from ndigo.training.streams.actor import Draws, advance, decide, draw_slots, new_actor
from ndigo.training.streams.host_slots import drawing
from ndigo.training.streams.hosted import spread_over_slots

A, EPSILON, S = 3, 0.3, 400


class Shown:
    """Its best action is the one it is shown; its state adds up what it was told."""

    def step(self, o_t: Any, a_tm1: Any, h_tm1: Any) -> tuple[Any, Any]:
        return h_tm1 + 10 * o_t + a_tm1, jax.nn.one_hot(o_t, A)


def test_an_actor_repeats_for_as_long_as_its_stretch_lasts_and_begins_anew_with_its_episode():
    rng = np.random.default_rng(0)
    is_last, best, r_t = rng.random(S) < 0.1, rng.integers(A, size=S), rng.normal(size=S).astype(np.float32)
    drawn: tuple[Any, ...] = rng.random(S) < EPSILON, rng.integers(1, 5, S), rng.integers(A, size=S)

    @jax.jit
    def play(*slots: Any) -> Any:
        def body(actor: Any, slot: Any) -> Any:
            o_t, over, r, draw = slot
            did = decide(Shown(), jnp.float32(EPSILON), A, o_t, actor, draw)
            seen = actor.is_first, actor.time, actor.a_tm1, actor.h_tm1[0]
            return advance(actor, did, over, r, None), (did.a_t, did.mu_t, *seen)

        return jax.lax.scan(body, new_actor(None, 1), slots)

    after, found = play(best, is_last, r_t, Draws(*drawn))
    is_due, length, random = drawn
    by_chance, expected, finished = EPSILON / A, [], np.zeros(3)
    left = action = t = a_tm1 = h = 0
    earned = 0.0
    for s in range(S):
        seen = t == 0, t, a_tm1, h
        if left:
            a, mu, left = action, 1.0, left - 1
        else:
            begins = is_due[s]
            a = action = int(random[s] if begins else best[s])
            left = int(length[s]) - 1 if begins else 0
            mu = by_chance + (1 - EPSILON if a == best[s] else 0)
        expected.append((a, mu, *seen))
        t, a_tm1, h, earned = t + 1, a, h + 10 * int(best[s]) + a_tm1, earned + r_t[s]
        if is_last[s]:  # the frame looked at was the episode's last: t - 1 steps, and nothing earned after it
            finished += 1, t - 1, earned - r_t[s]
            left = t = a_tm1 = h = 0
            earned = 0.0
    for ours, theirs in zip(found, zip(*expected, strict=True), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    np.testing.assert_allclose(after.finished, finished, rtol=1e-4)
    assert finished[0] > 20


def test_what_is_drawn_for_a_slot_has_its_law_and_one_part_of_it_tells_nothing_of_another():
    num = 30_000
    draws = jax.jit(partial(draw_slots, num_slots=num, num_actions=A, longest=3))(jax.random.key(0), jnp.float32(0.3))
    found = np.zeros((2, 3, A))
    np.add.at(found, (np.asarray(draws.is_due, int), np.asarray(draws.length) - 1, np.asarray(draws.action)), 1)
    one, two = 6 / np.pi**2, 6 / np.pi**2 / 4
    chances = np.einsum("i,j,k->ijk", [0.7, 0.3], [one, two, 1 - one - two], np.full(A, 1 / A))
    assert chisquare(found.ravel(), num * chances.ravel()).pvalue > 1e-3


def test_each_of_a_hosts_actors_has_draws_of_its_own():
    epsilons = jnp.array([1.0, 1.0, 0.5])
    draws = drawing(40, A, 4, epsilons)(jax.random.split(jax.random.key(0), 2))
    assert draws.action.shape == (2, 3, 40)
    assert len(np.unique(np.asarray(draws.action).reshape(6, 40), axis=0)) == 6
    assert np.asarray(draws.is_due)[:, :2].all()


@dataclass(frozen=True)
class Learned:
    params: int  # as many as updates


@dataclass(frozen=True)
class Rounds:
    num_added: np.ndarray


@dataclass(frozen=True)
class State:
    learner: Learned
    rows: Rounds
    key: Any
    crowd: None = None


@pytest.mark.parametrize(("num_updates", "num_slots"), [(3, 7), (5, 5), (7, 3)])
def test_a_hosts_updates_are_spread_over_its_slots_each_with_a_key_of_its_own(num_updates, num_slots):
    """Those of a round learn from the rounds before it; its actors follow the network before the update under way."""
    acted, learned_from, keys, parents = [], [], [], []

    def collect(policy: Any, key: Any, crowd: Any, told: Any, at_slot: Any) -> Any:
        parents.append(key[0])
        for t in range(num_slots):
            acted.append(policy())
            at_slot(t, told)
        return crowd, told, None

    def store(rows: Rounds, params: int, slots: None, crowd: None) -> Any:
        return Rounds(rows.num_added + 1), crowd

    def learn(learner: Learned, rows: Rounds, key: Any) -> Any:
        learned_from.append(int(rows.num_added[0]))
        keys.append(key[0])
        return Learned(learner.params + 1), jnp.zeros((1, 1))

    def begin(*_: Any) -> Any:
        return None, None

    run_rounds = spread_over_slots(num_updates, num_slots, begin, collect, store, learn, lambda params: params)
    state = State(Learned(0), Rounds(np.zeros(1, int)), jax.random.split(jax.random.key(0), 1))
    state, numbers = run_rounds(state, 3)
    assert numbers.shape == (1, 3 * num_updates)
    assert learned_from == [round_ for round_ in (1, 1, 2) for _ in range(num_updates)]
    ahead = [max(math.ceil(t * num_updates / num_slots) - 1, 0) for t in range(num_slots)]
    assert acted == [0] * num_slots + [updates + n for updates in (num_updates, 2 * num_updates) for n in ahead]
    drawn = [key for parent in parents for key in (parent, *jax.random.split(parent, num_updates))]
    words = [tuple(jax.random.key_data(key).tolist()) for key in (state.key[0], *drawn, *keys)]
    assert len(set(words)) == len(words)
