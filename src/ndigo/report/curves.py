"""Learning curves as a picture: one line of panels a run, against learner steps.

Discovery loss and visits come from greedy evaluations, the reward's split by channel from the windows
the learner saw: a wall share that does not die out means a model that lags behind its policy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ndigo.palette import WALLS, Dash, dash_of, hexadecimal, object_colours
from ndigo.report.figures import INK, PAGE, STYLE, label_ends, plain, save_figure
from ndigo.report.numbers import how_many
from ndigo.report.pool import Pool
from ndigo.report.statistics import FEWEST, bootstrap
from ndigo.report.tables import MANY
from ndigo.storage.records import columns_of
from ndigo.worlds.grid_world import Grid, start_cells

HEADROOM = 1.1  # above the highest curve, for a line's breadth and the word over a level

Style = tuple[str, Dash]  # colour, dash
Curve = tuple[str, list[int], np.ndarray]  # name, steps, values [S, points]


def draw_curves(
    runs: Sequence[Pool], path: Path, grid: Grid | None = None, formats: Sequence[str] = ("png",)
) -> list[Path]:
    """Writes the picture of the runs, which are all of one world, in each format; `path` is without an ending."""
    return save_figure(curves_figure(runs, grid), path, formats)


def curves_figure(runs: Sequence[Pool], grid: Grid | None = None) -> Figure:
    """The picture itself; of a world with a map, with the loss of one who knows an object's rooms and no more."""
    panels: list[tuple[str, Callable[[Pool], list[Curve]]]] = [
        ("discovery loss (nats)", lambda run: _evaluated(run, "discovery_loss")),
        ("visits (steps in view)", lambda run: _evaluated(run, "visits")),
        ("events per episode", _events),
        ("places per episode", lambda run: _of_episodes(run, "coverage")),
        ("task return", lambda run: _of_episodes(run, "task_return")),
        (f"reward in training{' (nats)' if all(map(_split, runs)) else ''}", _reward),
        ("model loss (nats)", _model_loss),
    ]
    curves = {title: [read(run) for run in runs] for title, read in panels}
    with rc_context(STYLE):
        return _panels(runs, {title: of_runs for title, of_runs in curves.items() if any(of_runs)}, grid)


def _panels(runs: Sequence[Pool], panels: dict[str, list[list[Curve]]], grid: Grid | None) -> Figure:
    """A column for each panel, a row for each run."""
    # A figure of its own, not pyplot's: no window system, no state left behind.
    figure = Figure(figsize=(PAGE * len(panels) / 3, 0.4 + 1.7 * len(runs)), layout="constrained")
    axes = figure.subplots(len(runs), len(panels), squeeze=False, sharex="col", sharey="col")
    styles = [channel_styles(run.settings()["world"], grid) for run in runs]
    for i, run in enumerate(runs):
        for j, (title, curves) in enumerate(panels.items()):
            _draw(axes[i, j], curves[i], styles[i])
            if i == 0:
                axes[i, j].set_title(title)
            if title.startswith("discovery") and grid is not None:
                _reference_levels(axes[i, j], grid)
            if i == len(runs) - 1:
                axes[i, j].set_xlabel("learner steps")
        settings = run.settings()
        num_seeds = settings["config"]["seeds"]
        band = "" if num_seeds == 1 else ", 95% interval" if num_seeds >= FEWEST else ", lowest to highest"
        seeds = how_many(num_seeds, "seed")
        axes[i, 0].set_ylabel(f"{run.name}\n{settings['reward']}, {seeds}{band}", fontsize=6.5)
    for j, curves in enumerate(panels.values()):
        # Last of all: it ends the scaling to what is drawn.
        if all((values >= 0).all() for of_run in curves for _, _, values in of_run):
            axes[0, j].set_ylim(0, HEADROOM * axes[0, j].get_ylim()[1])
        for i, of_run in enumerate(curves):
            ends = [(float(v.mean(axis=0)[-1]), name, styles[i].get(name, (INK, "-"))[0]) for name, _, v in of_run]
            label_ends(axes[i, j], ends)
    return figure


