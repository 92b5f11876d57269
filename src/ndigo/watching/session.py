"""An episode played live: the agent acts or a person does, and the belief follows either.

A session whose agent is left alone is, frame by frame, the recorded episode of the same key. One compiled call makes a
frame: the world's step, both recurrent states, the probe, the predictions, and the reward of the step before. What a
frame shows follows from the world (`appearance`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ndigo.agents.agent import Agent, Joined, Params
from ndigo.errors import NdigoError
from ndigo.frames import empty
from ndigo.oracle import Belief
from ndigo.rewards import IntrinsicReward
from ndigo.types import Window
from ndigo.watching.appearance import Appearance, appearance_of
from ndigo.watching.drawing import drawn
from ndigo.watching.recording import as_bytes, happening, notes
from ndigo.worlds import World
from ndigo.worlds.moving import move_object


class Past(eqx.Module):
    """The last M+1 frames or, early in the episode, all of them: what the newest reward is computed from."""

    o_t: Any  # [M+1, ...] as the world's frame has it
    a_tm1: Int[Array, " M+1"]
    b_tm1: Float[Array, "M+1 D"]
    task_tm1: Float[Array, " M+1"]  # what the task paid for the step before each frame


class Live(eqx.Module):
    """All that goes on from frame t."""

    world: Any
    t: Int[Array, ""]
    b_t: Float[Array, " D"]
    memory: Any  # the policy's
    a_t: Int[Array, ""]  # what the agent would do
    past: Past
    exact: Belief | None  # the exact filter's, where it applies; NaN once a person has done what cannot happen


class Session:
    """One agent in one world, a frame at a time.

    session = Session(agent, episode_key(seed=0, episode=0))
    session.step()            # the agent's own action
    session.step(2)           # yours
    session.drop(0, row=3, col=9)
    session.frame()           # everything there is to see
    """

    def __init__(self, agent: Agent, key: Array):
        self.agent, self.look = agent, appearance_of(agent)
        begin, self._advance = _compiled(agent.world, agent.reward, agent.joined, self.look)
        before, keys = begin(agent.networks, key)
        # Frame t is drawn with key t-1; frame 0 needs none.
        self._keys = np.asarray(jnp.concatenate([keys[:1], keys]))
        self._live, self._shown = self._advance(agent.networks, before, self._keys[0], np.int32(0))

    def step(self, action: int | None = None) -> None:
        """One step further: by the agent's own choice, or by the action given."""
        if self.is_over:
            raise NdigoError(f"the episode is over after {self.t} steps")
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
    def t(self) -> int:
        return int(self._live.t)

    @property
    def is_over(self) -> bool:
        return self.t == self.agent.world.num_steps or bool(self._shown.get("is_last", False))

    def frame(self) -> dict[str, Any]:
        """Everything at t, in NumPy.

        `a` is what the agent would do now (-1 when the episode is over), `a_tm1` what was done to get here.
        `reward` is the newest that is determined, of step `reward_t` (0 and -1 before there is one). `ahead` is
        what the agent expects to see in 1..K steps if it kept doing `a`: nobody knows yet what will be done.
        """
        shown = jax.device_get(self._shown)
        if self.look.has_belief:
            log_belief = shown.pop("log_belief")
            rows, cols = shown["objects"].T
            shown["belief"] = np.exp(log_belief)
            shown["discovery_loss"] = -log_belief[np.arange(len(rows)), rows, cols]
        for name in ("t", "a", "a_tm1", "reward_t"):
            shown[name] = int(shown[name])
        shown["is_last"] = self.is_over
        if self.is_over:
            shown["a"] = -1
            for name in {"ahead", "expected"} & set(shown):
                shown[name] = np.zeros_like(shown[name])
        if self.agent.world.draw is not None:
            shown["drawn"] = drawn(self.agent.world, self._live.world)
        return shown | {"reward": float(shown["reward"])}


@lru_cache(maxsize=8)
def _compiled(world: World, reward: IntrinsicReward, joined: Joined, look: Appearance) -> tuple[Any, Any]:
    """The start of an episode and the way to its next frame: compiled once for all agents of a world and a reward."""
    begin, advance = (partial(f, world, reward, joined, look) for f in (_begin, _advance))
    return jax.jit(begin), jax.jit(advance)


def _begin(
    world: World, reward: IntrinsicReward, joined: Joined, look: Appearance, params: Params, key: Array
) -> tuple[Live, Array]:
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
            o_t=empty(world.frame, M + 1),
            a_tm1=jnp.zeros(M + 1, jnp.int32),
            b_tm1=jnp.zeros((M + 1, D)),
            task_tm1=jnp.zeros(M + 1),
        ),
        exact=None if look.exact is None else look.exact.prior,
    )
    return before, jax.random.key_data(jax.random.split(key_world, world.num_steps))


