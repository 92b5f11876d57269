"""A figure that a notebook shows by itself."""

from __future__ import annotations

import io
from pathlib import Path

from matplotlib.figure import Figure

from ndigo.report.figures import check_figure, with_plain_texts, write_figure

DPI = 160


class Plot:
    """A matplotlib figure, `plot.figure`; it shows itself in a notebook and saves itself by a name's ending."""

    def __init__(self, figure: Figure):
        self.figure = figure

    def save(self, path: str | Path) -> Path:
        """Writes the figure: PNG, PDF or SVG."""
        check_figure(Path(path))
        write_figure(self.figure, Path(path), dpi=DPI)
        return Path(path)

    def _repr_png_(self) -> bytes:
        data = io.BytesIO()
        with_plain_texts(self.figure).savefig(data, format="png", dpi=DPI, facecolor="white")
        return data.getvalue()

    def __repr__(self) -> str:
        width, height = self.figure.get_size_inches()
        return f"Plot({len(self.figure.axes)} panels, {width:.1f} x {height:.1f} inches; .save(path) keeps it)"
