"""Curiosity around an environment with gymnax's interface, for a loop that is one `jit` and is not to be changed.

    env = CuriousGymnax(env, ndigo.curiosity("ndigo-4", frame, num_actions))
    params = env.params(state.params, env_params)                       # the weights that pay, beside the world's own
    o_t, env_state = jax.vmap(env.reset, in_axes=(0, None))(keys, params)
    o_t, env_state, reward, done, info = jax.vmap(env.step, in_axes=(0, 0, 0, None))(keys, env_state, a_t, params)
    state, numbers = env.curiosity.learn(key, state, **info["stream"])  # of a whole rollout [T, N], after the scan

A loop of your own pays a whole rollout after the scan (`examples/purejaxrl_ppo.py`): on a GPU that takes a fraction of
the time of paying inside it.

`reward` is the weighted sum; info has "reward_task", "reward_intrinsic" and "nats" [C]. A step returns as many values
as the environment's own. One that resets within a step and hands over `info["final_observation"]` is paid for it; where
that frame is lost, as in Craftax, the action that ends an episode is paid 0.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from ndigo.curiosity.paying import Params
from ndigo.curiosity.record import PureCuriosity
from ndigo.errors import NdigoError


class CuriousParams(eqx.Module):
    env: Any
    curiosity: Params


class CuriousState(eqx.Module):
    env: Any
    carry: Any


class CuriousGymnax:
    """One environment, to be mapped over; all it keeps is in its state, and nothing learns within it."""

    def __init__(self, env: Any, curiosity: PureCuriosity, weight: float = 1.0, task_weight: float = 1.0) -> None:
        self.env, self.curiosity, self.weight, self.task_weight = env, curiosity, weight, task_weight

    def __getattr__(self, name: str) -> Any:
        if name == "env":  # a copy that is being made has none yet
            raise AttributeError(name)
        return getattr(self.env, name)

    def params(self, weights: Params, env_params: Any = None) -> CuriousParams:
        return CuriousParams(env=self.env.default_params if env_params is None else env_params, curiosity=weights)

    def reset(self, key: Array, params: CuriousParams) -> tuple[Any, CuriousState]:
        o_0, env_state = self.env.reset(key, params.env)
        carry, _, _ = self.curiosity.pay(
            params.curiosity, self.curiosity.start(1), jnp.zeros(1, jnp.int32), _one(o_0), jnp.ones(1, bool)
        )
        return o_0, CuriousState(env=env_state, carry=carry)

    def step(self, key: Array, state: CuriousState, action: Array, params: CuriousParams) -> tuple[Any, ...]:
        o_tp1, env_state, task, *ends, info = self.env.step(key, state.env, action, params.env)
        if not 1 <= len(ends) <= 2:
            raise NdigoError(f"the environment's step returned {4 + len(ends)} values, expected 5 or 6 (gymnax)")
        done = ends[0] if len(ends) == 1 else ends[0] | ends[1]
        stream = {"a_t": action, "o_tp1": o_tp1, "is_first": done, "o_last": info.get("final_observation")}
        carry, r, r_c = self.curiosity.pay(params.curiosity, state.carry, **_one(stream))
        reward = self.task_weight * task + self.weight * r[0]
        info = {**info, "reward_task": task, "reward_intrinsic": r[0], "nats": r_c[0], "stream": stream}
        return o_tp1, CuriousState(env=env_state, carry=carry), reward, *ends, info


def _one(tree: Any) -> Any:
    """As one stream."""
    return jax.tree.map(lambda x: jnp.asarray(x)[None], tree)
