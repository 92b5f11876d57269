"""The noisy tile's law, and what exact NDIGO pays for it: predictions by hand, in NumPy."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from stream_worlds import corridor_to_goal

from ndigo.errors import NdigoError
from ndigo.evaluation.coverage import place_of
from ndigo.gate import check_world
from ndigo.rewards.ndigo import ndigo_reward
from ndigo.worlds import make_world
from ndigo.worlds.noise import CHANNEL, with_noisy_tile

N, ASK = 6, 0  # values; the action that asks for a new one
T = 840  # a multiple of every period up to 8


@cache
def player(changed_by: int | None) -> Any:
    world = with_noisy_tile(corridor_to_goal(), num_values=N, changed_by=changed_by)

    def body(state: Any, step: Any) -> Any:
        return world.step(step[0], state, step[1]), world.observe(state)["noise"].ravel()[0]

    def play(key: Any, a_t: Any) -> Any:
        last, seen = jax.lax.scan(body, world.reset(key), (jax.random.split(key, len(a_t)), a_t))
        return jnp.append(seen, world.observe(last)["noise"].ravel()[0])

    return jax.jit(play)


def values(changed_by: int | None, a_t: tuple[int, ...]) -> np.ndarray:
    """The tile along these actions, [T+1]; the corridor's end is never reached."""
    return np.asarray(player(changed_by)(jax.random.key(1), np.array(a_t)))


def asking_every(period: int) -> tuple[int, ...]:
    return tuple(ASK if t % period == 0 else 1 for t in range(T))


def exact_pay(changed_by: int | None, a_t: tuple[int, ...], H: int) -> np.ndarray:
    """NDIGO-H by the exact prediction: certain where no new value can have come since, else one of N."""
    value_t = values(changed_by, a_t)
    loss_tk = np.zeros((T, H + 1))
    for t in range(T):
        for k in range(1, H + 2):
            if t + k > T:
                continue
            is_new = changed_by is None or ASK in a_t[t : t + k]
            chance = 1 / N if is_new else float(value_t[t + k] == value_t[t])
            loss_tk[t, k - 1] = -np.log(chance)  # infinite if the tile broke its law
    return np.asarray(ndigo_reward(jnp.asarray(loss_tk), H))


@pytest.mark.parametrize("H", [1, 2, 4])
def test_what_stays_until_asked_pays_ln_n_over_h_plus_1_per_step_for_ever(H):
    paid = exact_pay(ASK, asking_every(H + 1), H)
    periods = paid[: T - T % (H + 1)].reshape(-1, H + 1).sum(axis=1)
    np.testing.assert_allclose(periods[1:], np.log(N), rtol=1e-6)


def test_no_other_period_pays_more():
    rates = {period: exact_pay(ASK, asking_every(period), 2)[2:].mean() for period in range(1, 9)}
    assert max(rates, key=lambda period: rates[period]) == 3
    assert rates[3] == pytest.approx(np.log(N) / 3, rel=0.01)
    np.testing.assert_allclose([rates[1], rates[2]], 0, atol=1e-6)  # asked again before H steps: nothing


@pytest.mark.parametrize("H", [1, 4])
def test_white_noise_pays_nothing(H):
    np.testing.assert_array_equal(exact_pay(None, asking_every(3), H), 0)


def test_a_new_value_is_each_of_n_alike():
    for changed_by in (None, ASK):
        counts = np.bincount(values(changed_by, asking_every(1)), minlength=N)
        assert ((counts - T / N) ** 2 / (T / N)).sum() < 20.5  # chi-square of 5 degrees: one in a thousand is above


def test_a_tile_of_many_values_shows_them_all():
    world = with_noisy_tile(corridor_to_goal(), num_values=300)
    check_world(world)
    state = jax.jit(world.reset)(jax.random.key(0))
    shown = world.observe(eqx.tree_at(lambda s: s.value, state, jnp.int32(299)))["noise"]
    assert int(shown.squeeze()) == 299
    assert world.frame.wrong(jax.tree.map(lambda x: x[None], world.observe(state))) is None


def test_the_noise_is_no_place():
    """The corridor says nothing of places: its five cells are five frames, whatever the tile shows."""
    inner = dataclasses.replace(corridor_to_goal(), place=None)
    world = with_noisy_tile(inner)
    keys = jax.random.split(jax.random.key(0), 40)
    states = [world.step(key, world.reset(key), 0) for key in keys]
    at = [dataclasses.replace(state.inner, cell=jnp.int32(i % 5)) for i, state in enumerate(states)]
    states += [dataclasses.replace(state, inner=inner) for state, inner in zip(states, at, strict=True)]
    assert len({int(state.value) for state in states}) == N
    assert len({int(place_of(world, state)) for state in states}) == 5
    named = with_noisy_tile(corridor_to_goal())
    assert named.place is not None
    assert [int(named.place(state)) for state in states] == [int(state.inner.cell) for state in states]


def test_what_the_world_knows_and_shows_of_itself_is_passed_on():
    maze = make_world("maze")
    drawn = dataclasses.replace(maze, draw=lambda state: np.full((2, 2, 3), 7, np.uint8))
    world = with_noisy_tile(drawn)
    check_world(world)
    state = world.reset(jax.random.key(0))
    assert world.truth is not None
    assert maze.truth is not None
    assert (world.objects, world.map_shape) == (maze.objects, maze.map_shape)
    for ours, theirs in zip(jax.tree.leaves(world.truth(state)), jax.tree.leaves(maze.truth(state.inner)), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert world.draw is not None
    np.testing.assert_array_equal(world.draw(state), np.full((2, 2, 3), 7))


def test_it_is_a_world_whose_tile_is_a_channel_and_whose_rest_is_as_before():
    inner = corridor_to_goal()
    world = with_noisy_tile(inner, changed_by=ASK)
    check_world(world)
    assert world.channels[-1] == CHANNEL
    assert [c.name for c in world.channels[:-1]] == [f"seen.{c.name}" for c in inner.channels]
    with pytest.raises(NdigoError, match="has actions 0 to 2"):
        with_noisy_tile(inner, changed_by=3)
