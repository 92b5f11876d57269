"""Streams: actors in a world whose episodes end by themselves, one after another.

A slot holds one frame. After a frame that ends its episode stands the first frame of the next, and the "step" between
them is none (`types.Window`). An actor goes on from round to round where it was; its belief and its network's state are
stored before every window, as of the round they were computed in (R2D2's stored states).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from ndigo.agent import QNetwork, actor_epsilons, draw_lengths, time_first
from ndigo.config import Config
from ndigo.devices.parts import ALONE, Parts
from ndigo.errors import NdigoError
from ndigo.evaluation.streams import Note, note
from ndigo.evaluation.true_cells import object_cells
from ndigo.networks import Core
from ndigo.rewards import IntrinsicReward
from ndigo.training.resets import begin_where
from ndigo.types import Twins, Window
from ndigo.worlds import World


class Actor(eqx.Module):
    """One actor between two slots: its world, what it carries from frame to frame, and its finished episodes."""

    state: Any  # the world's
    is_first: Bool[Array, ""]  # whether it looks at the first frame of an episode
    time: Int[Array, ""]  # the frame's step in its episode
    a_tm1: Int[Array, ""]
    h_tm1: Float[Array, " D"]  # the Q-network's state
    left: Int[Array, ""]  # steps left of its random stretch
    repeated: Int[Array, ""]  # the stretch's action
    task_return: Float[Array, ""]  # of this episode, undiscounted
    finished: Float[Array, " 3"]  # episodes, and the sums of their steps and of their task returns


class Slots(eqx.Module):
    """What S slots leave; the first four have one more, of the frame after them."""

    o_t: Any  # packed
    a_tm1: Int[Array, " S+1"]
    is_first: Bool[Array, " S+1"]
    is_terminal: Bool[Array, " S+1"]
    cells: Int[Array, "S+1 N"]
    time: Int[Array, " S+1"]
    a_t: Int[Array, " S"]
    mu_t: Float[Array, " S"]
    task_t: Float[Array, " S"]
    h_tm1: Float[Array, "S D"]


def new_actor(world: World, key: Array, size: int) -> Actor:
    """At the first frame of an episode."""
    zero = jnp.int32(0)
    return Actor(
        state=world.reset(key),
        is_first=jnp.bool_(True),
        time=zero,
        a_tm1=zero,
        h_tm1=jnp.zeros(size),
        left=zero,
        repeated=zero,
        task_return=jnp.float32(0),
        finished=jnp.zeros(3),
    )


def play_slots(
    world: World,
    policy: Any,
    key: Array,
    actor: Actor,
    epsilon: Float[Array, ""],
    num_slots: int,
    longest: int,
    note: Callable[[Any], Any] = lambda state: None,
) -> tuple[Actor, Slots, Any]:
    """S slots of one actor, epsilon-z-greedy (`agent/exploration.py`); a stretch ends with its episode.

    Also what is to be noted of each of the S+1 states.
    """
    assert world.ends is not None
    key_step, key_reset, key_begin, key_length, key_action = jax.random.split(key, 5)
    draws = (
        jax.random.split(key_step, num_slots),
        jax.random.split(key_reset, num_slots),
        jax.random.uniform(key_begin, (num_slots,)) < epsilon,
        draw_lengths(key_length, num_slots, longest),
        jax.random.randint(key_action, (num_slots,), 0, world.num_actions),
    )
    by_chance = epsilon / world.num_actions

    def look(actor: Actor) -> tuple[Any, ...]:
        is_terminal = world.ends(actor.state)[1]  # type: ignore[misc]
        cells = object_cells(world, actor.state)
        return world.frame.pack(world.observe(actor.state)), actor.a_tm1, actor.is_first, is_terminal, cells, actor.time

    def body(actor: Actor, draw: Any) -> tuple[Actor, Any]:
        key_step, key_reset, is_due, length, random_a = draw
        is_last = world.ends(actor.state)[0]  # type: ignore[misc]
        h_t, q_t = policy.step(world.observe(actor.state), actor.a_tm1, actor.h_tm1)
        greedy = q_t.argmax(axis=-1).astype(jnp.int32)
        is_repeat, begins = actor.left > 0, (actor.left == 0) & is_due
        a_t = jnp.where(is_repeat, actor.repeated, jnp.where(begins, random_a, greedy))
        chance = jnp.where(is_repeat, 1.0, jnp.where(a_t == greedy, 1 - epsilon + by_chance, by_chance))
        state = begin_where(world.reset, is_last, key_reset, world.step(key_step, actor.state, a_t))
        r_t = jnp.float32(0) if world.task_reward is None else world.task_reward(state).astype(jnp.float32)
        r_t = jnp.where(is_last, 0.0, r_t)
        left = jnp.where(is_repeat, actor.left - 1, jnp.where(begins, length - 1, 0))
        over = is_last.astype(jnp.float32)
        after = Actor(
            state=state,
            is_first=is_last,
            time=jnp.where(is_last, 0, actor.time + 1),
            a_tm1=jnp.where(is_last, 0, a_t),
            h_tm1=jnp.where(is_last, 0.0, h_t),
            left=jnp.where(is_last, 0, left),
            repeated=a_t,
            task_return=jnp.where(is_last, 0.0, actor.task_return + r_t),
            finished=actor.finished + over * jnp.stack([over, actor.time.astype(jnp.float32), actor.task_return]),
        )
        told = jnp.where(is_last, 0, a_t), jnp.where(is_last, 1.0, chance), r_t, actor.h_tm1
        return after, ((look(actor), note(actor.state)), told)

    after, (seen, steps) = lax.scan(body, actor, draws)
    end = (look(after), note(after.state))
    frames, notes = jax.tree.map(lambda x_t, x: jnp.concatenate([x_t, jnp.asarray(x)[None]]), seen, end)
    return after, Slots(*frames, *steps), notes


def cut_slots(slots: Slots, T: int, num_actions: int) -> Window:
    """One actor's slots as its replay rows, [W, T, ...], frames packed; their beliefs are not known yet."""
    num = len(slots.a_t) // T
    small = jnp.int8 if num_actions <= 127 else jnp.int32  # how the replay stores actions

    def rows(x_t: Any, more: int = 0) -> Any:
        return jnp.stack([x_t[w * T : (w + 1) * T + more] for w in range(num)])

    return Window(
        o_t=rows(slots.o_t, 1),
        a_tm1=rows(slots.a_tm1, 1).astype(small),
        a_t=rows(slots.a_t).astype(small),
        mu_t=rows(slots.mu_t),
        belief=jnp.zeros((num, 0)),
        agent_state=slots.h_tm1[::T],
        start=slots.time[:-1:T],
        cells=rows(slots.cells, 1),
        is_first=rows(slots.is_first, 1),
        discount_t=rows(1.0 - slots.is_terminal[1:]),
        task_t=rows(slots.task_t),
    )


