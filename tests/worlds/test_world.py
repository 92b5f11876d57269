"""The record of a world: its frame is one fact, and its shape and channels follow."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from ndigo import frames
from ndigo.errors import NdigoError
from ndigo.worlds import Channel, World

CHANNELS = (Channel("walls", "binary"), Channel("ball", "one_hot"))


def world(**declared: Any) -> World:
    def nothing(*_: Any) -> Any:
        return 0

    return World(name="mine", actions=("stay",), num_steps=1, reset=nothing, step=nothing, observe=nothing, **declared)


def test_shape_and_channels_of_bits_stand_for_their_frame():
    assert world(shape=(3, 4, 2), channels=CHANNELS).frame == frames.bits(CHANNELS, 3, 4)


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
@pytest.mark.parametrize("before", [{"shape": (3, 3, 2), "channels": CHANNELS}, {"frame": frames.tiles((9,), 2)}])
def test_a_changed_copy_has_the_frame_that_it_is_given(before, frame, shape, names):
    first = world(**before)
    assert len(first.shape) == 3  # what was read of the first does not cling to the copy
    changed = dataclasses.replace(first, frame=frame)
    assert (changed.frame, changed.shape) == (frame, shape)
    assert [channel.name for channel in changed.channels] == names
    renamed = dataclasses.replace(changed, name="other")
    assert (renamed.name, renamed.frame, renamed.shape) == ("other", frame, shape)


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        (
            {"frame": frames.bits(["a"], 5), "shape": (3, 3, 1)},
            "its shape and channels follow from its frame; give the",
        ),
        ({"frame": frames.bits(["a"], 5), "channels": CHANNELS}, "its shape and channels follow from its frame; give"),
        ({}, r"no frame, and its shape is \(\), expected three whole numbers \(H, W, C\)"),
        ({"shape": (5, 2), "channels": CHANNELS}, r"its shape is \(5, 2\), expected three whole numbers"),
        ({"shape": (5, 5, 3), "channels": CHANNELS}, r"2 channels for shape \(5, 5, 3\)"),
    ],
)
def test_a_frame_is_declared_once_and_whole(declared, says):
    with pytest.raises(NdigoError, match=f"^world mine: (|no frame, and ){says}"):
        world(**declared)
    with pytest.raises(NdigoError, match="give the frame alone"):
        dataclasses.replace(world(frame=frames.tiles((9,), 2)), shape=(3, 3, 2), channels=CHANNELS)


def test_an_argument_that_no_world_has_is_named():
    with pytest.raises(TypeError, match="colour"):
        world(shape=(3, 3, 2), channels=CHANNELS, colour="red")
