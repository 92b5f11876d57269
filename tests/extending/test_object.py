"""A kind of object added from outside, against a loop of one's own; one world with it is walked by every command."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
from extending.patrol import world

from ndigo.interop.numpy_world import NumpyWorld
from ndigo.oracle import make_filter

ROOM = [(row, col) for row in (1, 2, 3) for col in (5, 6, 7)]  # in reading order
WEST = [(row, col) for row in (1, 2, 3) for col in (1, 2, 3)]
MOVES = [(0, 0), (-1, 0), (1, 0), (0, 1), (0, -1)]  # stay, up, down, right, left
WALKS = np.random.default_rng(0).choice(5, (40, 12), p=[0.1, 0.15, 0.15, 0.5, 0.1])  # to the door, and through it


def slow_path(guard, actions):
    """Where agent and guard are at each frame, by hand; noise that blocks nobody is left out."""
    agent, free = (2, 2), {*ROOM, *WEST, (2, 4)}
    path = [(agent, guard)]
    for action in actions:
        target = (agent[0] + MOVES[action][0], agent[1] + MOVES[action][1])
        agent = target if target in free and target != guard else agent
        after = ROOM[(ROOM.index(guard) + 1) % 9]
        guard = guard if after == agent else after
        path.append((agent, guard))
    return path


def seen(path):
    """Where in the 3x3 view the guard is at each frame, or None."""
    by = [(g[0] - a[0], g[1] - a[1]) for a, g in path]
    return [d if max(abs(d[0]), abs(d[1])) <= 1 else None for d in by]


@jax.jit
def play(reset_words, step_words, a_t):
    """Truth and frames of one episode under given words, in JAX."""
    grid = world.grid
    assert grid is not None
    assert world.truth is not None
    states = [grid.reset_from(reset_words)]
    for words, a in zip(step_words, a_t, strict=True):
        states.append(grid.step_from(words, states[-1], a))
    return [(world.truth(state), world.observe(state)) for state in states]


def test_it_moves_as_its_law_says_in_jax_and_in_plain_python():
    grid, plain = world.grid, NumpyWorld(world)
    assert grid is not None
    rng, bumps = np.random.default_rng(1), 0

    for a_t in WALKS[:10]:
        reset_words = rng.integers(2**32, size=grid.num_reset_words, dtype=np.uint32)
        step_words = rng.integers(2**32, size=(12, grid.num_step_words), dtype=np.uint32)
        frames = jax.device_get(play(reset_words, step_words, jnp.asarray(a_t)))
        path = slow_path(tuple(frames[0][0].objects[0]), a_t)
        plain.reset_from(reset_words.tolist())
        for t, ((truth, o_t), (agent, guard)) in enumerate(zip(frames, path, strict=True)):
            if t:
                plain.step_from(step_words[t - 1].tolist(), int(a_t[t - 1]))
            assert (tuple(truth.agent), tuple(truth.objects[0])) == (agent, guard)
            np.testing.assert_array_equal(plain.observe(), o_t)
        bumps += sum(g == h for (_, g), (_, h) in itertools.pairwise(path))
    assert bumps  # it has waited for the agent


def test_the_exact_filter_keeps_the_starts_that_explain_what_was_seen():
    """The guard's law draws nothing: all nine starts are played by hand, and those that show other frames fall out."""
    filter_, rng, sizes = make_filter(world), np.random.default_rng(2), set()
    locate = jax.jit(lambda a_t, o_t: jax.vmap(filter_.locate)(filter_.run(a_t, o_t))[:, 0])

    for a_t in WALKS[10:20]:
        frames = jax.device_get(
            play(rng.integers(2**32, size=2, dtype=np.uint32), rng.integers(2**32, size=(12, 1), dtype=np.uint32), a_t)
        )
        paths = [slow_path(start, a_t) for start in ROOM]
        actual = paths[ROOM.index(tuple(frames[0][0].objects[0]))]
        p_t = np.asarray(locate(jnp.asarray(a_t), jnp.asarray(np.stack([o_t for _, o_t in frames]))))
        for t, p in enumerate(p_t):
            # What a start shows is the guard in view, and the agent's way, which the walls betray.
            same = [path for path in paths if seen(path)[: t + 1] == seen(actual)[: t + 1]]
            same = [path for path in same if [a for a, _ in path[: t + 1]] == [a for a, _ in actual[: t + 1]]]
            expected = np.zeros((5, 9))
            for path in same:
                expected[path[t][1]] += 1 / len(same)
            np.testing.assert_allclose(p.reshape(5, 9), expected, atol=1e-5)
            sizes.add(len(same))
    assert {1, 9} < sizes
