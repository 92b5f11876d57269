"""Greedy episodes recorded whole: the truth, what the agent saw and did, what it believed, expected and was paid.

The policy runs step by step, as in training; the belief never steers it, so everything else is read off the
finished episode, as one window of all its steps, by the functions the learner itself uses. In float32 throughout.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from ndigo import __version__
from ndigo.agent import QNetwork, draw_stretches
from ndigo.errors import NdigoError
from ndigo.evaluation.true_cells import object_cells
from ndigo.model import WorldModel, inside
from ndigo.model.probe import Probe, discovery_loss
from ndigo.model.world_model import shifted
from ndigo.rewards import IntrinsicReward
from ndigo.types import Episodes, Paid, Truth, Window
from ndigo.worlds import World
from ndigo.worlds.render import legend

MOST_CELLS = 256  # rows and columns are stored in a byte


class Mind(eqx.Module):
    """One trained agent's networks."""

    model: WorldModel
    q: QNetwork
    probe: Probe
    reward: Any  # the reward's own networks; None for most


@dataclass(frozen=True, eq=False)
class Subject:
    """One agent in one world, ready to be watched; `about` goes into the recording's meta as it is."""

    world: World
    reward: IntrinsicReward
    mind: Mind
    about: dict[str, Any]  # label, world, reward, seed, learner_step

    def meta(self) -> dict[str, Any]:
        world = self.world
        return {
            "format": "ndigo-episodes",
            "version": 1,
            **self.about,
            "channels": [{"name": c.name, "kind": c.kind} for c in world.channels],
            "objects": [
                {"name": e.name, "kind": e.kind, "label": e.label, "colour": list(e.colour)} for e in legend(world)
            ],
            "actions": list(world.actions),
            "num_steps": world.num_steps,
            "num_ahead": self.num_ahead,
            "view": world.shape[0],
            "versions": {
                "python": sys.version.split()[0],
                "ndigo": __version__,
                "jax": jax.__version__,
                "numpy": np.__version__,
            },
        }

    @property
    def num_ahead(self) -> int:
        """K; 0 where the agent predicts nothing."""
        return 0 if self.mind.model.predictor is None else self.mind.model.num_ahead

    @cached_property
    def run(self) -> Callable[[Mind, Array], dict[str, Array]]:
        return jax.jit(lambda mind, key: _episode(self.world, self.reward, mind, key))


def subject(
    world: World, reward: IntrinsicReward, *, model: Any, q: Any, probe: Any, reward_params: Any, about: dict[str, Any]
) -> Subject:
    """A subject from trained networks; an error where the world shows no truth or no map."""
    if world.truth is None or probe is None:
        raise NdigoError(f"world {world.name!r} does not tell where its objects are: there is no belief to compare")
    if world.grid is None:
        raise NdigoError(f"world {world.name!r} has no map to draw its episodes on")
    if max(world.grid.layout.shape) > MOST_CELLS:
        raise NdigoError(f"world {world.name!r} is larger than the {MOST_CELLS} x {MOST_CELLS} cells of a recording")
    return Subject(world, reward, Mind(model, q, probe, reward_params), about)


def episode_key(seed: int, episode: int) -> Array:
    """The key of one episode: the same for every agent, so that two can be compared on one world."""
    return jax.random.fold_in(jax.random.key(seed), episode)


def record(
    subject: Subject, keys: Sequence[Array] | Array, on_episode: Callable[[int], None] = lambda done: None
) -> Episodes:
    """One greedy episode for each key; `on_episode` hears how many are done."""
    done: list[dict[str, np.ndarray]] = []
    for key in keys:
        arrays = jax.device_get(subject.run(subject.mind, key))
        done.append(arrays | {"keys": np.asarray(jax.random.key_data(key))})
        on_episode(len(done))
    if not done:
        raise NdigoError("a recording has at least one episode")
    assert subject.world.grid is not None
    stacked = {name: np.stack([arrays[name] for arrays in done]) for name in done[0]}
    return Episodes(meta=subject.meta(), walls=~subject.world.grid.layout.is_free, **stacked)


def record_numbered(
    subject: Subject, seed: int, first: int, count: int, on_episode: Callable[[int], None] = lambda done: None
) -> Episodes:
    """Episodes `first`, `first` + 1, ... of a seed; the meta says which they are."""
    episodes = record(subject, [episode_key(seed, first + i) for i in range(count)], on_episode)
    return replace(episodes, meta=episodes.meta | {"episode_seed": seed, "first_episode": first})


