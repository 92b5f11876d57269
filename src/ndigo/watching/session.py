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

from ndigo.errors import NdigoError
from ndigo.types import Window
from ndigo.watching.recording import Mind, Subject, as_bytes, choose, draws, pay
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
    h_t: Float[Array, " D"]
    a_t: Int[Array, ""]  # what the agent would do
    past: Past


class Session:
    """One agent in one world, a frame at a time.

    session = Session(subject, episode_key(seed=0, episode=0))
    session.step()            # the agent's own action
    session.step(2)           # yours
    session.drop(0, row=3, col=9)
    session.frame()           # everything there is to see
    """

    def __init__(self, subject: Subject, key: Array):
        self.subject = subject
        self._begin, self._advance = _compiled(subject)
        self.reset(key)

    def reset(self, key: Array) -> None:
        """Frame 0 of the episode of that key."""
        before, keys, random_a = self._begin(self.subject.mind, key)
        # Frame t is drawn with key t-1; frame 0 needs none, and the last frame has no action of its own.
        self._keys, self._random_a = (
            np.asarray(jnp.concatenate(x)) for x in ((keys[:1], keys), (random_a, random_a[-1:]))
        )
        self._live, self._shown = self._advance(
            self.subject.mind, before, self._keys[0], self._random_a[0], np.int32(0)
        )

    def step(self, action: int | None = None) -> None:
        """One step further: by the agent's own choice, or by the action given."""
        if self.is_over:
            raise NdigoError(f"the episode is over after {self.num_steps} steps; reset starts another")
        if action is not None and not 0 <= action < self.subject.world.num_actions:
            raise NdigoError(f"action {action}: must be from 0 to {self.subject.world.num_actions - 1}")
        taken = np.int32(-1 if action is None else action)
        draw = self._keys[self.t + 1], self._random_a[self.t + 1]
        self._live, self._shown = self._advance(self.subject.mind, self._live, *draw, taken)

    def drop(self, index: int, row: int, col: int) -> None:
        """Moves an object now, behind the agent's back: what it sees of it, it sees in the next frame."""
        world = move_object(self.subject.world, self._live.world, index, row, col)
        self._live = eqx.tree_at(lambda live: live.world, self._live, world)
        objects = np.array(jax.device_get(self._shown["objects"]))
        objects[index] = row, col
        self._shown = self._shown | {"objects": objects}

    @property
    def num_steps(self) -> int:
        return self.subject.world.num_steps

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
def _compiled(subject: Subject) -> tuple[Any, Any]:
    """The start of an episode and the way to its next frame: compiled once for all sessions of a subject."""
    return jax.jit(partial(_begin, subject)), jax.jit(partial(_advance, subject))


def _begin(subject: Subject, mind: Mind, key: Array) -> tuple[Live, Array, Array]:
    """What stands before frame 0, and the draws of every step, keys as raw words."""
    world, D, M = subject.world, mind.model.core.size, mind.model.num_ahead
    key_reset, keys, random_a = draws(world, key)
    before = Live(
        world=world.reset(key_reset),
        t=jnp.int32(-1),
        b_t=jnp.zeros(D),
        h_t=jnp.zeros(mind.q.core.size),
        a_t=jnp.int32(0),
        past=Past(
            o_t=jnp.zeros((M + 1, *world.shape), jnp.uint8),
            a_tm1=jnp.zeros(M + 1, jnp.int32),
            b_tm1=jnp.zeros((M + 1, D)),
        ),
    )
    return before, jax.random.key_data(keys), random_a


def _advance(
    subject: Subject, mind: Mind, live: Live, key: Array, random_a: Array, action: Array
) -> tuple[Live, dict[str, Array]]:
    """The next frame: after the action (-1 for the agent's own), or frame 0, before which nobody acts."""
    a_t = jnp.where(action < 0, live.a_t, action)
    stepped = subject.world.step(jax.random.wrap_key_data(key), live.world, a_t)
    world = jax.tree.map(lambda here, there: jnp.where(live.t < 0, here, there), live.world, stepped)
    return _look(subject, mind, eqx.tree_at(lambda live: (live.world, live.a_t), live, (world, a_t)), random_a)


def _look(subject: Subject, mind: Mind, before: Live, random_a: Array) -> tuple[Live, dict[str, Array]]:
    """The frame after `before`, whose world has already moved and whose `a_t` has been taken."""
    world, reward, K = subject.world, subject.reward, subject.num_ahead
    assert world.truth is not None
    assert world.map_shape is not None
    t, a_tm1, o_t, truth = before.t + 1, before.a_t, world.observe(before.world), world.truth(before.world)
    b_t = mind.model.core.step(o_t, a_tm1, before.b_t)
    h_t, q_t = mind.q.step(o_t, a_tm1, before.h_t)
    a_t = choose(reward, q_t, random_a)
    M = len(before.past.a_tm1) - 1
    at = jnp.minimum(t, M)
    newest = Past(o_t=o_t, a_tm1=a_tm1, b_tm1=before.b_t)
    past = jax.tree.map(
        lambda old, new: jnp.where(t > M, jnp.roll(old, -1, axis=0), old).at[at].set(new), before.past, newest
    )
    # What lies beyond frame t in the window is not there yet; no reward of a step looks beyond the frame after it.
    window = Window(
        o_t=past.o_t,
        a_tm1=past.a_tm1,
        a_t=past.a_tm1[1:],
        mu_t=jnp.ones(M),
        belief=past.b_tm1[0],
        agent_state=jnp.zeros(mind.q.core.size),
        start=t - at,
        cells=jnp.zeros((M + 1, 0), jnp.int32),
        r_tc=None if reward.on_episode is None else jnp.zeros((M, len(world.channels))),
    )
    _, paid = pay(reward, mind, window)
    # A reward of whole episodes stays unknown while one is being played.
    is_known = (t > 0) & paid.is_known[at - 1] & (reward.on_episode is None)
    r_tc = jnp.zeros((M, len(world.channels))) if paid.r_tc is None else paid.r_tc
    ahead = jnp.zeros((0, *world.shape), jnp.uint8)
    if K:
        ahead = as_bytes(mind.model.predict(b_t, jnp.full(K, a_t)))
    shown = {
        "t": t,
        "agent": truth.agent,
        "objects": truth.objects,
        "o": o_t,
        "a": a_t,
        "a_tm1": a_tm1,
        "log_belief": jax.nn.log_softmax(mind.probe.logits(b_t)).reshape(-1, *world.map_shape),
        "reward": jnp.where(is_known, paid.r_t[at - 1], 0.0),
        "reward_t": jnp.where(is_known, t - 1, -1),
        "reward_c": jnp.where(is_known, r_tc[at - 1], 0.0),
        "ahead": ahead,
    }
    return Live(world=before.world, t=t, b_t=b_t, h_t=h_t, a_t=a_t, past=past), shown
