"""Worlds so small that what should be learned in them is known, and is learned in seconds.

Each has a 1x1 view: an observation is a handful of channels. They follow the `World` record and
nothing else, as a user's own world would.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ndigo import frames
from ndigo.types import Paid, Seen
from ndigo.worlds import Channel, World


def _bits(*values: Array) -> Array:
    """Channels of a 1x1 view."""
    return jnp.concatenate([jnp.atleast_1d(v) for v in values]).astype(jnp.uint8)[None, None]


def corridor(length: int = 5, num_steps: int = 12) -> World:
    """Walk left and right; each cell lights a channel of its own. Nothing is random, so all can be predicted."""

    def step(key, cell, a_t):
        return jnp.clip(cell + jnp.array([0, -1, 1])[a_t], 0, length - 1)

    return World(
        name="corridor",
        frame=frames.bits([f"cell{i}" for i in range(length)], 1),
        actions=("stay", "left", "right"),
        num_steps=num_steps,
        reset=lambda key: jnp.int32(length // 2),
        step=step,
        observe=lambda cell: _bits(jnp.arange(length) == cell),
    )


def coin_flip(num_steps: int = 20) -> World:
    """One bit, fair and new at every step, whatever one does."""
    return World(
        name="coin_flip",
        frame=frames.bits(["coin"], 1),
        actions=("stay", "wave"),
        num_steps=num_steps,
        reset=lambda key: jax.random.bernoulli(key).astype(jnp.int32),
        step=lambda key, coin, a_t: jax.random.bernoulli(key).astype(jnp.int32),
        observe=lambda coin: _bits(coin),
    )


class Arms(eqx.Module):
    arm: Array  # 0 in the hall, 1 with the noise, 2 with the object
    symbol: Array  # of the object, drawn once
    noise: Array  # drawn at every step


HALL, NOISE, OBJECT = 0, 1, 2
NUM_SYMBOLS = 3  # bits of a symbol: 8 of them


def two_arms(num_steps: int = 8) -> World:
    """From a hall one enters, for good, the noise's arm or the object's: each shows one of 8 symbols.

    The noise's symbol is new at every step; the object's is drawn once an episode. The first sight of
    the object is worth ln 8 of what comes after it, and the noise nothing.
    """

    def draw(key):
        return jax.random.randint(key, (), 0, 2**NUM_SYMBOLS)

    def reset(key):
        key_symbol, key_noise = jax.random.split(key)
        return Arms(arm=jnp.int32(HALL), symbol=draw(key_symbol), noise=draw(key_noise))

    def step(key, state, a_t):
        arm = jnp.where(state.arm == HALL, a_t, state.arm)
        return Arms(arm=arm, symbol=state.symbol, noise=draw(key))

    def observe(state):
        shown = jnp.select([state.arm == NOISE, state.arm == OBJECT], [state.noise, state.symbol], 0)
        bits = (shown >> jnp.arange(NUM_SYMBOLS)) & 1
        return _bits(bits, state.arm == NOISE, state.arm == OBJECT)

    return World(
        name="two_arms",
        frame=frames.bits(
            [
                *(f"bit{i}" for i in range(NUM_SYMBOLS)),
                Channel("noise", "one_hot"),  # one-hot, so that visits are counted
                Channel("object", "one_hot"),
            ],
            1,
        ),
        actions=("wait", "to the noise", "to the object"),
        num_steps=num_steps,
        reset=reset,
        step=step,
        observe=observe,
    )


class Riddle(eqx.Module):
    t: Array
    cue: Array
    has_waited: Array
    is_right: Array


WAIT = 0


def memory(num_steps: int = 4) -> World:
    """A cue is shown in o_0 alone. Two steps later the action must name it; o_3 shows whether it did.

    The action in between must be "wait": the network is told its last action, and an agent without a
    memory would carry the cue in it.
    """

    def reset(key):
        cue = jax.random.randint(key, (), 0, 2)
        return Riddle(t=jnp.int32(0), cue=cue, has_waited=jnp.bool_(False), is_right=jnp.bool_(False))

    def step(key, state, a_t):
        return Riddle(
            t=state.t + 1,
            cue=state.cue,
            has_waited=(state.t == 1) & (a_t == WAIT),
            is_right=(state.t == 2) & state.has_waited & (a_t == 1 + state.cue),
        )

    return World(
        name="memory",
        # one-hot, so that visits are counted
        frame=frames.bits(["cue 0", "cue 1", "asked", Channel("right", "one_hot")], 1),
        actions=("wait", "zero", "one"),
        num_steps=num_steps,
        reset=reset,
        step=step,
        observe=lambda s: _bits((s.t == 0) & (s.cue == 0), (s.t == 0) & (s.cue == 1), s.t == 2, s.is_right),
    )


def pay_right_answers(params, reward_memory, model, seen: Seen) -> Paid:
    """1 for each action after which the last channel is lit."""
    r_t = seen.window.o_t[1:, ..., 0, 0, -1].astype(jnp.float32)
    return Paid(r_t=r_t, r_tc=None, is_known=jnp.ones(r_t.shape, bool), loss=jnp.float32(0.0))


class Ticks(eqx.Module):
    t: Array
    episode: Array
    last_action: Array


NUM_STEP_BITS, NUM_EPISODE_BITS = 5, 11


def clock(num_steps: int) -> World:
    """Every frame tells its step, its episode (a random number) and the action before it."""

    def reset(key):
        return Ticks(
            t=jnp.int32(0), episode=jax.random.randint(key, (), 0, 2**NUM_EPISODE_BITS), last_action=jnp.int32(0)
        )

    def observe(state):
        numbers = [(state.t, NUM_STEP_BITS), (state.episode, NUM_EPISODE_BITS), (state.last_action, 2)]
        return jnp.concatenate([(n >> jnp.arange(size)) & 1 for n, size in numbers]).astype(jnp.uint8)[None, None]

    return World(
        name="clock",
        frame=frames.bits([f"bit{i}" for i in range(NUM_STEP_BITS + NUM_EPISODE_BITS + 2)], 1),
        actions=("a", "b", "c"),
        num_steps=num_steps,
        reset=reset,
        step=lambda key, s, a_t: Ticks(t=s.t + 1, episode=s.episode, last_action=jnp.asarray(a_t, jnp.int32)),
        observe=observe,
    )


def read_clock(o_t: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Step, episode and last action of each frame."""
    bits = np.asarray(o_t)[..., 0, 0, :].astype(np.int32)
    cuts = [0, NUM_STEP_BITS, NUM_STEP_BITS + NUM_EPISODE_BITS, bits.shape[-1]]
    step, episode, action = ((bits[..., i:j] << np.arange(j - i)).sum(axis=-1) for i, j in pairwise(cuts))
    return step, episode, action