def _advance(
    world: World,
    reward: IntrinsicReward,
    joined: Joined,
    look: Appearance,
    params: Params,
    live: Live,
    key: Array,
    action: Array,
) -> tuple[Live, dict[str, Array]]:
    """The next frame: after the action (-1 for the agent's own), or frame 0, before which nobody acts."""
    a_t = jnp.where(action < 0, live.a_t, action)
    stepped = world.step(jax.random.wrap_key_data(key), live.world, a_t)
    moved = jax.tree.map(lambda here, there: jnp.where(live.t < 0, here, there), live.world, stepped)
    before = eqx.tree_at(lambda live: (live.world, live.a_t), live, (moved, a_t))
    return _look(world, reward, joined, look, params, before)


def _look(
    world: World, reward: IntrinsicReward, joined: Joined, look: Appearance, params: Params, before: Live
) -> tuple[Live, dict[str, Array]]:
    """The frame after `before`, whose world has already moved and whose `a_t` has been taken."""
    t, a_tm1, o_t = before.t + 1, before.a_t, world.observe(before.world)
    noted = notes(world, before.world)
    task_tm1 = jnp.where(t > 0, noted.get("task", 0.0), 0.0)
    b_t = params.model.core.step(o_t, a_tm1, before.b_t)
    a_t, memory = params.policy(world, reward, joined).act(o_t, a_tm1, before.memory)
    past, at = _remembered(before, t, Past(o_t=o_t, a_tm1=a_tm1, b_tm1=before.b_t, task_tm1=task_tm1))
    r_t, r_c, is_known, loss_c = _newest_pay(world, reward, params, past, t, at)
    shown = {
        "t": t,
        "a": a_t,
        "a_tm1": a_tm1,
        "reward": jnp.where(is_known, r_t, 0.0),
        "reward_t": jnp.where(is_known, t - 1, -1),
        "reward_c": jnp.where(is_known, r_c, 0.0),
        **noted,
        **_views(look, params, o_t, b_t, a_t),
    }
    if "task" in noted:
        shown["task"] = task_tm1
    first = jax.tree.map(lambda x: x[None], (o_t, noted))
    if (events := happening(look, world, *first)) is not None:
        shown["events"] = events[0]
    if look.painter is not None and loss_c is not None:
        shown["loss_c"] = jnp.where(t > 0, loss_c, 0.0)
    exact = before.exact
    if look.has_belief:
        assert world.truth is not None
        assert world.map_shape is not None
        assert params.probe is not None
        truth = world.truth(before.world)
        shown |= {"agent": truth.agent, "objects": truth.objects}
        shown["log_belief"] = jax.nn.log_softmax(params.probe.logits(b_t)).reshape(-1, *world.map_shape)
        if look.exact is not None and exact is not None:
            predicted = look.exact.predict(exact, a_tm1)
            prior = jax.tree.map(lambda first, later: jnp.where(t == 0, first, later), look.exact.prior, predicted)
            exact = look.exact.correct(prior, o_t)
            shown["exact"] = look.exact.locate(exact).reshape(-1, *world.map_shape)
    after = Live(world=before.world, t=t, b_t=b_t, memory=memory, a_t=a_t, past=past, exact=exact)
    return after, shown


def _views(look: Appearance, params: Params, o_t: Any, b_t: Array, a_t: Array) -> dict[str, Array]:
    """What is seen, and expected if `a_t` were done again and again."""
    again = jnp.full(params.model.num_ahead, a_t)
    if look.painter is None:
        ahead = as_bytes(params.model.expect(b_t, again)) if look.num_ahead else jnp.zeros((0, *o_t.shape), jnp.uint8)
        return {"o": o_t, "ahead": ahead}
    expected = jnp.zeros((0, *look.painter.shape, 3), jnp.uint8)
    if look.num_ahead:
        expected = look.expected(params.model, b_t, again)[: look.num_ahead]
    return {"seen": look.painter.seen(o_t), "expected": expected}


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
) -> tuple[Array, Array, Array, Array | None]:
    """What the step before frame t was paid, in all and by channel, whether that is known, and L_{t|t-1} by channel."""
    M, C = len(past.a_tm1) - 1, len(world.channels)
    # What lies beyond frame t in the window is not there yet; no reward of a step looks beyond the frame after it.
    r_tc = None if reward.on_episode is None else jnp.zeros((M, C))
    window = Window.whole(past.o_t, past.a_tm1[1:], params.model.core.size, r_tc=r_tc)
    task_t = None if world.task_reward is None else past.task_tm1[1:]
    window = replace(window, a_tm1=past.a_tm1, belief=past.b_tm1[0], start=t - at, task_t=task_t)
    seen, paid = params.pay(reward, window)
    # A reward of whole episodes stays unknown while one is being played.
    is_known = (t > 0) & paid.is_known[at - 1] & (reward.on_episode is None)
    r_c = (jnp.zeros((M, C)) if paid.r_tc is None else paid.r_tc)[at - 1]
    return paid.r_t[at - 1], r_c, is_known, None if seen.loss_tk is None else seen.loss_tk[at - 1, 0]
