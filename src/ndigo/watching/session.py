"""An episode played live: the agent acts or a person does, and the belief follows either.

A session whose agent is left alone is, frame by frame, the recorded episode of the same key. One compiled call makes a
frame: the world's step, both recurrent states, the probe, the predictions, and the reward of the step before.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, UInt8

from ndigo.agents.agent import Agent, Joined, Params
from ndigo.errors import NdigoError
from ndigo.rewards import IntrinsicReward
from ndigo.types import Window
from ndigo.watching.recording import as_bytes, refuse_unseen
from ndigo.worlds import World
from ndigo.worlds.moving import move_object


class Past(eqx.Module):
    """The last M+1 frames or, early in the episode, all of them: what the newest reward is computed from."""

    o_t: UInt8[Array, "M+1 V V C"]
    a_tm1: Int[Array, " M+1"]
    b_tm1: Float[Array, "M+1 D"]


class Live(eqx.Module):
    """All that goes on from frame t."""

    world: Any
    t: Int[Array, ""]
    b_t: Float[Array, " D"]
    memory: Any  # the policy's
    a_t: Int[Array, ""]  # what the agent would do
    past: Past


class Session:
    """One agent in one world, a frame at a time.

    session = Session(agent, episode_key(seed=0, episode=0))
    session.step()            # the agent's own action
    session.step(2)           # yours
    session.drop(0, row=3, col=9)
    session.frame()           # everything there is to see
    """

    def __init__(self, agent: Agent, key: Array):
        refuse_unseen(agent)
        self.agent = agent
        self._begin, self._advance = _compiled(agent.world, agent.reward, agent.joined)
        self.reset(key)

    def reset(self, key: Array) -> None:
        """Frame 0 of the episode of that key."""
        before, keys = self._begin(self.agent.networks, key)
        # Frame t is drawn with key t-1; frame 0 needs none.
        self._keys = np.asarray(jnp.concatenate([keys[:1], keys]))
        self._live, self._shown = self._advance(self.agent.networks, before, self._keys[0], np.int32(0))

    def step(self, action: int | None = None) -> None:
        """One step further: by the agent's own choice, or by the action given."""
        if self.is_over:
            raise NdigoError(f"the episode is over after {self.num_steps} steps; reset starts another")
        if action is not None and not 0 <= action < self.agent.world.num_actions:
            raise NdigoError(f"action {action}: must be from 0 to {self.agent.world.num_actions - 1}")
        taken = np.int32(-1 if action is None else action)
        self._live, self._shown = self._advance(self.agent.networks, self._live, self._keys[self.t + 1], taken)

    def drop(self, index: int, row: int, col: int) -> None:
        """Moves an object now, behind the agent's back: what it sees of it, it sees in the next frame."""
        world = move_object(self.agent.world, self._live.world, index, row, col)
        self._live = eqx.tree_at(lambda live: live.world, self._live, world)
        objects = np.array(jax.device_get(self._shown["objects"]))
        objects[index] = row, col
        self._shown = self._shown | {"objects": objects}

    @property
    def num_steps(self) -> int:
        return self.agent.world.num_steps

    @property
    def t(self) -> int:
        return int(self._live.t)

    @property
    def is_over(self) -> bool:
        return self.t == self.num_steps

    def frame(self) -> dict[str, Any]:
        """Everything at t, in NumPy.

        `a` is what the agent would do now (-1 when the episode is over), `a_tm1` what was done to get here.
        `reward` is the newest that is determined, of step `reward_t` (0 and -1 before there is one). `ahead` is
        what the agent expects to see in 1..K steps if it kept doing `a`: nobody knows yet what will be done.
        """
        shown = jax.device_get(self._shown)
        log_belief = shown.pop("log_belief")
        rows, cols = shown["objects"].T
        shown["belief"] = np.exp(log_belief)
        shown["discovery_loss"] = -log_belief[np.arange(len(rows)), rows, cols]
        for name in ("t", "a", "a_tm1", "reward_t"):
            shown[name] = int(shown[name])
        if self.is_over:
            shown["a"] = -1
            shown["ahead"] = np.zeros_like(shown["ahead"])
        return shown | {"reward": float(shown["reward"])}


@lru_cache(maxsize=8)
def _compiled(world: World, reward: IntrinsicReward, joined: Joined) -> tuple[Any, Any]:
    """The start of an episode and the way to its next frame: compiled once for all agents of a world and a reward."""
    return jax.jit(partial(_begin, world, reward, joined)), jax.jit(partial(_advance, world, reward, joined))


