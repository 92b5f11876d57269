"""Fifty worlds and rewards, each with one mistake in it, and the words that must name it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from ndigo.frames import Bits, bits, vector
from ndigo.rewards import IntrinsicReward, paid, table
from ndigo.types import Paid, Truth, ahead
from ndigo.worlds import Channel, World

ROWS, COLS = 3, 4


class State(eqx.Module):
    agent: jax.Array  # (row, col)
    thing: jax.Array


def _step(key, state, a_t):
    by = jnp.array([[0, 0], [0, 1], [1, 0]])[a_t]
    return State(agent=(state.agent + by) % jnp.array([ROWS, COLS]), thing=state.thing)


def _observe(state):
    is_here = (state.agent == state.thing).all()
    return jnp.array([[[1, 0]]], jnp.uint8).at[0, 0, 1].set(is_here.astype(jnp.uint8))


def _truth(state):
    return Truth(agent=state.agent, objects=state.thing[None])


RIGHT = World(
    name="mine",
    frame=bits(["floor", Channel("thing", "one_hot")], 1),
    actions=("stay", "right", "down"),
    num_steps=12,
    reset=lambda key: State(agent=jnp.zeros(2, int), thing=jax.random.randint(key, (2,), 0, 3)),
    step=_step,
    observe=_observe,
    truth=_truth,
    objects=("thing",),
    map_shape=(ROWS, COLS),
)


def _frames(change: Callable[[Any], Any]) -> dict[str, Any]:
    return {"observe": lambda state: change(_observe(state))}


def _told(**changes: Callable[[Any], Any]) -> dict[str, Any]:
    """A truth with some fields changed."""

    def truth(state):
        right = _truth(state)
        return dataclasses.replace(right, **{name: f(getattr(right, name)) for name, f in changes.items()})

    return {"truth": truth}


def _ends(**changes: Any) -> dict[str, Any]:
    """A world whose episodes end at the right edge, where its task pays, with some fields changed."""

    def is_there(state):
        return state.agent[1] == COLS - 1

    right: dict[str, Any] = {
        "ends": lambda state: (is_there(state), is_there(state)),
        "task_reward": lambda state: is_there(state).astype(jnp.float32),
        "place": lambda state: state.agent,
        "events": ("there",),
        "happens": lambda state: is_there(state)[None],
    }
    return right | changes


def _vector(o: Any) -> dict[str, Any]:
    """A frame of two numbers that observe does not keep to."""
    return {"frame": vector(2, low=0, high=9), "observe": lambda state: o}


def _broken(*_):
    raise KeyError("door")


def _leaves(*_):
    raise SystemExit(3)


# What is changed in the right world, and what the one line says.
WORLDS: dict[str, tuple[dict[str, Any], str]] = {
    "objects far outside": (_told(objects=lambda x: x + 100), "truth put object 'thing' at row 10"),
    "objects below the map": (_told(objects=lambda x: x - 100), "truth put object 'thing' at row -"),
    "agent outside": (_told(agent=lambda x: x + 3), "truth put the agent at row "),
    "map too small": ({"map_shape": (2, 2)}, "expected inside the map of 2 rows and 2 columns"),
    "map of no rows": ({"map_shape": (0, 4)}, "map_shape is (0, 4)"),
    "map of one number": ({"map_shape": (4,)}, "map_shape is (4,)"),
    "fewer objects than names": (
        {"objects": ("thing", "other")},
        "truth.objects returned int32[1,2], expected integer[2,2]: the world names 2 objects (thing, other)",
    ),
    "fewer names than objects": ({"objects": ()}, "expected integer[0,2]: the world names no objects"),
    "truth of floats": (_told(objects=lambda x: x * 1.0), "returned float32[1,2], expected integer[1,2]"),
    "agent in three dimensions": (
        _told(agent=lambda x: jnp.append(x, 0)),
        "truth.agent returned int32[3], expected integer[2]",
    ),
    "truth a tuple": ({"truth": lambda s: (s.agent, s.thing)}, "truth returned a tuple of int32[2], int32[2]"),
    "truth nothing": ({"truth": lambda s: None}, "truth returned None, expected a Truth record"),
    "frame of another shape": (_frames(lambda o: jnp.tile(o, (3, 5, 1))), "observe returned uint8[3,5,2]"),
    "frame flat": (_frames(jnp.ravel), "observe returned uint8[2], expected uint8[1,1,2]"),
    "frame of floats": (_frames(lambda o: o * 1.0), "observe returned float32[1,1,2], expected uint8[1,1,2]"),
    "frame below zero": (_frames(lambda o: o.astype(int) - 1), "observe returned int32[1,1,2], expected uint8"),
    "frame beyond one": (_frames(lambda o: 7 * o), "in the binary channel 'floor' of frame 0 the value 7"),
    "frame nothing": (_frames(lambda o: None), "observe returned None, expected uint8[1,1,2]"),
    "two cells of one": (
        {"frame": Bits(RIGHT.channels, 3, 3)} | _frames(lambda o: jnp.ones((3, 3, 2), jnp.uint8)),
        "in the one_hot channel 'thing' of frame 0 9 cells that are 1, expected at most one",
    ),
    "view of another size": (
        {"frame": Bits(RIGHT.channels, 1, 3)},
        "observe returned uint8[1,1,2], expected uint8[1,3,2]",
    ),
    "kind unknown": (
        {"frame": Bits((Channel("floor", "binary"), Channel("thing", "onehot")), 1, 1)},  # type: ignore[arg-type]
        "kind of channel 'thing' of world mine 'onehot'; nearest: one_hot; known: binary, one_hot",
    ),
    "step a pair": ({"step": lambda k, s, a: (s, 0.0)}, "step returned a tuple"),
    "step of another type": (
        {"step": lambda k, s, a: State(agent=s.agent * 1.0, thing=s.thing)},
        "step returned float32[2] in .agent, expected int32[2] as what reset returned",
    ),
    "step nothing": ({"step": lambda k, s, a: None}, "step returned None, expected a State"),
    "reset raises": ({"reset": _broken}, "reset raised KeyError: 'door'"),
    "observe leaves": ({"observe": _leaves}, "observe called sys.exit(3)"),
    "no actions": ({"actions": ()}, "actions is empty"),
    "no steps": ({"num_steps": 0}, "num_steps is 0, expected a whole number of at least 1"),
    "half a step": ({"num_steps": 4.5}, "num_steps is 4.5"),
    "numbers that are none": (_vector(jnp.array([0.0, jnp.nan])), "in entry 1 of frame 0 the value nan"),
    "numbers of another type": (_vector(jnp.array([0, 1])), "observe returned int32[2], expected float32[2]"),
    "two channels of one name": (
        {"frame": Bits((Channel("floor", "binary"), Channel("floor", "one_hot")), 1, 1)},
        "two channels are named 'floor'",
    ),
    "ends at once": (_ends(ends=lambda s: (jnp.bool_(True),) * 2), "ends says of every episode's first frame that"),
    "terminates and goes on": (
        _ends(ends=lambda s: (jnp.bool_(False), s.agent[1] == 2)),
        "that it terminates its episode, and not that it ends it",
    ),
    "one end": (_ends(ends=lambda s: s.agent[1] == 2), "ends returned bool[], expected two"),
    "task of nothing": (
        _ends(task_reward=lambda s: jnp.where(s.agent[1] == 2, jnp.inf, 0.0)),
        "task_reward returned inf in frame",
    ),
    "task without ends": (
        {"task_reward": lambda s: jnp.float32(1)},
        "task_reward is for worlds whose episodes end by themselves",
    ),
    "events without ends": ({"events": ("there",)}, "events is for worlds whose episodes end by themselves"),
    "places without ends": ({"place": lambda s: s.agent}, "place is for worlds whose episodes end by themselves"),
    "places of nothing": (_ends(place=lambda s: s.agent / 0), "place returned numbers that are not finite"),
    "an event twice": (_ends(events=("open", "open")), "events names 'open' twice"),
    "an object twice": ({"objects": ("lamp", "lamp")}, "objects names 'lamp' twice"),
    "events by number": (_ends(events=(5,)), "events is (5,), expected a tuple of names"),
    "asks for a number": (
        {"step": lambda k, s, a: _step(k, s, a) if a > 0 else s},
        "step raised TracerBoolConversionError",
    ),
}


def _pay(change: Callable[[Paid], Paid | Any]) -> IntrinsicReward:
    """The one-step surprise with a change in what is paid."""
    return IntrinsicReward("mine", lambda params, memory, model, seen: change(paid(ahead(table(seen), 1))))


def _with(**changes: Callable[[Any], Any]) -> IntrinsicReward:
    return _pay(lambda p: dataclasses.replace(p, **{name: f(getattr(p, name)) for name, f in changes.items()}))


def _remembers(after: Callable[..., Any]) -> IntrinsicReward:
    right = _with()
    return dataclasses.replace(right, remember=lambda model: jnp.zeros(3), after_update=after)


RIGHT_ENDING = dataclasses.replace(RIGHT, **_ends())
RIGHT_REWARD = _with()
REWARDS: dict[str, tuple[IntrinsicReward, str]] = {
    "one number": (_with(r_t=jnp.mean), "pay's r_t returned float32[], expected floating[6,2]"),
    "too short": (_with(r_t=lambda r: r[1:]), "pay's r_t returned float32[5,2], expected floating[6,2]"),
    "whole numbers": (_with(r_t=lambda r: r.astype(int)), "pay's r_t returned int32[6,2], expected floating[6,2]"),
    "one channel": (_with(r_tc=lambda r: r[..., :1]), "pay's r_tc returned float32[6,2,1], expected floating[6,2,2]"),
    "a thousandfold split": (_with(r_tc=lambda r: 1000 * r), "pay's r_tc sums to "),
    "not finite": (_with(r_t=lambda r: r / 0), "pay's r_t is not finite at step 0"),
    "a loss by step": (_with(loss=lambda x: x + jnp.zeros(6)), "pay's loss returned float32[6], expected floating[]"),
    "a bare array": (_pay(lambda p: p.r_t), "pay returned float32[6,2], expected a Paid record"),
    "two frames ahead": (
        IntrinsicReward("mine", lambda params, memory, model, seen: paid(ahead(table(seen), 2)), num_ahead=2),
        "pay's r_t at step t reads frames after t+1",
    ),
    "raises": (IntrinsicReward("mine", _broken), "pay raised KeyError: 'door'"),
    "memory of another shape": (
        _remembers(lambda memory, model, paid, step: memory[:2]),
        "after_update returned float32[2], expected float32[3] as what remember returned",
    ),
}
