"""A noisy tile beside what a world shows, always in view: the noisy television, with what it pays known.

    white    a new one of n values at every step, whatever one does: exact NDIGO pays 0
    staying  a new one when an action asks for it, the same until then: exact NDIGO-H pays ln n for each new value that
             is left alone for H steps, so ln n / (H+1) nats per step to who asks every H+1 steps, for ever

What stays is news of the frames to come, so no NDIGO can leave it alone.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from ndigo import frames
from ndigo.errors import NdigoError
from ndigo.frames import Channel, code_of
from ndigo.worlds.world import World

CHANNEL = Channel("noise", "tiles")  # that of the tile, whose pay is told apart from the rest


class Noisy(eqx.Module):
    inner: Any
    value: Int[Array, ""]


def with_noisy_tile(world: World, *, num_values: int = 6, changed_by: int | None = None) -> World:
    """The world with the tile; `changed_by` is the action that asks for a new value, None where every step has one."""
    if world.host is not None:
        raise NdigoError(f"world {world.name} is stepped by processes of this machine: it takes no noisy tile")
    if changed_by is not None and not 0 <= changed_by < world.num_actions:
        raise NdigoError(f"changed_by {changed_by}: world {world.name} has actions 0 to {world.num_actions - 1}")

    frame = frames.join(seen=world.frame, noise=frames.tiles((num_values,), 1, 1, names=("noise",)))

    def draw(key: Array) -> Array:
        return jax.random.randint(key, (), 0, num_values)

    def reset(key: Array) -> Noisy:
        key_inner, key_value = jax.random.split(key)
        return Noisy(world.reset(key_inner), draw(key_value))

    def step(key: Array, state: Noisy, a_t: Array) -> Noisy:
        key_inner, key_value = jax.random.split(key)
        new = draw(key_value)
        value = new if changed_by is None else jnp.where(a_t == changed_by, new, state.value)
        return Noisy(world.step(key_inner, state.inner, a_t), value)

    def observe(state: Noisy) -> dict[str, Any]:
        value = state.value.astype(frame.spec["noise"].dtype)
        return {"seen": world.observe(state.inner), "noise": value.reshape(1, 1, 1)}

    def of_inner(function: Any) -> Any:
        return None if function is None else lambda state: function(state.inner)

    def code_seen(state: Noisy) -> Any:
        return code_of(world.frame, world.observe(state.inner))

    return World(
        name=f"{world.name} with {'white' if changed_by is None else 'staying'} noise",
        frame=frame,
        actions=world.actions,
        num_steps=world.num_steps,
        reset=reset,
        step=step,
        observe=observe,
        ends=of_inner(world.ends),
        task_reward=of_inner(world.task_reward),
        truth=of_inner(world.truth),
        objects=world.objects,
        map_shape=world.map_shape,  # not its grid: frames are read off that, and off no join
        place=None if world.ends is None else of_inner(world.place) or code_seen,  # the noise is no place
        events=world.events,
        happens=of_inner(world.happens),
        draw=of_inner(world.draw),
    )
