"""An episode of a world that the host steps, as `worlds.rollout` has it: one environment, in this process."""

from __future__ import annotations

import contextlib
import os
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, UInt8

from ndigo.agents.agent import Agent, Joined, Params
from ndigo.errors import running
from ndigo.rewards import IntrinsicReward
from ndigo.watching.drawing import reduced
from ndigo.worlds import World
from ndigo.worlds.host import Told, seed_of
from ndigo.worlds.rollout import Rollout


def host_rollout(agent: Agent, key: Array) -> tuple[Rollout, UInt8[np.ndarray, "T H W 3"] | None]:
    """The episode of that key, its last frame repeated to the world's number of steps; and its own pictures."""
    world = agent.world
    assert world.host is not None
    start, act = _compiled(world, agent.reward, agent.joined)
    key_reset, _, key_policy = jax.random.split(key, 3)
    os.environ.setdefault("SDL_AUDIODRIVER", "dummy")  # pygame, which draws, would look for a loudspeaker and complain
    a_t, memory, told, actions, pictures = np.int32(0), start(agent.networks, key_policy), [], [], []
    with running(f"world {world.name}: an episode of it"):
        envs, draw = world.host.open_drawn()
        with contextlib.closing(envs):
            told.append(_of_one(envs.reset(seed_of(key_reset))))
            pictures.append(draw())
            while not told[-1].is_last and len(actions) < world.num_steps:
                a_t, memory = act(agent.networks, told[-1].o_t, a_t, memory)
                envs.send(np.asarray(a_t)[None])
                actions.append(np.int32(a_t))
                told.append(_of_one(envs.receive()))
                pictures.append(draw())
    missing = world.num_steps - len(actions)
    whole = jax.tree.map(lambda *parts: np.stack(parts), *told, *[told[-1]] * missing)
    notes = {"task": whole.reward.astype(np.float32), "is_last": whole.is_last}
    if world.happens is not None:
        notes["events"] = whole.happens
    whole_a_t = jnp.array([*actions, *[0] * missing], jnp.int32)
    shown = None if any(picture is None for picture in pictures) else np.stack([reduced(world, p) for p in pictures])
    return Rollout(whole.o_t, whole_a_t, None, notes), shown


def _of_one(told: Told) -> Told:
    return jax.tree.map(lambda x: np.array(x[0]), told)


@lru_cache(maxsize=8)
def _compiled(world: World, reward: IntrinsicReward, joined: Joined) -> tuple[Any, Any]:
    """start(params, key) -> the policy's memory; act(params, o_t, a_tm1, memory) -> action, memory."""

    def start(params: Params, key: Array) -> Any:
        return params.policy(world, reward, joined).start(key)

    def act(params: Params, o_t: Any, a_tm1: Array, memory: Any) -> tuple[Array, Any]:
        return params.policy(world, reward, joined).act(o_t, a_tm1, memory)

    return jax.jit(start), jax.jit(act)
