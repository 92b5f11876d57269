"""Agents that need no training: they choose actions by what the exact filter says a frame would teach.

What a frame o teaches about an object is counted about where it will be `lag` steps later, because an
information that does not last is worth nothing: it is what makes white noise pay 0,

    I(o_{t+1}; y_{t+1+lag} | h_t, a_t) = H[y_{t+1+lag}] - E_o H[y_{t+1+lag} | o]          (nats)

`greedy` maximises it one step ahead. `planner` walks towards the cell whose shortest path promises most,
sum_s gamma^s I_s along the path as long as nothing is seen on it: for still objects that is the expected
information itself, since a still object once seen teaches no more; for others it counts the first sight
only. Between equals, both choose at random, so a greedy agent that expects nothing walks at random.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import entr
from jaxtyping import Array, Float, Int

from ndigo.oracle.exactness import free_cells
from ndigo.oracle.filter import Belief, Filter, Tables, make_filter
from ndigo.oracle.motion import Motion
from ndigo.oracle.search import first_steps
from ndigo.types import Policy
from ndigo.worlds import World

LAG = 4  # ours; as far as the paper's NDIGO-4 looks
Lesson = Callable[[Float[Array, "D S"], Int[Array, ""]], Float[Array, ""]]  # belief, agent's cell -> nats


def greedy(world: World, lag: int = LAG) -> Policy:
    """Takes the action whose next frame is expected to teach most."""
    filter_ = make_filter(world)
    lessons = [information(filter_.tables, i, lag) for i in range(len(filter_.tables.motions))]

    def choose(key: Array, b_t: Belief) -> Array:
        def gain(a_t: Array) -> Array:
            after = filter_.predict(b_t, a_t)
            return sum(
                (lesson(f, after.agent) for lesson, f in zip(lessons, after.objects, strict=True)), jnp.float32(0)
            )

        return _best(key, jax.vmap(gain)(jnp.arange(world.num_actions)))

    return _filtering(filter_, choose)


def planner(world: World, lag: int = LAG, gamma: float = 0.97, num_steps: int = 30) -> Policy:
    """Walks towards the cell whose shortest path is expected to teach most within `num_steps`."""
    filter_ = make_filter(world)
    tables = filter_.tables
    free = free_cells(tables)
    lessons = [information(tables, i, lag) for i in range(len(tables.motions))]
    toward = jnp.asarray(first_steps(tables, free))  # [goal, F]

    def value(b_t: Belief, goal: Array) -> Array:
        def body(carry: tuple[Belief, Array, Array], s: Array):
            b, p_unseen, total = carry
            after = filter_.predict(b, toward[goal, b.agent])
            gains, unseen, objects = [], [], []
            for i, (lesson, f) in enumerate(zip(lessons, after.objects, strict=True)):
                hidden = f * (1 - jnp.asarray(tables.in_view[i])[after.agent])
                gains.append(lesson(f, after.agent))
                unseen.append(hidden.sum())
                objects.append(hidden / jnp.maximum(hidden.sum(), 1e-9))
            total = total + gamma**s * (p_unseen * jnp.stack(gains)).sum()
            return (Belief(agent=after.agent, objects=tuple(objects)), p_unseen * jnp.stack(unseen), total), None

        first = (b_t, jnp.ones(len(lessons)), jnp.float32(0))
        return jax.lax.scan(body, first, jnp.arange(num_steps))[0][2]

    def choose(key: Array, b_t: Belief) -> Array:
        goal = _best(key, jax.vmap(lambda g: value(b_t, g))(jnp.arange(len(free))))
        return toward[goal, b_t.agent]

    return _filtering(filter_, choose)


def _filtering(filter_: Filter, choose: Callable[[Array, Belief], Array]) -> Policy:
    """A policy whose state is a key and the exact belief before the next frame."""

    def act(o_t: Array, a_tm1: Array, state: tuple[Array, Belief]) -> tuple[Array, tuple[Array, Belief]]:
        key, before = state
        key, key_choice = jax.random.split(key)
        b_t = filter_.correct(before, o_t)
        a_t = choose(key_choice, b_t)
        return a_t, (key, filter_.predict(b_t, a_t))

    return Policy(lambda key: (key, filter_.prior), act)


def _best(key: Array, value: Float[Array, " A"]) -> Int[Array, ""]:
    """The index of the largest value, at random among those within rounding of it."""
    is_best = value >= value.max() - 1e-5
    return jnp.argmax(is_best * jax.random.uniform(key, value.shape, minval=0.5))


def information(tables: Tables, i: int, lag: int) -> Lesson:
    """What a view teaches about object i's cell `lag` steps later, from its belief before the view."""
    motion, in_view = tables.motions[i], jnp.asarray(tables.in_view[i])
    later = _later(motion, lag)  # [D, S, S]
    entropy_later = np.asarray(entr(later[0])).sum(axis=-1)

    def frame_entropy(f: Float[Array, "D S"], agent: Int[Array, ""]) -> Float[Array, ""]:
        """For an object that stays: the frame is a function of its cell, so I(o; y) = H[o]."""
        seen = f.sum(axis=0) * in_view[agent]
        return entr(seen).sum() + entr(jnp.maximum(1 - seen.sum(), 0))

    def lasting(f: Float[Array, "D S"], agent: Int[Array, ""]) -> Float[Array, ""]:
        # p(o, y): an outcome o is a cell in view, or "absent"; the directions in it stay mixed.
        seen, hidden = f * in_view[agent], f * (1 - in_view[agent])
        p_seen = seen.sum(axis=0)
        p_later = jnp.einsum("ds,dsy->y", f, later, precision="highest")
        absent = jnp.einsum("ds,dsy->y", hidden, later, precision="highest")
        if len(later) == 1:
            # The same sum without its S*S logarithms: seen, the object's cell is known, and so is H[y | cell].
            of_seen = entr(p_seen).sum() + (p_seen * entropy_later).sum()
        else:
            of_seen = entr(jnp.einsum("ds,dsy->sy", seen, later, precision="highest")).sum()
        of_outcome = entr(p_seen).sum() + entr(absent.sum())
        return jnp.maximum(entr(p_later).sum() + of_outcome - of_seen - entr(absent).sum(), 0)

    if np.array_equal(later[0], np.eye(later.shape[1])):
        return frame_entropy
    if np.ptp(later, axis=(0, 1)).max() < 1e-6:  # the past says nothing about it
        return lambda f, agent: jnp.float32(0)
    return lasting


def _later(motion: Motion, lag: int) -> Float[np.ndarray, "D S S"]:
    """p(cell after `lag` steps | state now) for an object that the agent leaves alone."""
    shape = motion.prior.shape
    states = jnp.eye(motion.prior.size).reshape(-1, *shape)
    nowhere = jnp.full(states.shape[0], -1)
    for _ in range(lag):
        states = motion.move(states, jnp.zeros_like(states), nowhere)
    return np.asarray(states.sum(axis=1)).reshape(*shape, -1)