def draws(world: World, key: Array) -> tuple[Array, Array, Int[Array, " S"]]:
    """An episode's randomness, as training draws it: the reset's key, a key a step, and an action a step."""
    key_reset, key_world, key_explore = jax.random.split(key, 3)
    random_a = draw_stretches(key_explore, jnp.float32(1), world.num_steps, world.num_actions).a_t
    return key_reset, jax.random.split(key_world, world.num_steps), random_a


def choose(reward: IntrinsicReward, q_t: Float[Array, " A"], random_a: Int[Array, ""]) -> Int[Array, ""]:
    """The greedy action; a drawn one for an agent that learned no policy."""
    return random_a if reward.acts_at_random else q_t.argmax(axis=-1).astype(jnp.int32)


def pay(reward: IntrinsicReward, mind: Mind, window: Window) -> tuple[Array, Paid]:
    """Beliefs after each frame of the window, and what the reward makes of it."""
    seen = mind.model.look(window)
    # What a reward keeps of earlier updates is the learner's alone: prediction gain compares with itself here.
    return seen.b_t, reward.pay(mind.reward, reward.remember(mind.model), mind.model, seen)


def as_bytes(p: Array) -> Array:
    """Probabilities in 256 steps."""
    return jnp.rint(255 * p).astype(jnp.uint8)


def _episode(world: World, reward: IntrinsicReward, mind: Mind, key: Array) -> dict[str, Array]:
    """Everything `Episodes` keeps of one episode, without its leading axis."""
    assert world.truth is not None
    truth_of: Callable[[Any], Truth] = world.truth
    key_reset, keys, random_a = draws(world, key)
    policy = mind.q

    def body(carry, draw):
        state, a_tm1, h_tm1 = carry
        key_step, random_a = draw
        o_t, truth = world.observe(state), truth_of(state)
        h_t, q_t = policy.step(o_t, a_tm1, h_tm1)
        a_t = choose(reward, q_t, random_a)
        frame = (o_t, truth.agent, truth.objects, object_cells(world, state), a_tm1)
        return (world.step(key_step, state, a_t), a_t, h_t), frame

    first = (world.reset(key_reset), jnp.int32(0), jnp.zeros(mind.q.core.size))
    # The last frame has no step of its own: it repeats a draw, and what follows it is dropped.
    draws_t = jax.tree.map(lambda x: jnp.concatenate([x, x[-1:]]), (keys, random_a))
    _, (o_t, agent, objects, cells, a_tm1) = lax.scan(body, first, draws_t)

    S, a_t = world.num_steps, a_tm1[1:]
    nothing = jnp.zeros(mind.model.core.size)
    window = Window(
        o_t=o_t,
        a_tm1=a_tm1,
        a_t=a_t,
        mu_t=jnp.ones(S),
        belief=nothing,
        agent_state=jnp.zeros(mind.q.core.size),
        start=jnp.int32(0),
        cells=cells,
        r_tc=None if reward.on_episode is None else reward.on_episode(world)(a_t, o_t),
    )
    b_t, paid = pay(reward, mind, window)
    r_tc = jnp.zeros((S, len(world.channels))) if paid.r_tc is None else paid.r_tc
    K = 0 if mind.model.predictor is None else mind.model.num_ahead
    ahead = jnp.zeros((S, 0, *world.shape), jnp.uint8)
    if K:
        p_tk = jnp.swapaxes(mind.model.predict(b_t[:-1], shifted(a_t, K)), 0, 1)
        ahead = as_bytes(jnp.where(inside(S, K)[:, :, None, None, None], p_tk, 0.0))

    def then(x_t: Array, end: int = 0) -> Array:
        """A value for every step, and one for the frame after them."""
        return jnp.concatenate([x_t, jnp.full_like(x_t[:1], end)])

    assert world.map_shape is not None
    return {
        "agent": agent.astype(jnp.uint8),
        "objects": objects.astype(jnp.uint8),
        "o": o_t,
        "a": then(a_t.astype(jnp.int8), -1),
        "belief": mind.probe.locate(b_t).reshape(S + 1, -1, *world.map_shape).astype(jnp.float16),
        "discovery_loss": discovery_loss(mind.probe, b_t, cells),
        "reward": then(jnp.where(paid.is_known, paid.r_t, 0.0)),
        "reward_c": then(jnp.where(paid.is_known[:, None], r_tc, 0.0)),
        "ahead": then(ahead),
    }