def _begin(world: World, reward: IntrinsicReward, joined: Joined, params: Params, key: Array) -> tuple[Live, Array]:
    """What stands before frame 0, and the keys of every step as raw words: drawn as `rollout` draws."""
    D, M = params.model.core.size, params.model.num_ahead
    key_reset, key_world, key_policy = jax.random.split(key, 3)
    before = Live(
        world=world.reset(key_reset),
        t=jnp.int32(-1),
        b_t=jnp.zeros(D),
        memory=params.policy(world, reward, joined).start(key_policy),
        a_t=jnp.int32(0),
        past=Past(
            o_t=jnp.zeros((M + 1, *world.shape), jnp.uint8),
            a_tm1=jnp.zeros(M + 1, jnp.int32),
            b_tm1=jnp.zeros((M + 1, D)),
        ),
    )
    return before, jax.random.key_data(jax.random.split(key_world, world.num_steps))


def _advance(
    world: World, reward: IntrinsicReward, joined: Joined, params: Params, live: Live, key: Array, action: Array
) -> tuple[Live, dict[str, Array]]:
    """The next frame: after the action (-1 for the agent's own), or frame 0, before which nobody acts."""
    a_t = jnp.where(action < 0, live.a_t, action)
    stepped = world.step(jax.random.wrap_key_data(key), live.world, a_t)
    moved = jax.tree.map(lambda here, there: jnp.where(live.t < 0, here, there), live.world, stepped)
    return _look(world, reward, joined, params, eqx.tree_at(lambda live: (live.world, live.a_t), live, (moved, a_t)))


def _look(
    world: World, reward: IntrinsicReward, joined: Joined, params: Params, before: Live
) -> tuple[Live, dict[str, Array]]:
    """The frame after `before`, whose world has already moved and whose `a_t` has been taken."""
    assert world.truth is not None
    assert world.map_shape is not None
    assert params.probe is not None
    t, a_tm1, o_t, truth = before.t + 1, before.a_t, world.observe(before.world), world.truth(before.world)
    b_t = params.model.core.step(o_t, a_tm1, before.b_t)
    a_t, memory = params.policy(world, reward, joined).act(o_t, before.memory)
    past, at = _remembered(before, t, Past(o_t=o_t, a_tm1=a_tm1, b_tm1=before.b_t))
    r_t, r_c, is_known = _newest_pay(world, reward, params, past, t, at)
    ahead = jnp.zeros((0, *world.shape), jnp.uint8)
    if params.model.predictor is not None:
        ahead = as_bytes(params.model.expect(b_t, jnp.full(params.model.num_ahead, a_t)))
    shown = {
        "t": t,
        "agent": truth.agent,
        "objects": truth.objects,
        "o": o_t,
        "a": a_t,
        "a_tm1": a_tm1,
        "log_belief": jax.nn.log_softmax(params.probe.logits(b_t)).reshape(-1, *world.map_shape),
        "reward": jnp.where(is_known, r_t, 0.0),
        "reward_t": jnp.where(is_known, t - 1, -1),
        "reward_c": jnp.where(is_known, r_c, 0.0),
        "ahead": ahead,
    }
    return Live(world=before.world, t=t, b_t=b_t, memory=memory, a_t=a_t, past=past), shown


def _remembered(before: Live, t: Array, newest: Past) -> tuple[Past, Array]:
    """The last frames with the newest, and where in them it stands."""
    M = len(before.past.a_tm1) - 1
    at = jnp.minimum(t, M)
    past = jax.tree.map(
        lambda old, new: jnp.where(t > M, jnp.roll(old, -1, axis=0), old).at[at].set(new), before.past, newest
    )
    return past, at


def _newest_pay(
    world: World, reward: IntrinsicReward, params: Params, past: Past, t: Array, at: Array
) -> tuple[Array, Array, Array]:
    """What the step before frame t was paid, in all and by channel, and whether that is known."""
    M, C = len(past.a_tm1) - 1, len(world.channels)
    # What lies beyond frame t in the window is not there yet; no reward of a step looks beyond the frame after it.
    r_tc = None if reward.on_episode is None else jnp.zeros((M, C))
    window = Window.whole(past.o_t, past.a_tm1[1:], params.model.core.size, r_tc=r_tc)
    window = eqx.tree_at(lambda w: (w.a_tm1, w.belief, w.start), window, (past.a_tm1, past.b_tm1[0], t - at))
    _, paid = params.pay(reward, window)
    # A reward of whole episodes stays unknown while one is being played.
    is_known = (t > 0) & paid.is_known[at - 1] & (reward.on_episode is None)
    return paid.r_t[at - 1], (jnp.zeros((M, C)) if paid.r_tc is None else paid.r_tc)[at - 1], is_known
