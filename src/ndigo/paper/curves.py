"""Learning-curve figures from the rows that are there: discovery loss against learner steps.

Lines are means over seeds, bands their 95% intervals.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from ndigo.palette import Dash, dash_of, stroke_of
from ndigo.paper.comparisons import prior
from ndigo.paper.experiment import Experiment, Row
from ndigo.paper.measured import MeasuredRow, Rows
from ndigo.report.figures import COLUMN, INK, PAGE, STYLE, label_ends, plain
from ndigo.report.statistics import bootstrap, bootstrap_of

Interval = tuple[np.ndarray, np.ndarray, np.ndarray]  # mean, low, high
PICTURES_IN_A_ROW = 4
BY_HEIGHT: Any = {"xycoords": ("axes fraction", "data"), "fontsize": 7}

MARKS = 8  # markers along a line


def discovery_figure(experiment: Experiment, rows: Rows) -> Figure | None:
    """The experiment's curves; None where no row of it is there."""
    there = _there(experiment, rows)
    if not there:
        return None
    with rc_context(STYLE):
        figure = Figure(figsize=(COLUMN, 0.7 * COLUMN), layout="constrained")
        axis = figure.subplots()
        axis.set(xlabel="learner steps", ylabel="discovery loss (nats)")
        plain(axis)
        ends = []
        for numbers in there:
            reward, values = numbers.row.reward, bootstrap(numbers.discovery_curve())
            look = stroke_of(reward)
            _drawn(
                axis, numbers.steps, values, color=look.colour, label=reward, linestyle=look.dash, marker=look.marker
            )
            ends.append((float(values[0][-1]), reward, look.colour))
        if (known := _level(axis, experiment)) is not None:
            ends.append((known[0], known[1], INK))
        axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x / 1000:g}k" if x else "0"))
        axis.set_xlim(0, max(numbers.steps[-1] for numbers in there))
        axis.set_ylim(bottom=0)
        label_ends(axis, ends)
    return figure


def tracking_figure(experiment: Experiment, rows: Rows) -> Figure | None:
    """How well the experiment's objects are known, by the steps since each was last seen: a picture for each agent."""
    there = _there(experiment, rows)
    if not there:
        return None
    with rc_context(STYLE):
        num_rows = -(-len(there) // PICTURES_IN_A_ROW)
        figure = Figure(figsize=(PAGE, 0.9 + 1.5 * num_rows), layout="constrained")
        axes = figure.subplots(num_rows, PICTURES_IN_A_ROW, sharex=True, sharey=True, squeeze=False).flat
        for numbers, axis in zip(there, axes, strict=False):
            plain(axis)
            colour = stroke_of(numbers.row.reward).colour
            axis.set_title(numbers.row.reward, color=colour, fontsize=8)
            for nth, name in enumerate(numbers.discovers):
                i = numbers.objects.index(name)
                ages, values = _pooled(numbers.tracking_loss[:, i], numbers.tracking_steps[:, i])
                _drawn(axis, ages, values, color=colour, label=name, linestyle=dash_of(nth))
            # Far beyond the level lies nothing but chance: few steps, and a probe that is sure of the wrong cell.
            if (known := _level(axis, experiment)) is not None:
                axis.set(ylim=(0, 1.35 * known[0]))
                if numbers is there[0]:
                    axis.annotate(known[1], (0.98, 1.05 * known[0]), ha="right", va="bottom", **BY_HEIGHT)
            axis.set(xlim=(0, None))
        handles, labels = figure.axes[0].get_legend_handles_labels()
        for axis in figure.axes[len(there) :]:
            axis.remove()
        figure.supxlabel("steps since it was last seen", fontsize=8)
        figure.supylabel("discovery loss (nats)", fontsize=8)
        figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False, fontsize=7.5)
    return figure


def _pooled(loss: np.ndarray, steps: np.ndarray) -> tuple[np.ndarray, Interval]:
    """(ages, mean with interval): of all steps of an age, whoever's; seeds resampled as wholes.

    A mean of the seeds' means would weigh one that lost sight of the object once as much as one that always does. Ages
    that fewer than three seeds reached are left out: there is no interval to give.
    """
    ages = np.flatnonzero((steps > 0).sum(axis=0) >= min(3, len(steps)))
    with np.errstate(invalid="ignore"):  # a resample without any such step is none
        sums = np.stack([loss * steps, steps], axis=1)[:, :, ages]
        return ages, bootstrap_of(lambda mean: mean[..., 0, :] / mean[..., 1, :], sums)


def _there(experiment: Experiment, rows: Rows) -> list[MeasuredRow]:
    planned = [Row(experiment.name, reward) for reward in experiment.all_rewards]
    return [rows[row] for row in planned if row in rows]


def _drawn(
    axis: Axes, x: np.ndarray, values: Interval, *, color: str, label: str, linestyle: Dash = "-", marker: str = ""
) -> None:
    mean, low, high = values
    marks = {"marker": marker or ("o" if len(x) < 3 else ""), "markersize": 3, "markevery": max(1, len(x) // MARKS)}
    axis.plot(x, mean, color=color, label=label, linewidth=1.2, linestyle=linestyle, **marks)  # type: ignore[arg-type]
    axis.fill_between(x, low, high, color=color, alpha=0.12, linewidth=0)


def _level(axis: Axes, experiment: Experiment) -> tuple[float, str] | None:
    """The loss of one who knows an object's rooms and nothing else, drawn, and its name; None without a map."""
    level, grid = prior(experiment.name), experiment.world.grid
    if level is None or grid is None:
        return None
    axis.axhline(level, color=INK, alpha=0.5, linewidth=0.8, linestyle=":")
    rooms = {o.name: o.rooms for o in grid.objects}
    return level, "knows the rooms" if any(len(rooms[name]) > 1 for name in experiment.discovers) else "knows the room"
