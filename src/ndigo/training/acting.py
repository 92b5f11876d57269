"""Episodes: a world, the Q-network that acts in it, and the beliefs it would have had.

The belief never steers the agent, so it is unrolled after the episode, over all frames at once; only
the policy runs step by step.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int, UInt8

from ndigo.agent import QNetwork, draw_stretches, pack, unpack, window_starts
from ndigo.evaluation.glass_box import object_cells
from ndigo.kernels import on_gpu
from ndigo.networks import Core
from ndigo.types import Window
from ndigo.worlds import World

STEPS_A_TURN = 4  # of the loop on a GPU: what a turn costs by itself, a kernel or two, is shared


class Episode(eqx.Module):
    """One episode of S steps and S+1 frames; frames are packed."""

    o_t: UInt8[Array, "S+1 P"]
    a_tm1: Int[Array, " S+1"]
    cells: Int[Array, "S+1 N"]
    a_t: Int[Array, " S"]
    mu_t: Float[Array, " S"]
    q_state: Float[Array, "S//M D"]  # before every M-th frame


def run_episode(
    world: World, q: QNetwork, key: Array, epsilon: Float[Array, ""], every: int = 1, longest_stretch: int = 1
) -> Episode:
    """Plays one episode epsilon-z-greedily; an epsilon of 1 acts at random, stretches of 1 are epsilon-greedy.

    The Q-network's state is kept before every `every`-th frame, which divides the episode.
    """
    S, A = world.num_steps, world.num_actions
    key_reset, key_world, key_explore = jax.random.split(key, 3)
    # Drawn before the loop: inside it each draw would be a kernel of its own.
    keys = jax.random.split(key_world, S)
    stretches = draw_stretches(key_explore, epsilon, S, A, longest_stretch)
    small = jnp.int8 if A <= 127 else jnp.int32  # how the replay stores actions
    policy, turn = q.for_steps(), min(STEPS_A_TURN, every) if on_gpu() else 1

    def record(state, a_tm1, was_greedy):
        """A frame and how the agent came to it."""
        return world.observe(state), object_cells(world, state), a_tm1.astype(small), was_greedy

    def body(carry, step):
        *seen, h_tm1 = carry
        state, a_tm1, _ = seen
        key_step, is_random, random_a = step
        h_t, q_t = policy.step(world.observe(state), a_tm1, h_tm1)
        greedy = best(q_t)
        a_t = jnp.where(is_random, random_a, greedy)
        return (world.step(key_step, state, a_t), a_t, (a_t == greedy).astype(jnp.uint8), h_t), as_bytes(record(*seen))

    def stretch(carry, steps):
        ahead, records = lax.scan(body, carry, steps, unroll=turn)
        return ahead, (records, carry[-1])

    # b_0 = GRU(z_0, stay, 0): action 0 stands before the first frame.
    first = (world.reset(key_reset), jnp.int32(0), jnp.uint8(0), jnp.zeros(q.core.size))
    steps = jax.tree.map(
        lambda x: x.reshape(S // every, every, *x.shape[1:]), (keys, stretches.is_random, stretches.a_t)
    )
    (*last, _), (records, q_state) = lax.scan(stretch, first, steps)
    end = record(*last)
    records = jnp.concatenate([records.reshape(S, -1), as_bytes(end)[None]])
    o_t, cells, a_tm1, was_greedy = from_bytes(records, end)
    chosen = jnp.where(was_greedy[1:] == 1, 1 - epsilon + epsilon / A, epsilon / A)
    return Episode(
        o_t=pack(o_t),
        a_tm1=a_tm1,
        cells=cells,
        a_t=a_tm1[1:],
        mu_t=jnp.where(stretches.is_repeat, 1.0, chosen),  # a stretch once begun leaves no choice
        q_state=q_state,
    )


# On a GPU each array that a loop writes to is a kernel of its own, and so is each sum or maximum over an axis. Hence
# all of a step is written as one array, and the best action is found by comparing, one action after another.


def best(q: Float[Array, " A"]) -> Int[Array, ""]:
    """The first of the largest."""
    largest, where = q[0], jnp.int32(0)
    for a in range(1, len(q)):
        is_larger = q[a] > largest
        largest, where = jnp.where(is_larger, q[a], largest), jnp.where(is_larger, a, where)
    return where


def as_bytes(arrays: Sequence[Array]) -> UInt8[Array, " bytes"]:
    """Arrays of whole numbers end to end, the low byte of each first."""
    parts = [(x.ravel() >> 8 * i if i else x.ravel()).astype(jnp.uint8) for x in arrays for i in range(x.itemsize)]
    return jnp.concatenate(parts)


def from_bytes(rows: UInt8[Array, "S bytes"], like: Sequence[Array]) -> list[Array]:
    """The arrays of which `as_bytes` made each row, given one row's."""
    arrays, start = [], 0
    for x in like:
        parts = [rows[:, start + i * x.size : start + (i + 1) * x.size].astype(x.dtype) for i in range(x.itemsize)]
        whole = functools.reduce(operator.or_, (part << 8 * i if i else part for i, part in enumerate(parts)))
        arrays.append(whole.reshape(len(rows), *x.shape))
        start += x.nbytes
    return arrays


def beliefs(core: Core, episodes: Episode, shape: tuple[int, int, int]) -> Float[Array, "E S+1 D"]:
    """b_t after every frame of a batch of episodes [E, ...]."""
    z_t = core.encoder(jnp.swapaxes(unpack(episodes.o_t, shape), 0, 1))
    b_t = core.unroll(z_t, episodes.a_tm1.T.astype(jnp.int32), jnp.zeros((len(episodes.a_t), core.size)))
    return jnp.swapaxes(b_t, 0, 1)


def cut_windows(
    episode: Episode, b_t: Float[Array, "S+1 D"], T: int, r_tc: Float[Array, "S C"] | None = None
) -> Window:
    """An episode as its replay rows, [W, T, ...], frames packed, each with the states before its first frame."""
    starts = window_starts(len(episode.a_t), T)
    every = len(episode.a_t) // len(episode.q_state)

    def rows(x_t: Array, length: int) -> Array:
        return jnp.stack([x_t[s : s + length] for s in starts])

    return Window(
        o_t=rows(episode.o_t, T + 1),
        a_tm1=rows(episode.a_tm1, T + 1),
        a_t=rows(episode.a_t, T),
        mu_t=rows(episode.mu_t, T),
        belief=jnp.stack([b_t[s - 1] if s else jnp.zeros_like(b_t[0]) for s in starts]),
        q_state=jnp.stack([episode.q_state[s // every] for s in starts]),
        start=jnp.array(starts, jnp.int32),
        cells=rows(episode.cells, T + 1),
        r_tc=None if r_tc is None else rows(r_tc, T),
    )
