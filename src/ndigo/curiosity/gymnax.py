"""Curiosity around an environment with gymnax's interface, for a loop that is one `jit` and is not to be changed.

    env = CuriousGymnax(env, ndigo.curiosity("ndigo-4", frame, num_actions))
    params = env.params(state.params, env_params)                       # the weights that pay, beside the world's own
    o_t, env_state = jax.vmap(env.reset, in_axes=(0, None))(keys, params)
    o_t, env_state, reward, done, info = jax.vmap(env.step, in_axes=(0, 0, 0, None))(keys, env_state, a_t, params)
    state, numbers = env.curiosity.learn(key, state, **info["stream"])  # of a whole rollout [T, N], after the scan

A loop of your own pays a whole rollout after the scan (`examples/purejaxrl_ppo.py`): on a GPU that takes a fraction of
the time of paying inside it.

`reward` is the weighted sum; info has "reward_task", "reward_intrinsic" and "nats" [C]. A step returns as many values
as the environment's own. `see` picks the frame out of observations that are another (`lambda o: o.astype("uint8")`);
`scale` divides by the deviation of returns, of each environment apart. One that resets within a step and hands over
`info["final_observation"]` is paid for it; where that frame is lost, as in Craftax, the action that ends an episode is
paid 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from ndigo.curiosity import scaling
from ndigo.curiosity.by_step.paying import Params
from ndigo.curiosity.record import PureCuriosity
from ndigo.errors import NdigoError


class CuriousParams(eqx.Module):
    env: Any
    curiosity: Params


class CuriousState(eqx.Module):
    env: Any
    carry: Any
    scaling: scaling.Scaling


class CuriousGymnax:
    """One environment, to be mapped over; all it keeps is in its state, and nothing learns within it."""

    def __init__(
        self,
        env: Any,
        curiosity: PureCuriosity,
        weight: float = 1.0,
        task_weight: float = 1.0,
        *,
        see: Callable[[Any], Any] | None = None,
        scale: str | None = None,
        gamma: float = 0.99,
    ) -> None:
        self.env, self.curiosity, self.weight, self.task_weight = env, curiosity, weight, task_weight
        self.see, self.scale, self.gamma = see, scale, scaling.check_scale(scale, gamma)

    def __getattr__(self, name: str) -> Any:
        if name == "env":  # a copy that is being made has none yet
            raise AttributeError(name)
        return getattr(self.env, name)

    def params(self, weights: Params, env_params: Any = None) -> CuriousParams:
        return CuriousParams(env=self.env.default_params if env_params is None else env_params, curiosity=weights)

    def action_space(self, params: Any = None) -> Any:
        return self.env.action_space(_own(params))

    def observation_space(self, params: Any = None) -> Any:
        return self.env.observation_space(_own(params))

    def reset(self, key: Array, params: CuriousParams) -> tuple[Any, CuriousState]:
        if not isinstance(params, CuriousParams):
            raise NdigoError(f"params is a {type(params).__name__}, expected env.params(state.params, env_params)")
        o_0, env_state = self.env.reset(key, params.env)
        state = CuriousState(env=env_state, carry=self.curiosity.start(1), scaling=scaling.start(1))
        stream = {"a_t": jnp.int32(0), "o_tp1": self._frame(o_0), "is_first": jnp.bool_(True)}
        return o_0, self._paid(params, state, env_state, stream)[0]

    def step(self, key: Array, state: CuriousState, action: Array, params: CuriousParams) -> tuple[Any, ...]:
        o_tp1, env_state, task, *ends, info = self.env.step(key, state.env, action, params.env)
        if not 1 <= len(ends) <= 2:
            raise NdigoError(f"the environment's step returned {4 + len(ends)} values, expected 5 or 6 (gymnax)")
        done, o_last = ends[0] if len(ends) == 1 else ends[0] | ends[1], self._frame(info.get("final_observation"))
        stream = {"a_t": action, "o_tp1": self._frame(o_tp1), "is_first": done, "o_last": o_last}
        state, r, nats = self._paid(params, state, env_state, stream)
        reward = self.task_weight * task + self.weight * r
        info = {**info, "reward_task": task, "reward_intrinsic": r, "nats": nats, "stream": stream}
        return o_tp1, state, reward, *ends, info

    def _frame(self, o: Any) -> Any:
        return o if o is None or self.see is None else self.see(o)

    def _paid(
        self, params: CuriousParams, state: CuriousState, env_state: Any, stream: dict[str, Any]
    ) -> tuple[CuriousState, Array, Array]:
        one, scales = _one(stream), state.scaling
        carry, r, r_c = self.curiosity.pay(params.curiosity, state.carry, **one)
        if self.scale is not None:
            is_step = state.carry.ages.is_step(one["is_first"], one.get("o_last") is not None)
            scales, r = scaling.scaled(scales, r, one["is_first"], is_step, self.gamma)
        return CuriousState(env=env_state, carry=carry, scaling=scales), r[0], r_c[0]


def _own(params: Any) -> Any:
    """The environment's own parameters."""
    return params.env if isinstance(params, CuriousParams) else params


def _one(tree: Any) -> Any:
    """As one stream."""
    return jax.tree.map(lambda x: jnp.asarray(x)[None], tree)
