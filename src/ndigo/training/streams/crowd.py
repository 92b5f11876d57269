"""All actors of one seed: how they explore round by round, and the greedy ones that are measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from ndigo.agent import QNetwork, actor_epsilons
from ndigo.config import Config
from ndigo.devices.parts import ALONE, Parts
from ndigo.errors import NdigoError
from ndigo.evaluation.streams import Note, note
from ndigo.networks import Core
from ndigo.rewards import IntrinsicReward
from ndigo.training.streams.actor import Actor, new_actor
from ndigo.training.streams.slots import believe, cut_slots, play_slots
from ndigo.types import Twins, Window
from ndigo.worlds import World


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


class Exploring(NamedTuple):
    """How the actors of a round act, and for how long."""

    num_windows: int  # of each actor
    epsilons: Float[Array, " E"]
    longest: int  # random stretch
    greedy: Float[Array, ""]  # the epsilon of those that are measured: 0, or 1 for who acts at random


def exploring(config: Config, world: World, reward: IntrinsicReward) -> Exploring:
    if reward.on_episode is not None:
        raise NdigoError(
            f"reward {reward.name} is computed on whole episodes of one length; those of {world.name} end by themselves"
        )
    epsilons = actor_epsilons(config.actors, config.first_epsilon, config.last_epsilon)
    epsilons, longest = (jnp.ones_like(epsilons), 1) if reward.acts_at_random else (epsilons, config.longest_stretch)
    num_windows = max(config.round_steps // config.window, 1)
    return Exploring(num_windows, epsilons, longest, jnp.float32(reward.acts_at_random))


def make_streams(config: Config, world: World, reward: IntrinsicReward, by: Twins, parts: Parts = ALONE) -> Streams:
    num_windows, epsilons, longest, greedy = exploring(config, world, reward)

    def start(key: Array, policy: QNetwork, core: Core) -> Crowd:
        keys = parts.own(jax.random.split(key, config.actors))
        actors = jax.vmap(lambda key: new_actor(world.reset(key), policy.size))(keys)
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
            actor, noting = new_actor(world.reset(key_reset), policy.size), partial(note, world)
            _, slots, notes = play_slots(world, acting, key_play, actor, greedy, world.num_steps, 1, noting)
            whole = cut_slots(slots, world.num_steps, world.num_actions)
            stream = jax.tree.map(lambda x: x[0], whole)
            return eqx.tree_at(lambda w: w.belief, stream, jnp.zeros(core.size)), notes

        return jax.vmap(one)(jax.random.split(key, config.evaluation_episodes))

    per_round = config.actors // parts.num * num_windows
    return Streams(start=start, explore=explore, be_greedy=be_greedy, windows_per_round=per_round)