def believe(world: World, core: Core, rows: Window, b_tm1: Float[Array, "E D"]) -> tuple[Window, Float[Array, "E D"]]:
    """The rows [E, W, ...] of E actors with the beliefs before each of them, and the beliefs after the last."""

    def body(b_tm1: Array, row: Window) -> tuple[Array, Array]:
        z_t = core.encoder(time_first(world.frame.unpack(row.o_t[:, :-1])))
        assert row.is_first is not None
        b_t = core.unroll(z_t, row.a_tm1[:, :-1].T.astype(jnp.int32), b_tm1, row.is_first[:, :-1].T)
        return b_t[-1], b_tm1

    after, before = lax.scan(body, b_tm1, time_first(rows))
    return eqx.tree_at(lambda w: w.belief, rows, jnp.swapaxes(before, 0, 1)), after


class Crowd(eqx.Module):
    """The actors of one seed between two rounds."""

    actors: Actor  # [E, ...]
    b_tm1: Float[Array, "E D"]  # the beliefs before the frames they look at


@dataclass(frozen=True)
class Streams:
    """The streams of one seed, in the precision of the networks they are given."""

    start: Callable[[Array, QNetwork, Core], Crowd]  # key, policy, model's core
    explore: Callable[[Array, QNetwork, Core, Crowd], tuple[Window, Crowd]]  # a round's windows, packed
    be_greedy: Callable[[Array, QNetwork, Core], tuple[Window, Note]]  # from an episode's start on, and what was noted
    windows_per_round: int


def make_streams(config: Config, world: World, reward: IntrinsicReward, by: Twins, parts: Parts = ALONE) -> Streams:
    if reward.on_episode is not None:
        raise NdigoError(
            f"reward {reward.name} is computed on whole episodes of one length; those of {world.name} end by themselves"
        )
    num_windows = max(config.round_steps // config.window, 1)
    epsilons = actor_epsilons(config.actors, config.first_epsilon, config.last_epsilon)
    epsilons, longest = (jnp.ones_like(epsilons), 1) if reward.acts_at_random else (epsilons, config.longest_stretch)
    greedy = jnp.float32(reward.acts_at_random)

    def start(key: Array, policy: QNetwork, core: Core) -> Crowd:
        keys = parts.own(jax.random.split(key, config.actors))
        actors = jax.vmap(lambda key: new_actor(world, key, policy.size))(keys)
        return Crowd(actors=actors, b_tm1=jnp.zeros((len(keys), core.size)))

    def explore(key: Array, policy: QNetwork, core: Core, crowd: Crowd) -> tuple[Window, Crowd]:
        acting, num_slots = by.joined(policy), num_windows * config.window

        def one(key: Array, actor: Actor, epsilon: Array) -> tuple[Actor, Window]:
            actor, slots, _ = play_slots(world, acting, key, actor, epsilon, num_slots, longest)
            return actor, cut_slots(slots, config.window, world.num_actions)

        keys = jax.random.split(key, config.actors)
        actors, rows = jax.vmap(one)(parts.own(keys), crowd.actors, parts.own(epsilons))
        rows, b_tm1 = believe(world, core, rows, crowd.b_tm1)
        return jax.tree.map(lambda x: lax.collapse(x, 0, 2), rows), Crowd(actors=actors, b_tm1=b_tm1)

    def be_greedy(key: Array, policy: QNetwork, core: Core) -> tuple[Window, Note]:
        acting = by.joined(policy)

        def one(key: Array) -> tuple[Window, Note]:
            key_reset, key_play = jax.random.split(key)
            actor, noting = new_actor(world, key_reset, policy.size), partial(note, world)
            _, slots, notes = play_slots(world, acting, key_play, actor, greedy, world.num_steps, 1, noting)
            whole = cut_slots(slots, world.num_steps, world.num_actions)
            stream = jax.tree.map(lambda x: x[0], whole)
            return eqx.tree_at(lambda w: w.belief, stream, jnp.zeros(core.size)), notes

        return jax.vmap(one)(jax.random.split(key, config.evaluation_episodes))

    per_round = config.actors // parts.num * num_windows
    return Streams(start=start, explore=explore, be_greedy=be_greedy, windows_per_round=per_round)
