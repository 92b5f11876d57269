"""Craftax and Craftax-Classic: a map, mobs and an inventory.

With `auto_reset=False`, or the frame that ended an episode would be lost. What is seen is the symbolic observation,
with each cell's ones read as a number: some 200 bytes a frame in place of 5 to 33 thousand.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ndigo import frames
from ndigo.errors import NdigoError, unknown_name
from ndigo.frames import Frame
from ndigo.interop.suites.stepped import require_discrete, world_of_steps
from ndigo.worlds import World

IDS = ("Craftax-Symbolic-v1", "Craftax-Classic-Symbolic-v1")
NUM_MOBS = {"craftax_classic": 4, "craftax": 40}
NUM_BINS = 11  # of an inventory's number: it is a tenth, or the root of one, of what is held


def from_craftax(env: Any, params: Any = None, *, name: str | None = None) -> World:
    """The world of a symbolic Craftax environment made with `auto_reset=False`."""
    name, params = str(name or env.name), env.default_params if params is None else params
    if any(kind.__name__ == "EnvironmentAutoReset" for kind in type(env).__mro__):
        raise NdigoError(f"world {name}: an environment that resets itself loses last frames; make it auto_reset=False")
    if len(shape := tuple(env.observation_space(params).shape)) != 1:
        raise NdigoError(f"world {name}: its observations {shape} are pictures, expected a symbolic environment")
    frame, read = craftax_frame(env, params)
    achievements = _constants(env).Achievement
    # Craftax's own answer is one for both: a death in the step that the limit cuts is told by a limit far away.
    unlimited = params.replace(max_timesteps=np.iinfo(np.int32).max)

    def reset(key: Any) -> tuple[Any, Any]:
        observation, state = env.reset_env(key, params)
        return state, observation

    def step(key: Any, state: Any, a_t: Any) -> tuple[Any, ...]:
        observation, state, reward, done, _ = env.step_env(key, state, a_t, params)
        return state, observation, reward, done, env.is_terminal(state, unlimited)

    return world_of_steps(
        name,
        frame=frame,
        read=read,
        num_actions=require_discrete(name, env.action_space(params)),
        num_steps=int(params.max_timesteps),
        reset=reset,
        step=step,
        actions=tuple(action.name.lower() for action in _constants(env).Action),
        place=lambda state: (getattr(state, "player_level", 0), state.player_position),
        events=tuple(a.name.lower() for a in sorted(achievements, key=lambda a: a.value)),
        happens=lambda state: state.achievements.astype(bool),
        draw=lambda state: _renderer(type(env).__module__.split(".")[1])(state),
    )


def craftax_frame(env: Any, params: Any) -> tuple[Frame, Any]:
    """Blocks, items and mobs as tiles, and the numbers; and how an observation is read into them."""
    constants = _constants(env)
    is_classic = ".craftax_classic." in type(env).__module__
    rows, cols = (int(n) for n in constants.OBS_DIM)
    num_blocks, num_mobs = len(constants.BlockType), NUM_MOBS["craftax_classic" if is_classic else "craftax"]
    layers = {"blocks": num_blocks, "items": 0 if is_classic else len(constants.ItemType), "mobs": num_mobs}
    num_layers = sum(layers.values()) + (not is_classic)  # the last of the larger game is the light
    num_numbers = env.observation_space(params).shape[0] - rows * cols * num_layers
    parts: dict[str, Frame] = {
        layer: frames.tiles((num + 1,), rows, cols, names=(layer,)) for layer, num in layers.items() if num
    }
    parts["numbers"] = frames.vector(num_numbers, low=0.0, high=1.0, bins=NUM_BINS)
    ends = np.cumsum([0, *layers.values()])

    def read(observation: Any) -> dict[str, Any]:
        grid = observation[: rows * cols * num_layers].reshape(rows, cols, num_layers)
        found = {}
        for (layer, num), start in zip(layers.items(), ends, strict=False):
            ones = grid[..., start : start + num]
            if num:  # 0 is nothing, or darkness
                found[layer] = jnp.where((ones > 0).any(-1), 1 + ones.argmax(-1), 0).astype(jnp.uint8)[..., None]
        return found | {"numbers": observation[rows * cols * num_layers :].astype(jnp.float32)}

    return frames.join(**parts), read


def _constants(env: Any) -> Any:
    return importlib.import_module(f"craftax.{type(env).__module__.split('.')[1]}.constants")


@cache
def _renderer(game: str) -> Any:
    """Craftax's own picture, by the textures that its pixel agents see."""
    constants, renderer = (importlib.import_module(f"craftax.{game}.{name}") for name in ("constants", "renderer"))
    return jax.jit(renderer.make_craftax_pixel_renderer(constants.BLOCK_PIXEL_SIZE_AGENT))


def by_name(craftax: Any, id_: str) -> World:
    if id_ not in IDS:
        raise unknown_name("Craftax environment", id_, IDS)
    make = importlib.import_module("craftax.craftax_env").make_craftax_env_from_name
    return from_craftax(make(id_, auto_reset=False), name=f"craftax::{id_}")
