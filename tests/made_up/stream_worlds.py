"""Worlds whose episodes end by themselves, small enough that all they do is known."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Any

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ndigo import frames
from ndigo.interop.suites import from_gymnasium
from ndigo.worlds import World, make_world
from ndigo.worlds.host import Host

NUM_BITS = 10  # of the episode's name


class Count(eqx.Module):
    t: Array
    length: Array  # steps of this episode
    name: Array  # of this episode, drawn
    last_action: Array


def counting(longest: int = 6) -> World:
    """Every frame tells its step, its episode's length and name, and the action before it.

    Lengths are 1 .. longest. An episode of even length terminates, one of odd length is cut. The task pays the step's
    number for action 1.
    """

    def reset(key: Array) -> Count:
        key_length, key_name = jax.random.split(key)
        return Count(
            t=jnp.int32(0),
            length=jax.random.randint(key_length, (), 1, longest + 1),
            name=jax.random.randint(key_name, (), 0, 2**NUM_BITS),
            last_action=jnp.int32(0),
        )

    def observe(s: Count) -> Array:
        numbers = [(s.t, 4), (s.length, 4), (s.name, NUM_BITS), (s.last_action, 2)]
        return jnp.concatenate([(n >> jnp.arange(size)) & 1 for n, size in numbers]).astype(jnp.uint8)[None, None]

    def ends(s: Count) -> tuple[Array, Array]:
        return s.t >= s.length, (s.t >= s.length) & (s.length % 2 == 0)

    return World(
        name="counting",
        frame=frames.bits([f"bit{i}" for i in range(10 + NUM_BITS)], 1),
        actions=("a", "b", "c"),
        num_steps=longest,
        reset=reset,
        step=lambda key, s, a: Count(t=s.t + 1, length=s.length, name=s.name, last_action=jnp.asarray(a, jnp.int32)),
        observe=observe,
        ends=ends,
        task_reward=lambda s: jnp.where(s.last_action == 1, s.t, 0).astype(jnp.float32),
        place=lambda s: s.t,
        events=("at two", "after b"),
        happens=lambda s: jnp.stack([s.t == 2, (s.t > 0) & (s.last_action == 1)]),
    )


class Timed(eqx.Module):
    state: Any
    t: Array


def short_rooms(length: int = 20) -> World:
    """The five rooms of Experiment 1 with episodes that end after `length` of their 400 steps."""
    rooms = make_world("fixed_and_noise")
    assert rooms.truth is not None
    truth = rooms.truth
    return dataclasses.replace(
        rooms,
        name="short_rooms",
        reset=lambda key: Timed(rooms.reset(key), jnp.int32(0)),
        step=lambda key, s, a: Timed(rooms.step(key, s.state, a), s.t + 1),
        observe=lambda s: rooms.observe(s.state),
        truth=lambda s: truth(s.state),
        ends=lambda s: (s.t >= length, s.t < 0),
    )


def read_count(o_t: Any) -> tuple[np.ndarray, ...]:
    """Step, length, name and last action of each frame [..., 1, 1, C]."""
    bits = np.asarray(o_t)[..., 0, 0, :].astype(np.int32)
    cuts = [(0, 4), (4, 8), (8, 8 + NUM_BITS), (8 + NUM_BITS, 10 + NUM_BITS)]
    return tuple((bits[..., i:j] << np.arange(j - i)).sum(axis=-1) for i, j in cuts)


class CountingEnv(gymnasium.Env):
    """`counting` as an environment of Gymnasium, in NumPy."""

    def __init__(self, longest: int = 6):
        self.longest, self.action_space = longest, gymnasium.spaces.Discrete(3)
        self.render_mode = "rgb_array"
        self.observation_space = gymnasium.spaces.Box(0, 1, (1, 1, 10 + NUM_BITS), np.uint8)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.t, self.last_action = 0, 0
        self.length, self.name = (int(self.np_random.integers(*ends)) for ends in ((1, self.longest + 1), (0, 1024)))
        return self._frame(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        assert self.t < self.length, "an episode that is over goes on"
        self.t, self.last_action = self.t + 1, action
        is_last, is_even = self.t == self.length, self.length % 2 == 0
        return self._frame(), float(self.t * (action == 1)), is_last and is_even, is_last and not is_even, {}

    def render(self) -> np.ndarray:
        """A picture that says the step."""
        return np.full((2, 3, 3), self.t, np.uint8)

    def _frame(self) -> np.ndarray:
        numbers = [(self.t, 4), (self.length, 4), (self.name, NUM_BITS), (self.last_action, 2)]
        return np.array([[[n >> i & 1 for n, size in numbers for i in range(size)]]], np.uint8)


def hosted_counting(longest: int = 6) -> World:
    """`counting` where the host steps it, in this process."""
    world = from_gymnasium(
        lambda: CountingEnv(longest),
        name="counting",
        num_steps=longest,
        place=lambda env: env.t,
        events={"at two": lambda env, _: env.t == 2, "after b": lambda env, _: env.t > 0 and env.last_action == 1},
    )
    assert world.host is not None
    make = world.host.open
    return dataclasses.replace(world, host=Host(lambda num, _: make(num, 0), world.host.open_drawn))


@cache  # one record per length: runs in it share their programs
def corridor_to_goal(length: int = 5) -> World:
    """Walk left and right from the left end; the right end pays 1 and terminates. Cut after four times its length."""

    class State(eqx.Module):
        cell: Array
        t: Array

    def step(key: Array, s: State, a: Array) -> State:
        return State(cell=jnp.clip(s.cell + jnp.array([0, -1, 1])[a], 0, length - 1), t=s.t + 1)

    def is_there(s: State) -> Array:
        return s.cell == length - 1

    return World(
        name="corridor_to_goal",
        frame=frames.bits([f"cell{i}" for i in range(length)], 1),
        actions=("stay", "left", "right"),
        num_steps=4 * length,
        reset=lambda key: State(cell=jnp.int32(0), t=jnp.int32(0)),
        step=step,
        observe=lambda s: (jnp.arange(length) == s.cell).astype(jnp.uint8)[None, None],
        ends=lambda s: (is_there(s) | (s.t >= 4 * length), is_there(s)),
        task_reward=lambda s: is_there(s).astype(jnp.float32),
        place=lambda s: s.cell,
    )