def _evaluated(run: Pool, metric: str) -> list[Curve]:
    world, lines = run.settings()["world"], run.evaluations()
    names = world[columns_of(metric)]
    if len(names) > MANY:
        return []
    return _curves(names, lines, [line["evaluation"][metric] for line in lines])


def _events(run: Pool) -> list[Curve]:
    """How many of the events that are too many to draw apart."""
    world, lines = run.settings()["world"], run.evaluations()
    if len(world["in_view"]) <= MANY:
        return []
    return _curves(["events"], lines, [[[sum(seen)] for seen in line["evaluation"]["frequency"]] for line in lines])


def _of_episodes(run: Pool, metric: str) -> list[Curve]:
    """Of episodes that end by themselves."""
    lines = [line for line in run.evaluations() if metric in line["evaluation"]]
    return _curves([""], lines, [[[x] for x in line["evaluation"][metric]] for line in lines])


def _model_loss(run: Pool) -> list[Curve]:
    """One step ahead, by channel, where nothing is known of a truth."""
    lines = [line for line in run.evaluations() if "model_loss_c" in line["evaluation"]]
    return _curves(run.settings()["world"]["channels"], lines, [line["evaluation"]["model_loss_c"] for line in lines])


def _split(run: Pool) -> list[Curve]:
    """The reward by channel, in nats; nothing of one that is no sum over channels, such as ICM's or a task's."""
    lines = run.metrics()
    split = _curves(run.settings()["world"]["channels"], lines, [line["learning"]["reward_c"] for line in lines])
    return split if any(values.any() for _, _, values in split) else []


def _reward(run: Pool) -> list[Curve]:
    """Its split, else its total, in whatever it is paid in."""
    lines = run.metrics()
    return _split(run) or _curves(["reward"], lines, [[[x] for x in line["learning"]["reward"]] for line in lines])


def _curves(names: Sequence[str], lines: Sequence[dict[str, Any]], values: Sequence[Any]) -> list[Curve]:
    if not lines:
        return []
    steps = [line["step"] for line in lines]
    per_point = np.asarray(values, float)  # [points, S, N]
    return [(name, steps, per_point[:, :, i].T) for i, name in enumerate(names[: per_point.shape[2]])]


def _draw(axis: Axes, curves: Sequence[Curve], styles: dict[str, Style]) -> None:
    for name, steps, values in curves:
        mean, low, high = bootstrap(values)
        colour, dash = styles.get(name, (INK, "-"))
        # Few points are shown as such; one alone makes no line.
        dot = {"marker": "o", "markersize": 3} if len(steps) < 10 else {}
        axis.plot(steps, mean, color=colour, label=name, linewidth=1.2, linestyle=dash, **dot)
        axis.fill_between(steps, low, high, color=colour, alpha=0.15, linewidth=0)
    plain(axis)


def channel_styles(world: dict[str, Any], grid: Grid | None) -> dict[str, Style]:
    """Colour and dash by name, as pictures have them: an object's is its kind's, else a channel's its place's.

    Kinds are the map's, or those that the run noted. Walls are grey.
    """
    kinds = dict(zip(world["objects"], world.get("kinds", []), strict=False))
    kinds |= {} if grid is None else {o.name: o.kind for o in grid.objects}
    in_view = world["in_view"] if len(world["in_view"]) <= MANY else []  # more are not drawn
    names = list(dict.fromkeys(name for name in (*world["channels"], *in_view) if name != "walls"))
    colours = object_colours([kinds.get(name, "") for name in names])
    named = enumerate(zip(names, colours, strict=True))
    return {"walls": (WALLS, (0, (1, 1)))} | {name: (hexadecimal(colour), dash_of(i)) for i, (name, colour) in named}


def _reference_levels(axis: Axes, grid: Grid) -> None:
    """The loss of one who knows where an object may start and nothing else: ln of the number of those cells."""
    levels = {len(start_cells(grid.layout, o)) for o in grid.objects}
    for num_cells in sorted(levels):
        axis.axhline(log(num_cells), color="0.7", linewidth=0.8, linestyle=":")
        axis.annotate(
            f"room known, ln {num_cells}",
            (1, log(num_cells)),
            xycoords=("axes fraction", "data"),
            fontsize=6,
            color="0.5",
            ha="right",
            va="bottom",
            zorder=1,  # behind the curves
        )
