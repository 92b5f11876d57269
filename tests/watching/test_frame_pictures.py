"""Pictures of frames: held by loops over cells, and by what a certain expectation must look like."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ndigo import frames
from ndigo.frames import Channel
from ndigo.interop.suites import minigrid_view, xminigrid
from ndigo.interop.suites import navix as navix_suite
from ndigo.palette import OBJECTS, ORANGE
from ndigo.watching.frame_pictures import EMPTY, FLOOR, WALL, WITH_GROUND, Painter, painter_of, tile_colour


def expectation(painter: Painter, chances: Any) -> np.ndarray:
    assert painter.expected is not None
    return np.asarray(jax.jit(painter.expected)(chances))


def picture_of(painter: Painter, o: Any) -> np.ndarray:
    return np.asarray(jax.jit(painter.seen)(o))


def test_bits_show_walls_grey_and_every_other_channel_in_a_colour_of_its_own():
    frame = frames.bits([Channel("walls", "binary"), Channel("a", "one_hot"), Channel("b", "one_hot")], 3, 4)
    o = np.zeros((3, 4, 3), np.uint8)
    o[0, 0, 0] = o[1, 2, 1] = o[2, 3, 2] = 1
    painter = painter_of(frame)
    picture = picture_of(painter, o)
    expected = np.full((3, 4, 3), FLOOR)
    expected[0, 0], expected[1, 2], expected[2, 3] = WALL, OBJECTS[0], OBJECTS[1]
    np.testing.assert_array_equal(picture, expected)
    assert painter.colours == (WALL, OBJECTS[0], OBJECTS[1])


def test_channels_that_share_a_cell_of_bits_are_both_seen_there():
    """Their mean; what is less likely weighs less, and of none the floor is seen."""
    painter = painter_of(frames.bits([Channel("key", "one_hot"), Channel("agent", "one_hot")], 3))
    o = np.zeros((3, 3, 2), np.uint8)
    o[1, 1] = 1
    picture = picture_of(painter, o)
    key, agent = np.array(OBJECTS[0], float), np.array(OBJECTS[1], float)
    np.testing.assert_allclose(picture[1, 1], (key + agent) / 2, atol=1)
    np.testing.assert_array_equal(picture[0, 0], FLOOR)
    chances = np.zeros((3, 3, 2))
    chances[0, 0] = 1, 1 / 32  # 1/32 to the power of 0.4 is 1/4
    chances[2, 2] = 0, 1 / 32
    expected = expectation(painter, chances)
    np.testing.assert_allclose(expected[0, 0], (key + agent / 4) / 1.25, atol=1)
    np.testing.assert_allclose(expected[2, 2], 0.75 * np.array(FLOOR) + 0.25 * agent, atol=1)


def test_a_frame_of_one_cell_shows_its_channels_side_by_side_and_a_chance_as_a_mixture():
    painter = painter_of(frames.bits(["x", "y", "z"], 1))
    picture = expectation(painter, np.array([[[1.0, 0.0, 0.5]]]))
    assert picture.shape == (1, 3, 3)
    np.testing.assert_array_equal(picture[0, :2], [OBJECTS[0], EMPTY])
    np.testing.assert_allclose(picture[0, 2], (np.array(EMPTY) + OBJECTS[2]) / 2, atol=1)


def test_tiles_have_the_colour_of_their_class_and_an_expectation_is_the_mean_of_colours():
    frame = frames.tiles((5, 3), 2, 3)
    o = np.random.default_rng(0).integers(0, (5, 3), (2, 3, 2)).astype(np.uint8)
    painter = painter_of(frame)
    by_hand = [[tile_colour(tuple(int(x) for x in o[r, c])) for c in range(3)] for r in range(2)]
    np.testing.assert_array_equal(picture_of(painter, o), by_hand)
    chances = np.random.default_rng(1).dirichlet(np.ones(15), (2, 3))
    mean = np.zeros((2, 3, 3))
    for n, tile in enumerate(frame.classes.tolist()):
        mean += chances[..., n, None] * np.array(tile_colour(tuple(tile)))
    np.testing.assert_allclose(expectation(painter, chances), mean, atol=1)
    assert len({tile_colour(tuple(tile)) for tile in frame.classes.tolist()}) == 15  # a colour per class


def test_a_frame_of_one_number_has_a_field_for_each_that_it_can_be():
    painter = painter_of(frames.tiles((6,), 1))
    picture = picture_of(painter, np.array([[[4]]]))
    np.testing.assert_array_equal(picture, np.repeat([[[0], [0], [0]], [[0], [255], [0]]], 3, axis=-1))
    chances = np.array([[[0, 1 / 32, 0, 0, 1, 0]]])  # 1/32 to the power of 0.4 is 1/4
    np.testing.assert_allclose(expectation(painter, chances)[..., 0], [[0, 64, 0], [0, 255, 0]], atol=1)


def test_a_suites_ground_is_dark_by_the_names_of_its_layers():
    o = np.array([[[kind, 5, 0] for kind in range(5)]], np.uint8)
    assert {minigrid_view.MINIGRID_NAMES, navix_suite.NAMES, xminigrid.NAMES} == WITH_GROUND
    names = [minigrid_view.MINIGRID_NAMES, navix_suite.NAMES, None]
    minigrid, navix, own = (picture_of(painter_of(frames.tiles((11, 6, 4), 1, 5, names=n)), o)[0] for n in names)
    np.testing.assert_array_equal(minigrid[:3], [FLOOR, EMPTY, WALL])
    np.testing.assert_array_equal(minigrid, navix)
    assert len({tuple(colour) for colour in [*minigrid.tolist(), *own.tolist()]}) == 10


@pytest.mark.parametrize("bins", [8, None])
def test_a_number_lights_its_bin_high_above_low(bins):
    frame = frames.vector(2, low=0.0, high=8.0, bins=bins)
    picture = picture_of(painter_of(frame), np.array([0.5, 7.5], np.float32))
    lit = (picture == ORANGE).all(axis=-1)
    columns = np.split(lit, 2, axis=1)
    assert columns[0][-len(lit) // 8 :].any()
    assert columns[1][: len(lit) // 8].any()
    assert [column.any(axis=1).sum() for column in columns] == [1, 1]


def test_each_named_number_has_the_colour_of_its_channel_and_numbers_of_one_name_share_it():
    seen = np.full(3, 0.9, np.float32)
    named = painter_of(frames.vector(3, low=0.0, high=1.0, bins=4, names=("x", "speed", "angle")))
    assert named.colours == OBJECTS[:3]
    wide = named.shape[1] // 3
    np.testing.assert_array_equal(picture_of(named, seen)[0, ::wide], OBJECTS[:3])
    certain = np.tile([0.0, 0.0, 0.0, 1.0], (3, 1))
    np.testing.assert_array_equal(expectation(named, certain), picture_of(named, seen))
    together = painter_of(frames.vector(3, low=0.0, high=1.0, bins=4))
    assert together.colours == (ORANGE,)
    assert (picture_of(together, seen)[0] == ORANGE).all()


def test_a_joins_channels_have_the_colours_of_its_parts():
    bag = frames.vector(2, low=0.0, high=1.0, names=("wood", "stone"))
    whole = frames.join(map=frames.tiles((4, 2), 2), bag=bag, near=frames.bits(["x"], 1))
    assert [channel.name for channel in whole.channels] == ["map.layer0", "map.layer1", "bag.wood", "bag.stone", "near"]
    assert painter_of(whole).colours == (None, None, OBJECTS[0], OBJECTS[1], OBJECTS[0])


def test_a_gaussian_expectation_is_brightest_at_its_mean():
    frame = frames.vector(1, low=-1.0, high=1.0, bins=None)
    picture = expectation(painter_of(frame), np.array([[0.5, 0.1]])).astype(int)
    rows = len(picture)
    assert abs((picture[:, 0, 0].argmax() + 0.5) / rows - 0.25) < 0.05  # three quarters of the way up


def test_pixels_are_themselves_and_a_certain_expectation_is_the_codes_picture():
    random = np.random.default_rng(0)
    pictures = random.integers(0, 256, (3, 8, 8, 3)).astype(np.uint8)
    frame = frames.pixels(8, 8, patch=4, codebook=frames.patches_in(pictures, 4))
    painter, o = painter_of(frame), jnp.asarray(pictures[1])
    np.testing.assert_array_equal(picture_of(painter, o), pictures[1])
    code = np.asarray(jax.jit(frame.code)(o))
    certain = np.eye(len(frame.patches))[code[..., 0]]
    np.testing.assert_array_equal(expectation(painter, certain), jax.jit(frame.picture)(code))


def test_many_numbers_and_frames_of_an_unknown_kind_are_tables_of_grey():
    many = frames.vector(100, low=0.0, high=1.0, bins=4)
    picture = picture_of(painter_of(many), np.linspace(0, 1, 100, dtype=np.float32))
    assert picture.shape == (10, 10, 3)
    assert (np.diff(picture[..., 0].ravel().astype(int)) >= 0).all()

    class Foreign:
        channels, spec = (Channel("x", "bins"),), jax.ShapeDtypeStruct((2,), jnp.uint8)
        pack = staticmethod(lambda o_t: o_t)

    unknown = painter_of(Foreign())  # type: ignore[arg-type]
    np.testing.assert_array_equal(picture_of(unknown, np.array([0, 255], np.uint8))[0, :, 0], [0, 255])
    assert unknown.expected is None


def test_a_join_has_its_parts_in_a_row():
    parts = {"map": frames.tiles((4, 2), 6), "bag": frames.vector(3, low=0.0, high=1.0, bins=3)}
    painters = {name: painter_of(part) for name, part in parts.items()}
    whole = painter_of(frames.join(**parts))
    o = {"map": np.ones((6, 6, 2), np.uint8), "bag": np.array([0.1, 0.5, 0.9], np.float32)}
    picture = picture_of(whole, o)
    assert picture.shape == (*whole.shape, 3) == (6, 6 + 1 + 2 * painters["bag"].shape[1], 3)
    np.testing.assert_array_equal(picture[:, :6], picture_of(painters["map"], o["map"]))
    np.testing.assert_array_equal(picture[::2, 7::2], picture_of(painters["bag"], o["bag"]))
    batch = jax.tree.map(lambda x: np.stack([x, x]), o)
    np.testing.assert_array_equal(picture_of(whole, batch)[1], picture)
