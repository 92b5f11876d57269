"""The colours, seen by eyes without red or green cones and in grey: two that stand together are told apart.

Machado, Oliveira & Fernandes 2009, at full severity, in linear RGB; differences are CIE76 in CIELAB (D65).
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb

from ndigo.palette import KINDS, OBJECTS, OTHERS, REWARDS, Stroke, dash_of, hexadecimal, object_colours, stroke_of
from ndigo.paper.experiments import EXPERIMENTS
from ndigo.report.figures import legible, moved_apart
from ndigo.worlds.render import legend

EYES = {
    "all cones": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
WHITE = np.array([0.95047, 1.0, 1.08883])


def lab(linear: np.ndarray) -> np.ndarray:
    x = XYZ @ np.clip(linear, 0, 1) / WHITE
    f = np.where(x > 216 / 24389, np.cbrt(x), (24389 / 27 * x + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def linear(colour: str | tuple[int, int, int]) -> np.ndarray:
    c = np.array(to_rgb(colour) if isinstance(colour, str) else np.array(colour) / 255)
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def least_difference(a, b) -> float:
    """Over all eyes, and in grey, where only the lightness is left."""
    seen = [np.linalg.norm(lab(m @ linear(a)) - lab(m @ linear(b))) for m in EYES.values()]
    return float(min(*seen, abs(lab(linear(a))[0] - lab(linear(b))[0])))


def test_the_simulation_agrees_with_what_is_known():
    assert lab(linear("#ffffff")) == pytest.approx([100, 0, 0], abs=0.02)
    assert lab(linear("#ff0000")) == pytest.approx([53.24, 80.09, 67.20], abs=0.02)
    assert least_difference("#1b6ca8", "#1b6ca8") == 0
    # Red and green of like lightness: far apart for most, near for one without green cones.
    red, green = linear("#c0504d"), linear("#6f8f2f")
    assert np.linalg.norm(lab(red) - lab(green)) > 60
    assert np.linalg.norm(lab(EYES["deuteranopia"] @ red) - lab(EYES["deuteranopia"] @ green)) < 25


@pytest.mark.parametrize(("one", "other"), list(combinations([*REWARDS.values(), *OTHERS], 2)))
def test_two_rewards_differ_to_all_eyes_or_in_dash_and_marker(one: Stroke, other: Stroke):
    differ_in_form = one.dash != other.dash and one.marker != other.marker
    assert least_difference(one.colour, other.colour) >= 10 or differ_in_form


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_two_objects_of_a_world_differ_to_all_eyes_or_in_dash_and_letter(name):
    shown = legend(EXPERIMENTS[name].world)
    for (i, one), (j, other) in combinations(enumerate(shown), 2):
        assert one.colour != other.colour
        differ_in_form = dash_of(i) != dash_of(j) and one.label != other.label
        assert least_difference(one.colour, other.colour) >= 10 or differ_in_form


@pytest.mark.parametrize(
    "colour", [*(line.colour for line in (*REWARDS.values(), *OTHERS)), *map(hexadecimal, OBJECTS)]
)
def test_a_name_in_its_lines_colour_can_be_read_on_white(colour):
    """By the luminance of this file's own conversion, WCAG 2's ratio; a colour that can be read stays as it is."""

    def contrast(shade):
        return 1.05 / ((XYZ @ linear(to_hex(shade)))[1] + 0.05)

    assert contrast(legible(colour)) >= 4.45
    if contrast(colour) >= 4.5:
        assert to_hex(legible(colour)) == colour


def test_a_kind_has_its_colour_wherever_it_stands():
    assert object_colours(["fixed", "white_noise"]) == object_colours(["white_noise", "fixed"])[::-1]
    assert object_colours(["brownian", "fixed"])[1] == object_colours(["fixed"])[0] == KINDS["fixed"][0]
    many = object_colours(["fixed"] * 6 + ["white_noise"])  # more than the kind has: none twice, none another's
    assert len(set(many)) == 7
    assert many[-1] == KINDS["white_noise"][0]


def test_a_reward_that_the_paper_does_not_have_keeps_its_line():
    assert stroke_of("rnd") == stroke_of("rnd")
    assert stroke_of("rnd") in OTHERS


@pytest.mark.parametrize("heights", [[0.5, 0.5, 0.5], [0.0, 0.01, 0.9], [0.98, 0.99, 1.0], [0.1, 0.2, 0.3]])
def test_names_at_the_ends_of_lines_lie_apart_in_order_and_inside(heights):
    placed = moved_apart(heights, 0.1)
    assert placed == sorted(placed)
    assert min(np.diff(placed)) >= 0.1 - 1e-9
    assert placed[0] >= -1e-9
    assert placed[-1] <= 1 + 1e-9
    if min(np.diff(heights)) >= 0.1:
        assert placed == pytest.approx(heights)
