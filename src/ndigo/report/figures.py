"""How every figure looks and is kept: whole on disk, and with text in the colour of a page's, dark or light."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.typing import ColorType

from ndigo.errors import NdigoError
from ndigo.storage.run_folder import make_folder, write_whole

COLUMN, PAGE = 3.25, 6.75  # inches: a column and a page of a conference's two-column sheet
FORMATS: tuple[Literal["png", "pdf", "svg"], ...] = ("png", "pdf", "svg")
INK = "#010203"  # stands for the colour of the page's text
CONTRAST = 4.5  # of a word to the white page, WCAG's least for small text
LINE_HEIGHT = 0.115  # inches, of a name at the end of a line
AS_FILE: Any = {  # matplotlib's settings where it writes
    "pdf.fonttype": 42,  # fonts that a publisher's checker takes
    "svg.fonttype": "none",  # text stays text: small, and in the page's own font
    "svg.hashsalt": "ndigo",  # the same figure, the same bytes
}
STYLE: Any = AS_FILE | {  # and where it draws
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "font.size": 7.5,
}


def plain(axis: Axes) -> None:
    axis.grid(alpha=0.15, color=INK)
    axis.spines[["top", "right"]].set_visible(False)


def with_plain_texts(figure: Figure) -> Figure:
    """The figure, of whose texts none is read as mathematics: a run's name may hold dollars, or bytes of no character.

    The labels of a logarithmic axis are mathematics, and stay so.
    """
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        if not text.get_text().startswith("$\\mathdefault"):
            text.set_parse_math("$" not in text.get_text())
            text.set_text(text.get_text().encode(errors="replace").decode())
    return figure


def as_svg(figure: Figure) -> str:
    """The figure as an element of an HTML page."""
    text = io.StringIO()
    with rc_context(STYLE):
        with_plain_texts(figure).savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    return svg[svg.index("<svg") :].replace(INK, "currentColor")


def label_ends(axis: Axes, ends: Sequence[tuple[float, str, str]]) -> None:
    """Writes each line's name, (height, text, colour), where it ends at the right; names that would meet move apart.

    Heights keep their order. Needs the limits of the axis as they will be.
    """
    low, high = axis.get_ylim()
    rows = sorted((min(max((y - low) / (high - low), 0.0), 1.0), text, colour) for y, text, colour in ends)
    tall = axis.get_figure().get_figheight() * axis.get_position().height  # type: ignore[union-attr]
    heights = moved_apart([row[0] for row in rows], LINE_HEIGHT / tall)
    for height, (_, text, colour) in zip(heights, rows, strict=True):
        axis.annotate(text, (1.02, height), xycoords="axes fraction", va="center", fontsize=6.5, color=colour)


def moved_apart(heights: Sequence[float], gap: float) -> list[float]:
    """Sorted heights from 0 to 1, moved as little as it takes to lie `gap` apart.

    Heights that are too close join a block, which lies where its members would on average, and inside.
    """
    blocks: list[list[float]] = []  # the heights of each
    for height in heights:
        blocks.append([height])
        while len(blocks) > 1 and _bottom(blocks[-1], gap) < _bottom(blocks[-2], gap) + gap * len(blocks[-2]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    return [_bottom(block, gap) + gap * i for block in blocks for i in range(len(block))]


def _bottom(block: Sequence[float], gap: float) -> float:
    reach = gap * (len(block) - 1)
    return max(0.0, min(sum(block) / len(block) - reach / 2, 1 - reach))


def legible(colour: ColorType) -> tuple[float, float, float]:
    """The colour, darkened until it can be read as a word on white: yellow and mint are made for dark maps.

    WCAG 2's contrast to white is 1.05 / (Y + 0.05), with Y the relative luminance.
    """
    red, green, blue = to_rgb(colour)
    while 1.05 / (_luminance(red, green, blue) + 0.05) < CONTRAST:
        red, green, blue = 0.95 * red, 0.95 * green, 0.95 * blue
    return red, green, blue


def _luminance(*rgb: float) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def save_figure(figure: Figure, path: Path, formats: Sequence[str] = ("png",)) -> list[Path]:
    """Writes the figure once for each format, beside each other, on white; `path` is without an ending."""
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        text.set_color(legible(text.get_color()))
    with rc_context(STYLE):
        return [
            write_figure(figure, path.with_name(f"{path.name}.{kind}"), dpi=200, facecolor="white") for kind in formats
        ]


def check_figure(path: Path) -> None:
    """Before the work: an error where the ending of the name is of no kind of figure."""
    if path.suffix.lower() not in (f".{kind}" for kind in FORMATS):
        *kinds, last = (f".{kind}" for kind in FORMATS)
        raise NdigoError(f"{path}: a figure is {', '.join(kinds)} or {last}, by the ending of its name")


def write_figure(figure: Figure, path: Path, **options: Any) -> Path:
    """Draws the figure in memory, then writes it; the ending of the name says which kind."""
    data = io.BytesIO()
    with rc_context(AS_FILE):
        with_plain_texts(figure).savefig(data, format=path.suffix.lower()[1:], **options)
    make_folder(path.parent)
    write_whole(path, data.getvalue())
    return path
