"""How every figure looks: for a page that may be dark or light, text and axes take the colour of the page's text."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

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


def as_svg(figure: Figure) -> str:
    """The figure as an element of an HTML page."""
    text = io.StringIO()
    with rc_context(STYLE):
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = text.getvalue()
    return svg[svg.index("<svg") :].replace(INK, "currentColor")


def save_png(figure: Figure, path: Path) -> Path:
    figure.savefig(path, dpi=150, facecolor="white")
    return path
