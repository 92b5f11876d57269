"""A world against its record: what its functions return, and the ranges of what they return in a sampled episode."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ndigo.errors import NdigoError, running, unknown_name
from ndigo.frames import Bits
from ndigo.frames.bits import KINDS
from ndigo.frames.frame import require_names
from ndigo.gate.shapes import once, require_array, require_record, require_same, returned, text_of
from ndigo.gate.streams import Notes, check_ends, check_notes, notes_of
from ndigo.types import Truth
from ndigo.worlds import Channel, World

EPISODES = 2  # that are sampled
MOST_STEPS = 1000  # of each
MOST_TRIED = 32  # what was tried and found right: a run that is begun and continued asks twice


class Sample(NamedTuple):
    """The first steps of a random walker's episodes."""

    o_t: Any  # [E, T+1, ...] as the frame has it
    a_t: np.ndarray  # [E, T]
    truth: Truth | None  # each field [E, T+1, ...]
    is_first: np.ndarray | None = None  # [E, T+1]; None where no episode ends within
    notes: Notes | None = None  # each field [E, T+1, ...]; None with it


@lru_cache(maxsize=MOST_TRIED)
def check_world(world: World) -> None:
    """An error in one line where a function of the world does not return what the record says."""
    _check_record(world)
    whose = f"world {world.name}:"
    key, a_t = jax.random.key(0), jnp.int32(0)
    state = returned(f"{whose} reset", world.reset, key)
    after = returned(f"{whose} step", world.step, key, state, a_t)
    require_same(f"{whose} step", after, state, "what reset returned")
    frame = returned(f"{whose} observe", world.observe, state)
    check_frame_types(f"{whose} observe", frame, world.frame.spec)
    if world.truth is not None:
        _check_truth_types(world, returned(f"{whose} truth", world.truth, state))
    check_ends(world, state)
    o_t, _, truth, is_first, notes = sample(world)
    for i in range(EPISODES):
        if (wrong := world.frame.wrong(jax.tree.map(lambda x: x[i], o_t))) is not None:  # noqa: B023
            raise NdigoError(f"{whose} observe returned {wrong}")
    if truth is not None:
        _check_inside(world, truth)
    if is_first is not None and notes is not None:
        check_notes(world, is_first, notes)


@lru_cache(maxsize=MOST_TRIED)
def sample(world: World) -> Sample:
    """Episodes of uniform actions, one after the other.

        s_t = reset(key_t)  where t = 0 or s_{t-1} ended its episode, else  step(key_t, s_{t-1}, a_{t-1})

    Both functions stand in the program once: a large world's take most of the time here to be compiled. Training has
    them under `vmap`, which is why that is traced.
    """
    S = min(world.num_steps, MOST_STEPS)

    def look(state: Any) -> Any:
        return world.observe(state), None if world.truth is None else world.truth(state)

    def play(key: Any) -> Any:
        key_reset, key_world, key_action = jax.random.split(key, 3)
        a_t = jax.random.randint(key_action, (S,), 0, world.num_actions)

        def body(carry: Any, step: Any) -> Any:
            (is_first, before), (key_t, a_tm1) = carry, step
            state = lax.cond(is_first, lambda: world.reset(key_t), lambda: world.step(key_t, before, a_tm1))
            notes = notes_of(world, state)
            is_over = jnp.bool_(False) if notes is None else notes.is_last
            return (is_over, state), (look(state), notes, is_first)

        # `full` makes zeros of a random key, too.
        nowhere = jax.tree.map(lambda x: lax.full(x.shape, 0, x.dtype), jax.eval_shape(world.reset, key))
        steps = jnp.concatenate([key_reset[None], jax.random.split(key_world, S)]), jnp.concatenate([a_t[:1], a_t])
        _, (seen, notes, is_first) = lax.scan(body, (jnp.bool_(True), nowhere), steps)
        return *seen, a_t, None if notes is None else is_first, notes

    def one_step(key: Any, state: Any) -> Any:
        after = world.step(key, state, jnp.int32(0))
        return look(after), notes_of(world, after)

    keys = jax.random.split(jax.random.key(0), EPISODES)
    with running(f"world {world.name}: an episode of it"):
        jax.eval_shape(jax.vmap(one_step), keys, jax.eval_shape(jax.vmap(world.reset), keys))
        o_t, truth, a_t, is_first, notes = jax.device_get(once(lambda keys: lax.map(play, keys))(keys))
    return Sample(o_t, a_t, truth, is_first, notes)


