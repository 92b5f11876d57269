"""Pictures say what the truth says: checked pixel by pixel and character by character."""

import re

import jax
import numpy as np
import pytest

from ndigo import EXPERIMENTS, frames, make_world
from ndigo.errors import NdigoError
from ndigo.palette import OBJECTS
from ndigo.types import Truth
from ndigo.worlds import WORLDS, Object, World, grid_world, read_layout
from ndigo.worlds.render import AGENT, FLOOR, SEEN_LIGHT, WALL, legend, render_ansi, render_rgb

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def truth_at(agent: tuple[int, int], *objects: tuple[int, int]) -> Truth:
    return Truth(
        agent=np.array(agent),  # type: ignore[arg-type]
        objects=np.array(objects).reshape(-1, 2),  # type: ignore[arg-type]
    )


@pytest.fixture
def tiny() -> World:
    layout = read_layout("######\n#AAPA#\n#AAAA#\n######", {"A": "hall"})
    return grid_world("tiny", layout, [Object("ball", "fixed", ("hall",))], view=3)


def middle_of(image: np.ndarray, row: int, col: int, size: int = 16) -> tuple[int, ...]:
    return tuple(image[row * size + size // 2, col * size + size // 2].tolist())


def corner_of(image: np.ndarray, row: int, col: int, size: int = 16) -> tuple[int, ...]:
    return tuple(image[row * size, col * size].tolist())


def lightened(rgb: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(round(c + SEEN_LIGHT * (255 - c)) for c in rgb)


def test_image_shows_agent_objects_walls_and_floor_where_they_are(tiny):
    image = render_rgb(tiny, truth_at((1, 3), (2, 1)), show_view=False)
    assert image.dtype == np.uint8
    assert image.shape == (4 * 16, 6 * 16, 3)
    assert middle_of(image, 1, 3) == AGENT
    assert middle_of(image, 2, 1) == OBJECTS[0]
    for row in range(4):
        for col in range(6):
            is_wall = row in (0, 3) or col in (0, 5)
            assert corner_of(image, row, col) == (WALL if is_wall else FLOOR)


def test_exactly_the_cells_in_view_are_lighter(tiny):
    image = render_rgb(tiny, truth_at((1, 3), (2, 1)))
    for row in range(4):
        for col in range(6):
            plain = WALL if row in (0, 3) or col in (0, 5) else FLOOR
            is_seen = abs(row - 1) <= 1 and abs(col - 3) <= 1
            assert corner_of(image, row, col) == (lightened(plain) if is_seen else plain)


def test_panel_shows_the_view_with_the_agent_in_its_middle(tiny):
    image = render_rgb(tiny, truth_at((1, 3), (2, 2)), show_panel=True)
    panel = image[:, 6 * 16 + 16 :]
    cell = (4 * 16) // 3  # three cells of the view in the height of four of the map
    assert panel.shape[1] == 3 * cell
    above = (4 * 16 - 3 * cell) // 2
    panel = panel[above : above + 3 * cell]
    assert middle_of(panel, 1, 1, cell) == AGENT
    assert middle_of(panel, 2, 0, cell) == OBJECTS[0]
    assert [corner_of(panel, 0, j, cell) for j in range(3)] == [lightened(WALL)] * 3


def test_text_is_the_map_two_characters_to_a_cell(tiny):
    truth = truth_at((1, 3), (2, 1))
    assert render_ansi(tiny, truth, colour=False).split("\n") == [
        "############",
        "##  · @ · ##",
        "##B · · · ##",
        "############",
    ]
    assert render_ansi(tiny, truth, colour=False, show_view=False).split("\n") == [
        "############",
        "##    @   ##",
        "##B       ##",
        "############",
    ]


def test_text_panel_stands_right_of_the_map(tiny):
    lines = render_ansi(tiny, truth_at((1, 4), (2, 3)), colour=False, show_panel=True).split("\n")
    assert lines == ["############  ######", "##    · @ ##  · @ ##", "##    B · ##  B · ##", "############"]


def test_colour_adds_escapes_and_nothing_else(tiny):
    truth = truth_at((1, 3), (2, 1))
    coloured = render_ansi(tiny, truth)
    assert ESCAPE.sub("", coloured) == render_ansi(tiny, truth, colour=False)
    assert "38;2;{};{};{}".format(*OBJECTS[0]) in coloured


@pytest.mark.parametrize("name", WORLDS)
def test_every_world_draws_each_object_once_in_its_own_colour(name):
    world = make_world(name)
    assert world.truth is not None
    image = render_rgb(world, world.truth(world.reset(jax.random.key(1))), show_view=False)
    rows, cols = world.map_shape or (0, 0)
    assert image.shape == (16 * rows, 16 * cols, 3)
    middles = [middle_of(image, r, c) for r in range(rows) for c in range(cols)]
    colours = [entry.colour for entry in legend(world)]
    assert len(set(colours)) == len(colours)
    assert [middles.count(c) for c in (AGENT, *colours)] == [1] * (1 + len(colours))


def test_labels_tell_objects_apart_in_every_world():
    assert [entry.label for entry in legend(EXPERIMENTS["exp1"].world)] == ["F", "N"]
    assert [entry.label for entry in legend(EXPERIMENTS["exp5"].world)] == ["N", "F2", "F3", "F4", "M"]


def test_objects_with_one_initial_are_labelled_by_number():
    layout = read_layout("#####\n#APB#\n#AAB#\n#####", {"A": "a", "B": "b"})
    world = grid_world("twins", layout, [Object("cat", "fixed", ("a",)), Object("cow", "fixed", ("b",))])
    assert [entry.label for entry in legend(world)] == ["1", "2"]


def luminance(rgb: tuple[int, ...]) -> float:
    """Relative luminance (WCAG 2)."""
    r, g, b = (c / 255 for c in rgb)
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in (r, g, b)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("colour", OBJECTS)
def test_every_object_stands_out_from_the_floor_by_lightness_alone(colour):
    for floor in (FLOOR, lightened(FLOOR)):
        assert (luminance(colour) + 0.05) / (luminance(floor) + 0.05) >= 3  # WCAG's ratio for graphics


def test_a_world_without_a_map_gives_one_clear_line(tiny):
    bare = World(
        name="bare", frame=frames.bits(tiny.channels[:1], 1), actions=("stay",), num_steps=1,
        reset=tiny.reset, step=tiny.step, observe=tiny.observe,
    )  # fmt: skip
    with pytest.raises(NdigoError, match="world 'bare' has no map to draw"):
        render_rgb(bare, truth_at((0, 0)))


def test_cells_too_small_to_show_anything_are_refused(tiny):
    with pytest.raises(NdigoError, match="cell_pixels 2"):
        render_rgb(tiny, truth_at((1, 1), (2, 2)), cell_pixels=2)
