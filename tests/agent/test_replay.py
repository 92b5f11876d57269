"""The replay ring: what was added last is what can be drawn, each row whole and each as often."""

from __future__ import annotations

import dataclasses
from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from random_windows import random_window
from scipy.stats import chisquare
from small_frames import bits_shaped

from ndigo.agent import make_replay, window_starts
from ndigo.errors import NdigoError
from ndigo.frames.bits import pack, unpack
from ndigo.types import Window, action_type

T, SHAPE = 3, (3, 3, 2)


@jax.jit
def rows_of(numbers) -> Window:
    """Packed rows [R, T, ...] that carry their number in every numeric field."""
    R = len(numbers)
    windows = jax.tree.map(lambda *x: jnp.stack(x), *(random_window(row, T=T) for row in range(R)))

    def carry(x, dtype):
        return jnp.broadcast_to(numbers.reshape(R, *(1,) * (x.ndim - 1)), x.shape).astype(dtype)

    return Window(
        o_t=jax.vmap(pack)(windows.o_t),
        a_tm1=carry(windows.a_tm1, jnp.int8),
        a_t=carry(windows.a_t, jnp.int8),
        mu_t=carry(windows.mu_t, jnp.float32),
        belief=carry(windows.belief, jnp.float32),
        agent_state=carry(windows.agent_state, jnp.float32),
        start=carry(windows.start, jnp.int32),
        cells=carry(windows.cells, jnp.int16),
        r_tc=carry(windows.r_tc, jnp.float32),
    )


@cache
def ring(capacity: int):
    """Compiled once for all tests."""
    replay = make_replay(capacity=capacity, frame=bits_shaped(SHAPE))
    return dataclasses.replace(
        replay,
        init=jax.jit(replay.init),
        add=jax.jit(replay.add),
        pick=jax.jit(replay.pick, static_argnums=2),
        open=jax.jit(replay.open),
    )


def first(rows: Window) -> Window:
    return jax.tree.map(lambda x: np.asarray(x)[0], rows)


def filled(capacity: int, num_blocks: int, block: int = 2):
    """A ring after some blocks, whose rows are numbered 1, 2, ..."""
    replay = ring(capacity)
    rows = replay.init(first(rows_of(np.arange(1))))
    for i in range(num_blocks):
        rows = replay.add(rows, rows_of(np.arange(1 + i * block, 1 + (i + 1) * block)))
    return replay, rows


@pytest.mark.parametrize(
    ("num_blocks", "expected"),
    [(1, {1, 2}), (2, {1, 2, 3, 4}), (3, {1, 2, 3, 4, 5, 6}), (4, {3, 4, 5, 6, 7, 8}), (8, {11, 12, 13, 14, 15, 16})],
)
def test_ring_returns_exactly_the_newest_rows_and_never_an_unwritten_one(num_blocks, expected):
    replay, rows = filled(6, num_blocks)
    window = replay.open(replay.pick(jax.random.key(0), rows, 200))
    assert set(np.asarray(window.start).tolist()) == expected


def test_sampling_is_uniform_over_the_rows():
    replay, rows = filled(6, 4)
    drawn = np.asarray(replay.open(replay.pick(jax.random.key(1), rows, 3000)).start)
    counts = [int((drawn == number).sum()) for number in range(3, 9)]
    assert sum(counts) == 3000
    assert chisquare(counts).pvalue > 1e-3


def test_fields_of_a_drawn_row_belong_together():
    replay, rows = filled(6, 3)
    w = jax.device_get(replay.open(replay.pick(jax.random.key(0), rows, 20)))
    assert w.r_tc is not None
    for field in (w.a_tm1, w.a_t, w.mu_t, w.cells[..., 0], w.r_tc[..., 0]):
        np.testing.assert_array_equal(field, np.broadcast_to(w.start, field.shape))
    for state in (w.belief, w.agent_state):
        np.testing.assert_array_equal(state, np.broadcast_to(w.start[:, None], state.shape))
    assert (w.o_t.shape, w.a_t.shape, w.cells.shape) == ((T + 1, 20, *SHAPE), (T, 20), (T + 1, 20, 1))


def test_frames_come_back_as_they_went_in():
    replay, window = ring(1), random_window(5, T=T)
    packed = eqx.tree_at(lambda w: w.o_t, window, jax.jit(pack)(window.o_t))
    row = jax.tree.map(lambda x: np.asarray(x)[None], packed)
    rows = replay.add(replay.init(first(row)), row)
    np.testing.assert_array_equal(replay.open(replay.pick(jax.random.key(0), rows, 1)).o_t[:, 0], window.o_t)


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 3, 2), (5, 5, 3), (5, 5, 8), (7, 7, 4)])
def test_packing_keeps_every_bit(shape):
    o_t = np.random.default_rng(0).integers(2, size=(4, 2, *shape)).astype(np.uint8)
    packed = jax.jit(pack)(o_t)
    assert packed.shape == (4, 2, -(-np.prod(shape) // 8))
    np.testing.assert_array_equal(jax.jit(unpack, static_argnums=1)(packed, shape), o_t)


def test_block_that_does_not_divide_the_ring_is_refused():
    replay, rows = filled(6, 1)
    with pytest.raises(ValueError, match="blocks of 4 windows do not fill a ring of 6"):
        replay.add(rows, rows_of(np.arange(1, 5)))


@pytest.mark.parametrize(
    ("num_steps", "T", "starts"),
    [(400, 100, (0, 100, 200, 300)), (10, 4, (0, 4, 6)), (10, 10, (0,)), (5, 4, (0, 1)), (4, 1, (0, 1, 2, 3))],
)
def test_windows_cover_an_episode_and_the_last_one_ends_with_it(num_steps, T, starts):
    assert window_starts(num_steps, T) == starts


def test_window_longer_than_an_episode_is_refused():
    with pytest.raises(NdigoError, match="window 100: longer than an episode of 20 steps"):
        window_starts(20, 100)


@pytest.mark.parametrize("num_actions", [1, 128, 129, 40_000])
def test_actions_are_stored_as_small_as_holds_them_all_and_none(num_actions):
    stored = np.array([-1, num_actions - 1]).astype(action_type(num_actions))
    assert stored.tolist() == [-1, num_actions - 1]
    assert stored.itemsize == (1 if num_actions <= 128 else 4)
