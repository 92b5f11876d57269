"""Greedy episodes recorded whole: the truth, what the agent saw and did, what it believed, expected and was paid.

The belief never steers the policy, so everything is read off the finished episode, as one window of all its steps, by
the functions the learner itself uses.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ndigo import __version__
from ndigo.agents.agent import Agent, Joined, Params
from ndigo.errors import NdigoError
from ndigo.model import discovery_loss, inside
from ndigo.model.world_model import shifted
from ndigo.rewards import IntrinsicReward
from ndigo.storage.episodes import Episodes
from ndigo.types import Window
from ndigo.worlds import World
from ndigo.worlds.render import legend
from ndigo.worlds.rollout import rollout

MOST_CELLS = 256  # rows and columns are stored in a byte


def meta(agent: Agent) -> dict[str, Any]:
    """What a recording says of its agent and its world."""
    world = agent.world
    return {
        "format": "ndigo-episodes",
        "version": 1,
        **agent.about,
        "channels": [{"name": c.name, "kind": c.kind} for c in world.channels],
        "objects": [
            {"name": e.name, "kind": e.kind, "label": e.label, "colour": list(e.colour)} for e in legend(world)
        ],
        "actions": list(world.actions),
        "num_steps": world.num_steps,
        "num_ahead": agent.num_ahead,
        "view": world.shape[0],
        "versions": {
            "python": sys.version.split()[0],
            "ndigo": __version__,
            "jax": jax.__version__,
            "numpy": np.__version__,
        },
    }


def refuse_unseen(agent: Agent) -> None:
    """An error where the world shows no truth or no map to draw."""
    world = agent.world
    if world.truth is None or agent.params.probe is None:
        raise NdigoError(f"world {world.name!r} does not tell where its objects are: there is no belief to compare")
    if world.grid is None:
        raise NdigoError(f"world {world.name!r} has no map to draw its episodes on")
    if max(world.grid.layout.shape) > MOST_CELLS:
        raise NdigoError(f"world {world.name!r} is larger than the {MOST_CELLS} x {MOST_CELLS} cells of a recording")


def episode_key(seed: int, episode: int) -> Array:
    """The key of one episode: the same for every agent, so that two can be compared on one world."""
    return jax.random.fold_in(jax.random.key(seed), episode)


def record(
    agent: Agent, keys: Sequence[Array] | Array, on_episode: Callable[[int], None] = lambda done: None
) -> Episodes:
    """One episode for each key; `on_episode` hears how many are done."""
    refuse_unseen(agent)
    run, done = _compiled(agent.world, agent.reward, agent.joined), []
    for key in keys:
        arrays = jax.device_get(run(agent.networks, key))
        done.append(arrays | {"keys": np.asarray(jax.random.key_data(key))})
        on_episode(len(done))
    if not done:
        raise NdigoError("a recording has at least one episode")
    assert agent.world.grid is not None
    stacked = {name: np.stack([arrays[name] for arrays in done]) for name in done[0]}
    return Episodes(meta=meta(agent), walls=~agent.world.grid.layout.is_free, **stacked)


def record_numbered(
    agent: Agent, seed: int, first: int, count: int, on_episode: Callable[[int], None] = lambda done: None
) -> Episodes:
    """Episodes `first`, `first` + 1, ... of a seed; the meta says which they are."""
    episodes = record(agent, [episode_key(seed, first + i) for i in range(count)], on_episode)
    return replace(episodes, meta=episodes.meta | {"episode_seed": seed, "first_episode": first})


@lru_cache(maxsize=8)
def _compiled(world: World, reward: IntrinsicReward, joined: Joined) -> Callable[[Params, Array], dict[str, Array]]:
    """Once for all agents of a world and a reward."""
    return jax.jit(partial(episode_arrays, world, reward, joined))


def as_bytes(p: Array) -> Array:
    """Probabilities in 256 steps."""
    return jnp.rint(255 * p).astype(jnp.uint8)


def episode_arrays(
    world: World, reward: IntrinsicReward, joined: Joined, params: Params, key: Array
) -> dict[str, Array]:
    """Everything `Episodes` keeps of one episode, without its leading axis."""
    episode = rollout(world, params.policy(world, reward, joined), key)
    o_t, a_t, truth_t = episode.o_t, episode.a_t, episode.truth_t
    assert world.map_shape is not None
    assert params.probe is not None
    S, K = world.num_steps, 0 if params.model.predictor is None else params.model.num_ahead
    cells = truth_t.objects @ jnp.array([world.map_shape[1], 1])
    r_tc = None if reward.on_episode is None else reward.on_episode(world)(params.model, a_t, o_t)
    seen, paid = params.pay(reward, Window.whole(o_t, a_t, params.model.core.size, cells, r_tc))
    r_tc = jnp.zeros((S, len(world.channels))) if paid.r_tc is None else paid.r_tc
    ahead = jnp.zeros((S, 0, *world.shape), jnp.uint8)
    if K:
        p_tk = jnp.swapaxes(params.model.expect(seen.b_t[:-1], shifted(a_t, K)), 0, 1)
        ahead = as_bytes(jnp.where(inside(S, K)[:, :, None, None, None], p_tk, 0.0))

    def then(x_t: Array, end: int = 0) -> Array:
        """A value for every step, and one for the frame after them."""
        return jnp.concatenate([x_t, jnp.full_like(x_t[:1], end)])

    return {
        "agent": truth_t.agent.astype(jnp.uint8),
        "objects": truth_t.objects.astype(jnp.uint8),
        "o": o_t,
        "a": then(a_t.astype(jnp.int8), -1),
        "belief": params.probe.locate(seen.b_t).reshape(S + 1, -1, *world.map_shape).astype(jnp.float16),
        "discovery_loss": discovery_loss(params.probe, seen.b_t, cells),
        "reward": then(jnp.where(paid.is_known, paid.r_t, 0.0)),
        "reward_c": then(jnp.where(paid.is_known[:, None], r_tc, 0.0)),
        "ahead": then(ahead),
    }
