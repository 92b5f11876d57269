"""Every colour that means something, once: objects by their kind, rewards by their name.

Okabe & Ito, "Color Universal Design", and two of the same brightness where its six run out. Two lines of one figure
differ by CIE76 >= 10 also without red or green cones and in grey print, or else in dash and marker; two objects of one
world likewise, or else in dash and letter. A test simulates it (tests/test_palette.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

RGB = tuple[int, int, int]
Dash = str | tuple[float, tuple[float, ...]]

ORANGE, YELLOW, VERMILLION = (230, 159, 0), (240, 228, 66), (213, 94, 0)
SKY, GREEN, PURPLE = (86, 180, 233), (0, 158, 115), (204, 121, 167)
VIOLET, MINT = (142, 132, 255), (160, 235, 205)
OBJECTS: tuple[RGB, ...] = (ORANGE, SKY, GREEN, YELLOW, VERMILLION, PURPLE, VIOLET, MINT)

# The first object of a kind, the second, ...; what is noise is blue or purple wherever it is drawn.
KINDS: dict[str, tuple[RGB, ...]] = {
    "fixed": (ORANGE, YELLOW, VERMILLION),
    "white_noise": (SKY,),
    "bouncing": (GREEN, MINT),
    "brownian": (PURPLE,),
    "movable": (VIOLET,),
}
DASHES: tuple[Dash, ...] = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (8, 2)))
WALLS = "#8a8f98"  # and whatever else is no object


@dataclass(frozen=True)
class Stroke:
    """How a reward's curve is drawn."""

    colour: str
    dash: Dash
    marker: str


REWARDS: dict[str, Stroke] = {
    "random": Stroke("#7f7f7f", (0, (1, 1)), "x"),
    "pe": Stroke("#d55e00", (0, (5, 1.5)), "s"),
    "pg": Stroke("#c9a800", (0, (5, 1, 1, 1)), "v"),
    "icm": Stroke("#cc79a7", (0, (3, 1, 1, 1, 1, 1)), "P"),
    "ndigo-1": Stroke("#56b4e9", (0, (2, 1)), "^"),
    "ndigo-2": Stroke("#009e73", (0, (8, 2)), "D"),
    "ndigo-4": Stroke("#0072b2", "-", "o"),
    "ndigo-5": Stroke("#4a5bd0", (0, (10, 1)), "h"),
    "ndigo-10": Stroke("#a86ae6", (0, (6, 1, 2, 1)), "*"),
}
# Of rewards that the paper does not have.
OTHERS = (
    Stroke("#7a6a53", (0, (4, 2)), "<"),
    Stroke("#4c9aa8", (0, (1, 2)), ">"),
    Stroke("#b0643c", (0, (7, 1, 1, 1)), "p"),
    Stroke("#6b7f3a", (0, (2, 2)), "d"),
)

# Of whatever else one figure compares, in this order.
SERIES = tuple(REWARDS[name] for name in ("ndigo-4", "pe", "ndigo-2", "icm", "random"))


def stroke_of(reward: str) -> Stroke:
    """The same for a reward in every figure."""
    return REWARDS.get(reward) or OTHERS[crc32(reward.encode()) % len(OTHERS)]


def object_colours(kinds: Sequence[str]) -> list[RGB]:
    """A colour for each object of a world: its kind's, or one still free where a kind has fewer than objects."""
    nth, colours = Counter[str](), list[RGB]()
    own = {colour for kind in kinds for colour in KINDS.get(kind, ())}
    for kind in kinds:
        of_kind, n = KINDS.get(kind, ()), nth[kind]
        nth[kind] += 1
        free = [colour for colour in OBJECTS if colour not in colours and colour not in own]
        others = free or [OBJECTS[len(colours) % len(OBJECTS)]]  # of very many, in turn
        colours.append(of_kind[n] if n < len(of_kind) else others[0])
    return colours


def dash_of(index: int) -> Dash:
    """The dash of a world's object, by its place in the world."""
    return DASHES[index % len(DASHES)]


def hexadecimal(colour: RGB) -> str:
    return "#{:02x}{:02x}{:02x}".format(*colour)
