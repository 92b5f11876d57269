"""The record of a world: its frame is one fact, and its shape and channels follow."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from ndigo import frames
from ndigo.errors import NdigoError
from ndigo.worlds import Channel, World, make_world

CHANNELS = (Channel("walls", "binary"), Channel("ball", "one_hot"))


def world(**declared: Any) -> World:
    def nothing(*_: Any) -> Any:
        return 0

    return World(name="mine", actions=("stay",), num_steps=1, reset=nothing, step=nothing, observe=nothing, **declared)


@pytest.mark.parametrize(
    ("frame", "shape", "names"),
    [
        (frames.bits(["a", "b"], 5), (5, 5, 2), ["a", "b"]),
        (frames.tiles((4, 2), 7, names=("x", "y")), (7, 7, 2), ["x", "y"]),
        (
            frames.join(l=frames.bits(["a"], 1), r=frames.vector(3, low=0, high=1)),
            {"l": (1, 1, 1), "r": (3,)},
            ["l", "r"],
        ),
    ],
)
@pytest.mark.parametrize("before", [frames.bits(CHANNELS, 3), frames.tiles((9,), 2)])
def test_a_changed_copy_has_the_frame_that_it_is_given(before, frame, shape, names):
    first = world(frame=before)
    assert len(first.shape) == 3  # what was read of the first does not cling to the copy
    changed = dataclasses.replace(first, frame=frame)
    assert (changed.frame, changed.shape) == (frame, shape)
    assert [channel.name for channel in changed.channels] == names
    renamed = dataclasses.replace(changed, name="other")
    assert (renamed.name, renamed.frame, renamed.shape) == ("other", frame, shape)


@pytest.mark.parametrize("actions", [("stay", "up"), ("stay", "up", "down", "right", "left", "jump")])
def test_a_map_has_the_actions_of_its_step(actions):
    maze = make_world("maze")
    with pytest.raises(NdigoError, match=f"{len(actions)} actions, and its step takes 5: stay, up, down, right, left$"):
        dataclasses.replace(maze, actions=actions)
    changed = dataclasses.replace(maze, actions=actions, step=lambda key, state, a_t: maze.step(key, state, a_t % 2))
    assert changed.num_actions == len(actions)
    dataclasses.replace(maze, actions=("wait", "north", "south", "east", "west"))


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        ({}, "missing 1 required keyword-only argument: 'frame'"),
        ({"frame": frames.bits(["a"], 5), "shape": (3, 3, 1)}, "unexpected keyword argument 'shape'"),
        ({"frame": frames.bits(["a"], 5), "channels": CHANNELS}, "unexpected keyword argument 'channels'"),
        ({"frame": frames.bits(["a"], 5), "colour": "red"}, "unexpected keyword argument 'colour'"),
    ],
)
def test_a_frame_is_declared_and_nothing_else_of_what_is_seen(declared, says):
    with pytest.raises(TypeError, match=says):
        world(**declared)
