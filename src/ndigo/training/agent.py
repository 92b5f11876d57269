"""A trained agent to use: it looks, acts, and tells what it believes."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ndigo.config import Config
from ndigo.errors import NdigoError
from ndigo.model import WorldModel
from ndigo.model.probe import Probe
from ndigo.training.learner import Params
from ndigo.worlds import World


class AgentState(eqx.Module):
    """What the agent carries from frame to frame."""

    b_t: Float[Array, " D"]
    h_t: Float[Array, " D"]
    a_t: Int[Array, ""]


class Agent:
    """One seed's networks. Greedy; the belief runs beside the policy and never steers it.

    state = agent.start()
    a_t, state = agent.act(o_t, state)
    agent.belief(state)   # b_t;   agent.locate(state)   # [N, rows, columns]
    """

    def __init__(self, params: Params, world: World, config: Config):
        self.params, self.world, self.config = params, world, config

    def start(self) -> AgentState:
        """The state before the first frame of an episode."""
        core = self.params.model.core
        return AgentState(b_t=jnp.zeros(core.size), h_t=jnp.zeros(self.params.agent.core.size), a_t=jnp.int32(0))

    def act(self, o_t: Any, state: AgentState) -> tuple[int, AgentState]:
        """The greedy action for the frame `o_t` ([V, V, C], 0 or 1) and the state after seeing it."""
        a_t, state = self._act(jnp.asarray(o_t), state)
        return int(a_t), state

    def belief(self, state: AgentState) -> np.ndarray:
        """b_t after the last frame."""
        return np.asarray(state.b_t)

    def locate(self, state: AgentState) -> np.ndarray:
        """Where the probe, reading b_t, puts each object: [N, rows, columns], each summing to 1."""
        if self.params.probe is None or self.world.map_shape is None:
            raise NdigoError("this world has no truth, so no probe was trained")
        return np.asarray(self._locate(self.params.probe, state.b_t)).reshape(-1, *self.world.map_shape)

    def predict(self, state: AgentState, actions: Any) -> np.ndarray:
        """The chance that each cell of the view is 1 after 1..K of these actions: [K, V, V, C]."""
        return np.asarray(self._predict(self.params.model, state.b_t, jnp.asarray(actions)))

    @cached_property
    def _act(self) -> Any:
        def act(o_t, state):
            b_t = self.params.model.core.step(o_t, state.a_t, state.b_t)
            h_t, q_t = self.params.agent.step(o_t, state.a_t, state.h_t)
            a_t = q_t.argmax(axis=-1).astype(jnp.int32)
            return a_t, AgentState(b_t=b_t, h_t=h_t, a_t=a_t)

        return jax.jit(act)

    @cached_property
    def _locate(self) -> Any:
        return jax.jit(Probe.locate)

    @cached_property
    def _predict(self) -> Any:
        return jax.jit(WorldModel.predict)
