"""The paper's learning-curve figures from the cells that are there: discovery loss against learner steps.

Lines are means over seeds, bands their 95% bootstrap intervals. Figures are drawn for a page that may be dark or light:
text and axes take the colour of the page's text.
"""

from __future__ import annotations

import io
from math import log
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from ndigo.experiments import Experiment
from ndigo.experiments.plan import Cell
from ndigo.report.cells import Cells, Measured
from ndigo.report.statistics import bootstrap

COLOURS = {
    "random": "#8a8f98",
    "pe": "#d9822b",
    "pg": "#a89a2e",
    "icm": "#cf5a92",
    "ndigo-1": "#5fb3a1",
    "ndigo-2": "#3fa34d",
    "ndigo-4": "#3d86d6",
    "ndigo-5": "#3d86d6",
    "ndigo-10": "#8466d8",
}
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


def discovery_figure(experiment: Experiment, cells: Cells) -> Figure | None:
    """The experiment's curves; None where no cell of it is there."""
    there = _there(experiment, cells)
    if not there:
        return None
    with rc_context(STYLE):
        figure, axis = _empty("learner steps", "discovery loss (nats)")
        for cell in there:
            _line(axis, cell.cell.reward, cell.steps, cell.discovery_curve())
        _level(axis, experiment)
        axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x / 1000:g}k" if x else "0"))
        _finish(figure, axis)
    return figure


def tracking_figure(experiment: Experiment, cells: Cells) -> Figure | None:
    """How well the experiment's objects are known, by the steps since each was last seen."""
    there = _there(experiment, cells)
    if not there:
        return None
    with rc_context(STYLE):
        figure, axis = _empty("steps since it was last seen", "discovery loss (nats)")
        for cell in there:
            columns = [cell.objects.index(name) for name in cell.discovers]
            steps = cell.tracking_steps[:, columns].sum(axis=1)  # [S, ages]
            loss = (cell.tracking_loss * cell.tracking_steps)[:, columns].sum(axis=1)
            # An age that some seed never reached is left out, so that every mean is of the same seeds.
            is_known = (steps > 0).all(axis=0)
            if is_known.any():
                ages = np.flatnonzero(is_known)
                _line(axis, cell.cell.reward, ages, loss[:, ages] / steps[:, ages])
        _level(axis, experiment)
        _finish(figure, axis)
    return figure


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


def _there(experiment: Experiment, cells: Cells) -> list[Measured]:
    planned = [Cell(experiment.name, reward) for reward in experiment.rewards]
    return [cells[cell] for cell in planned if cell in cells]


def _empty(x: str, y: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(4.8, 3.1), layout="constrained")  # as wide as a phone shows at its own size
    axis = figure.subplots()
    axis.set_xlabel(x)
    axis.set_ylabel(y)
    axis.grid(alpha=0.15, color=INK)
    axis.spines[["top", "right"]].set_visible(False)
    return figure, axis


def _line(axis: Axes, reward: str, x: np.ndarray, values: np.ndarray) -> None:
    mean, low, high = bootstrap(values)
    axis.plot(x, mean, color=COLOURS[reward], label=reward, linewidth=1.6, marker="o" if len(x) < 3 else None)
    if len(values) > 1:
        axis.fill_between(x, low, high, color=COLOURS[reward], alpha=0.18, linewidth=0)


def _level(axis: Axes, experiment: Experiment) -> None:
    """The loss of one who knows an object's rooms and nothing else."""
    grid = experiment.world.grid
    assert grid is not None
    rooms = {o.name: o.rooms for o in grid.objects}
    sizes = [sum(len(grid.layout.cells_of(room)) for room in rooms[name]) for name in experiment.discovers]
    level = float(np.mean([log(size) for size in sizes]))
    axis.axhline(level, color=INK, alpha=0.5, linewidth=0.8, linestyle=":")
    what = "knows\nthe rooms" if any(len(rooms[name]) > 1 for name in experiment.discovers) else "knows\nthe room"
    axis.annotate(what, (1.01, level), xycoords=("axes fraction", "data"), fontsize=7, va="center")


def _finish(figure: Figure, axis: Axes) -> None:
    axis.set_xlim(left=0)
    axis.set_ylim(bottom=0)
    figure.legend(*axis.get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False, fontsize=7.5)
