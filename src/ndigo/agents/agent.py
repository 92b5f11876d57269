"""One trained agent: it acts, and says what it believes and expects.

Evaluations, recordings, live sessions, audits and your own loops all use this one record, which computes in the
precision that the agent was trained in. So they all get the same answers.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ndigo.agent import QNetwork, greedy_policy, random_walker
from ndigo.config import Config
from ndigo.errors import NdigoError
from ndigo.frames import check_shape
from ndigo.model import Probe, WorldModel
from ndigo.networks import lower
from ndigo.rewards import IntrinsicReward, pay_stream
from ndigo.types import Paid, Policy, Seen, Window
from ndigo.worlds import World

Joined = Callable[[QNetwork], Any]  # `Twins.joined`: the network in its form for many steps in a loop


def as_it_is(network: QNetwork) -> QNetwork:
    return network


class Params(eqx.Module):
    """Everything that learns by gradient, for one seed."""

    model: WorldModel
    reward: Any  #: the reward's own networks; None for most
    agent: QNetwork
    probe: Probe | None  #: None where the world has no truth to compare with

    def lowered(self, precision: str, reward: IntrinsicReward) -> Params:
        """The networks in the precision they were trained in. A reward that needs float32 has its model in that."""
        low = lower(self, precision)
        return replace(low, model=self.model, reward=self.reward) if reward.needs_float32 else low

    def policy(self, world: World, reward: IntrinsicReward, joined: Joined) -> Policy:
        """The greedy policy; the random walker for a reward that learns no policy."""
        return random_walker(world) if reward.acts_at_random else greedy_policy(joined(self.agent))

    def pay(self, reward: IntrinsicReward, window: Window) -> tuple[Seen, Paid]:
        """What the model sees in a window of one stream, and what the reward pays for it."""
        seen = self.model.look(window)
        # The reward's memory stays with the learner. A new one is made here: prediction gain compares with itself.
        return seen, pay_stream(reward, self.reward, reward.remember(self.model), self.model, seen)


class AgentState(eqx.Module):
    """What the agent carries from frame to frame."""

    b_t: Float[Array, " D"]
    a_t: Int[Array, ""]
    memory: Any  #: the policy's own state

    def after(self, a_t: Any) -> AgentState:
        """The state if `a_t` is taken in place of the agent's own action."""
        return AgentState(b_t=self.b_t, a_t=jnp.asarray(a_t, jnp.int32), memory=self.memory)


@dataclass(frozen=True, eq=False, repr=False)
class Agent:
    """One seed's networks in a world. The belief runs beside the policy and never steers it.

    state = agent.start()
    a_t, state = agent.step(o_t, state)
    state = state.after(other)       # where another action was taken
    agent.believe(state)             # [N, rows, columns]: where the probe, reading b_t, puts each object
    agent.predict(state, actions)    # [K, V, V, C]
    """

    params: Params  #: float32, as the learner left them
    world: World
    reward: IntrinsicReward
    config: Config
    joined: Joined = as_it_is
    about: dict[str, Any] = field(default_factory=dict)  #: label, world, reward, seed, learner_step: to be shown

    def __repr__(self) -> str:
        about = self.about
        step = about.get("learner_step")
        after = f", {step:,} learner steps" if step else ""
        return f"Agent({about.get('label', self.reward.name)} in {about.get('world', self.world.name)}{after})"

    def _repr_html_(self) -> str:
        # Imported by name when asked for, as the player below: an agent needs no notebook.
        return importlib.import_module("ndigo.notebook.cards").agent_card(self)

    def play(self, episode: int = 0, **options: Any) -> Any:
        """Plays episodes in a notebook's cell (`ndigo.notebook.player.play`): `episodes`, `seed`, `height`."""
        return importlib.import_module("ndigo.notebook.player").play(self, episode, **options)

    @cached_property
    def networks(self) -> Params:
        """The networks in the precision they were trained in (`Params.lowered`)."""
        with jax.ensure_compile_time_eval():  # concrete arrays, even if the first to ask is a function being traced
            return jax.jit(lambda params: params.lowered(self.config.precision, self.reward))(self.params)

    @property
    def num_ahead(self) -> int:
        """K; 0 where the agent predicts nothing."""
        return 0 if self.params.model.predictor is None else self.params.model.num_ahead

    def start(self, seed: int = 0) -> AgentState:
        """The state before an episode's first frame; the seed matters only for an agent that acts at random."""
        return self._start(self.networks, jax.random.key(seed))

    def step(self, o_t: Any, state: AgentState) -> tuple[int, AgentState]:
        """The agent's action for the frame `o_t` (as the world observes: bits are [V, V, C]) and the state after it."""
        frame = self.world.frame
        o_t = _as_arrays(o_t)
        check_shape("o_t", frame, o_t)
        o_t = jax.tree.map(lambda leaf, x: jnp.asarray(x, leaf.dtype), frame.spec, o_t)
        state = self._step(self.networks, o_t, state)
        return int(state.a_t), state

    def believe(self, state: AgentState) -> np.ndarray:
        """Where the probe, reading b_t, puts each object: [N, rows, columns], each summing to 1."""
        if self.params.probe is None or self.world.map_shape is None:
            raise NdigoError("this world has no truth, so no probe was trained")
        return np.asarray(_locate(self.networks.probe, state.b_t)).reshape(-1, *self.world.map_shape)

    def predict(self, state: AgentState, actions: Any) -> Any:
        """What it expects to see after each of these actions: for bits, the chance [K, V, V, C] that a cell is 1."""
        if self.num_ahead == 0:
            raise NdigoError(f"an agent of the reward {self.reward.name} predicts nothing")
        a_k, num_actions = np.asarray(actions), self.world.num_actions
        if a_k.ndim != 1 or not a_k.size or a_k.dtype.kind not in "iu":
            raise NdigoError(f"actions are {a_k.dtype}{list(a_k.shape)}, expected at least one whole number in a row")
        if not 0 <= a_k.min() <= a_k.max() < num_actions:
            raise NdigoError(f"actions reach from {a_k.min()} to {a_k.max()}, expected 0 to {num_actions - 1}")
        return jax.device_get(_expect(self.networks.model, state.b_t, jnp.asarray(a_k)))

    @cached_property
    def _start(self) -> Any:
        def start(params: Params, key: Array) -> AgentState:
            memory = params.policy(self.world, self.reward, self.joined).start(key)
            return AgentState(b_t=jnp.zeros(params.model.core.size), a_t=jnp.int32(0), memory=memory)

        return jax.jit(start)

    @cached_property
    def _step(self) -> Any:
        def step(params: Params, o_t: Any, state: AgentState) -> AgentState:
            b_t = params.model.core.step(o_t, state.a_t, state.b_t)
            a_t, memory = params.policy(self.world, self.reward, self.joined).act(o_t, state.a_t, state.memory)
            return AgentState(b_t=b_t, a_t=a_t, memory=memory)

        return jax.jit(step)


_locate, _expect = jax.jit(Probe.locate), jax.jit(WorldModel.expect)


def _as_arrays(o_t: Any) -> Any:
    """Lists as arrays; a join's dictionary stays one."""
    if isinstance(o_t, dict):
        return {name: _as_arrays(x) for name, x in o_t.items()}
    return o_t if hasattr(o_t, "shape") else np.asarray(o_t)
