"""Drawings are checked when they are built, and an error names the row and column at fault."""

import re

import pytest

from ndigo.errors import NdigoError
from ndigo.worlds import Object, grid_world, make_world, read_layout

ROOMS = {"a": "den", "b": "hall"}
GOOD = """
#########
#aPa bbb#
#aaa#bbb#
#########
"""


def with_char(row: int, column: int, char: str) -> str:
    rows = [list(line) for line in GOOD.strip().split("\n")]
    rows[row][column] = char
    return "\n".join("".join(line) for line in rows)


def world_of(*objects: Object, drawing: str = GOOD):
    return grid_world("test", read_layout(drawing, ROOMS), objects)


def test_drawing_is_read_as_rooms_walls_and_start():
    layout = read_layout(GOOD, ROOMS)
    assert layout.shape == (4, 9)
    assert layout.start == (1, 2)
    assert layout.cells_of("den") == [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)]  # the start is part of it
    assert layout.cells_of("hall") == [(1, 5), (1, 6), (1, 7), (2, 5), (2, 6), (2, 7)]
    assert layout.is_free.sum() == 13  # and the door
    assert layout.room_of[1, 4] == -1
    assert [cell for cell in layout.cells_of("den") if layout.is_mouth(cell)] == [(1, 3)]


@pytest.mark.parametrize(
    ("drawing", "message"),
    [
        (with_char(0, 4, " "), "row 0, column 4 (counted from 0): the outer wall is open"),
        (with_char(2, 0, "a"), "row 2, column 0 (counted from 0): the outer wall is open"),
        (GOOD.replace("#aaa#bbb#", "#aaa#bb#"), "row 2: 8 columns, but row 0, the first, has 9"),
        (with_char(2, 6, "?"), "row 2, column 6 (counted from 0): unknown character '?'; allowed: '# Pab'"),
        (with_char(1, 2, "a"), "no start; draw one 'P'"),
        (with_char(2, 6, "P"), "row 2, column 6 (counted from 0): a second start"),
        (with_char(1, 4, "#"), "row 1, column 5 (counted from 0): cannot be reached from the start (1, 2)"),
        (with_char(2, 5, "a"), "row 2, column 5 (counted from 0): room 'den' is in two pieces"),
        (GOOD.replace("b", "a").replace("a a", "aaa"), "no cell of room 'hall'"),
        ("", "no start"),
    ],
)
def test_bad_drawing_is_refused_with_its_place(drawing, message):
    with pytest.raises(NdigoError, match=re.escape(message)):
        read_layout(drawing, ROOMS)


@pytest.mark.parametrize("char", ["#", " ", "P", "ab", ""])
def test_legend_with_a_reserved_or_long_character_is_refused(char):
    with pytest.raises(NdigoError, match="cannot stand for a room"):
        read_layout(GOOD, {"a": "den", char: "hall"})


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        ([Object("x", "fixed", ("hal",))], "unknown room of object 'x' 'hal'; nearest: hall; known: den, hall"),
        ([Object("x", "fixed", ())], "object 'x' has no room"),
        ([Object("", "fixed", ("hall",))], "an object has no name; its rooms: hall"),
        ([Object("x", "fixed", ("hall",)), Object("y", "fixed", ("hall",))], "room 'hall' may hold both 'x' and 'y'"),
        ([Object("x", "fixed", ("den", "hall")), Object("y", "fixed", ("den",))], "room 'den' may hold both"),
        ([Object("x", "fixed", ("hall",)), Object("x", "fixed", ("den",))], "two objects are called 'x'"),
    ],
)
def test_object_that_does_not_fit_the_map_is_refused(objects, message):
    with pytest.raises(NdigoError, match=re.escape(message)):
        world_of(*objects)


def test_unknown_kind_names_the_nearest():
    with pytest.raises(NdigoError, match=re.escape("'brownain'") + ".*nearest: brownian"):
        Object("x", "brownain", ("hall",))


def test_a_text_is_no_tuple_of_rooms():
    with pytest.raises(NdigoError, match=r"^object 'x': rooms 'hall' is text, expected \('hall',\)$"):
        Object("x", "fixed", "hall")  # type: ignore[arg-type]


def test_only_white_noise_may_be_told_whether_it_blocks():
    assert Object("x", "white_noise", ("hall",), blocks=True).is_blocking
    with pytest.raises(NdigoError, match="always blocks"):
        Object("x", "movable", ("hall",), blocks=False)


@pytest.mark.parametrize(("kind", "num_cells"), [("white_noise", 1), ("movable", 2)])
def test_room_too_small_for_its_object_is_refused(kind, num_cells):
    drawing = "########\n#aPa" + "b" * num_cells + "#" * (4 - num_cells) + "\n########"
    with pytest.raises(NdigoError, match=f"room 'hall' is too small for a {kind} object: needs {num_cells + 1}"):
        world_of(Object("x", kind, ("hall",)), drawing=drawing)


def test_object_with_no_free_cell_to_start_from_is_refused():
    drawing = "#######\n#aPa b#\n#######"
    with pytest.raises(NdigoError, match="object 'x' has no free cell to start from in hall"):
        world_of(Object("x", "fixed", ("hall",), avoids_mouths=True), drawing=drawing)


@pytest.mark.parametrize("view", [0, 2, 4, -1])
def test_even_view_is_refused(view):
    with pytest.raises(NdigoError, match=f"view {view}: .* must be odd"):
        make_world("maze", view=view)


def test_what_is_no_legend_or_list_of_objects_is_one_line():
    with pytest.raises(NdigoError, match=r"^map legend is a str, expected rooms by character, as \{'a': 'hall'\}$"):
        read_layout(GOOD, "ab")  # type: ignore[arg-type]
    with pytest.raises(NdigoError, match=r"^world test: objects is Object\(.*\), expected a list$"):
        grid_world("test", read_layout(GOOD, ROOMS), Object("x", "fixed", ("hall",)))  # type: ignore[arg-type]


def test_episode_without_steps_is_refused():
    with pytest.raises(NdigoError, match="num_steps 0"):
        make_world("maze", num_steps=0)


def test_unknown_world_names_the_nearest():
    with pytest.raises(NdigoError, match=r"unknown world 'maz'.*nearest: maze"):
        make_world("maz")