def _check_record(world: World) -> None:
    """What the record says of itself: its types, counts and names."""
    whose = f"world {world.name}:"
    if not isinstance(world.name, str) or not world.name:
        raise NdigoError(f"a world's name is {world.name!r}, expected text")
    _check_frame_record(world)
    if not _are_counts((world.num_steps,), 1):
        raise NdigoError(f"{whose} num_steps is {world.num_steps!r}, expected a whole number of at least 1")
    if world.map_shape is not None and not _are_counts(world.map_shape, 2):
        raise NdigoError(f"{whose} map_shape is {world.map_shape!r}, expected rows and columns, each at least 1")
    for field in ("actions", "objects", "events"):
        names = getattr(world, field)
        if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
            raise NdigoError(f"{whose} {field} is {names!r}, expected a tuple of names")
        for name in names:  # numbers are reported by name, and of two the second would be lost
            if names.count(name) > 1:
                raise NdigoError(f"{whose} {field} names {name!r} twice")
    if not world.actions:
        raise NdigoError(f"{whose} actions is empty, expected the name of at least one")
    for field in ("reset", "step", "observe"):
        if not callable(getattr(world, field)):
            raise NdigoError(f"{whose} {field} is {getattr(world, field)!r}, expected a function")


def _check_frame_record(world: World) -> None:
    whose, frame = f"world {world.name}:", world.frame
    if isinstance(frame, Bits) and not _are_counts(world.shape, 3):
        raise NdigoError(f"{whose} shape is {world.shape!r}, expected three whole numbers (H, W, C)")
    for name in ("channels", "spec", "pack", "unpack", "init_encoder", "likelihood", "wrong"):
        if not hasattr(frame, name):
            raise NdigoError(
                f"{whose} frame is a {type(frame).__name__} without {name!r}, expected one of ndigo.frames"
            )
    require_names(whose.removesuffix(":"), [channel.name for channel in frame.channels])
    if isinstance(frame, Bits):
        for channel in world.channels:
            if not isinstance(channel, Channel):
                raise NdigoError(f"{whose} channels has a {type(channel).__name__}, expected Channel records")
            if channel.kind not in KINDS:
                raise unknown_name(f"kind of channel {channel.name!r} of world {world.name}", channel.kind, KINDS)


def check_frame_types(whose: str, found: Any, spec: Any) -> None:
    """What `observe` returns has the frame's shape and type; a join's dictionary has its parts' names."""
    if not isinstance(spec, dict):
        require_array(whose, found, spec.shape, spec.dtype)
        return
    if not isinstance(found, dict) or set(found) != set(spec):
        what = f"a dictionary with {', '.join(map(repr, sorted(found)))}" if isinstance(found, dict) else text_of(found)
        raise NdigoError(f"{whose} returned {what}, expected a dictionary with {', '.join(map(repr, spec))}")
    for name, part in spec.items():
        check_frame_types(f"{whose} under {name!r}", found[name], part)


def _check_truth_types(world: World, truth: Any) -> None:
    whose, N = f"world {world.name}: truth", len(world.objects)
    require_record(whose, truth, Truth)
    named = f": the world names {N} objects ({', '.join(world.objects)})" if N else ": the world names no objects"
    require_array(f"{whose}.agent", truth.agent, (2,), "integer")
    require_array(f"{whose}.objects", truth.objects, (N, 2), "integer", named)


def _check_inside(world: World, truth: Truth) -> None:
    """Truth's cells, [E, T+1, 2] for the agent and [E, T+1, N, 2] for the objects, lie in the map."""
    assert world.map_shape is not None
    places = {"the agent": np.asarray(truth.agent)}
    places |= {f"object {name!r}": np.asarray(truth.objects)[:, :, i] for i, name in enumerate(world.objects)}
    for who, cells in places.items():
        is_out = ((cells < 0) | (cells >= np.array(world.map_shape))).any(axis=-1)
        if is_out.any():
            episode, t = np.argwhere(is_out)[0]
            (row, col), (rows, cols) = cells[episode, t], world.map_shape
            raise NdigoError(
                f"world {world.name}: truth put {who} at row {row}, column {col} in frame {t}, "
                f"expected inside the map of {rows} rows and {cols} columns"
            )


def _are_counts(values: Any, number: int) -> bool:
    return (
        isinstance(values, tuple)
        and len(values) == number
        and all(isinstance(n, int) and not isinstance(n, bool) and n >= 1 for n in values)
    )
