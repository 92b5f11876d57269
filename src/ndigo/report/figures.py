"""How every figure looks and is kept: whole on disk, and with text in the colour of a page's, dark or light."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from ndigo.storage.run_folder import make_folder, write_whole

INK = "#010203"  # stands for the colour of the page's text
STYLE: Any = {  # matplotlib's settings
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "font.size": 8,
    "svg.fonttype": "none",  # text stays text: small, and in the page's own font
    "svg.hashsalt": "ndigo",  # the same figure, the same bytes
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


def save_png(figure: Figure, path: Path) -> Path:
    return write_figure(figure, path, dpi=150, facecolor="white")


def write_figure(figure: Figure, path: Path, **options: Any) -> Path:
    """Draws the figure in memory, then writes it; the ending of the name says which kind."""
    data = io.BytesIO()
    with_plain_texts(figure).savefig(data, format=path.suffix.lower()[1:], **options)
    make_folder(path.parent)
    write_whole(path, data.getvalue())
    return path
