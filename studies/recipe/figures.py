"""Draws what the recipe has come to so far, for docs/results.md: `python studies/recipe/figures.py`.

`overview` has every seed's first visit beside the paper's, a random walker's and the best path's, where one is known;
one figure per experiment has the way there. An experiment without its row shows the study's run by the same settings.
Experiment 4's figure is what its two objects pay by definition (`studies/ideal-rewards/pay-by-horizon.json`), and what
is looked at.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from table import CHOSEN, ORDER, read_runs

from ndigo.palette import dash_of, hexadecimal, object_colours, stroke_of
from ndigo.paper.experiments import EXPERIMENTS, Experiment, Row
from ndigo.paper.measured import MeasuredRow, measured
from ndigo.paper.plan import find_rows
from ndigo.paper.references import reference_lines
from ndigo.report.figures import INK, PAGE, STYLE, label_ends, plain, save_figure

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
PAY = Path(__file__).parents[1] / "ideal-rewards" / "pay-by-horizon.json"
ROWS = Path(__file__).parents[2] / "results" / "rows"
BROWNIAN = (1, 2, 4, 10)  # the horizons of Experiment 4's rows, which the study of the recipe did not train
HORIZON = 400  # the step that stands for "never"


def overview(runs: dict[str, MeasuredRow]) -> Figure:
    """When each object is first seen: a dot per seed, and three lines of reference."""
    rows = [(name, what) for name in sorted(runs) for what in EXPERIMENTS[name].discovers]
    with rc_context(STYLE):
        figure = Figure(figsize=(PAGE, 0.9 + 0.26 * len(rows)), layout="constrained")
        axis = figure.subplots()
        for y, (name, what) in enumerate(rows):
            run, experiment = runs[name], EXPERIMENTS[name]
            style, first = stroke_of(run.row.reward), run.per_seed("first_visit", what)
            walker, best = references(experiment, what)
            axis.plot([walker], [y], "x", color=INK, markersize=5, label="random walker" if y == 0 else None)
            if best is not None:
                axis.plot([best], [y], "|", color=INK, markersize=10, label="best search known" if y == 0 else None)
            if (paper := printed(experiment, run.row.reward, what)) is not None:
                label = "paper, mean" if y == 0 else None
                axis.plot([paper], [y], "D", color=INK, markerfacecolor="white", markersize=5, label=label)
            label = "ours, one dot per seed" if y == 0 else None
            axis.plot(first, np.full(len(first), y), "o", color=style.colour, markersize=5, alpha=0.75, label=label)
        names = [f"{EXPERIMENTS[name].number}. {what}, {runs[name].row.reward}" for name, what in rows]
        axis.set_yticks(range(len(rows)), names)
        axis.invert_yaxis()
        axis.set(xlim=(0, HORIZON + 6), xlabel="first visit, in steps; 400 means never")
        plain(axis)
        figure.legend(loc="outside upper center", ncols=4, frameon=False)
    return figure


def references(experiment: Experiment, what: str) -> tuple[float, float | None]:
    """First visit of the random walker, and of the best search; None where a planner, who looks for all, is sooner."""
    first = {
        line.label: line.values["first_visit"][what].mean
        for line in reference_lines(experiment)
        if what in line.values.get("first_visit", {})
    }
    walker, best = first.pop("random"), min(first, key=first.__getitem__)
    return walker, None if best == "planner" else first[best]


def printed(experiment: Experiment, reward: str, what: str) -> float | None:
    text = experiment.printed.text("first_visit", reward, what)
    return float(text.split("±")[0]) if text and text[0].isdigit() else None


def along(run: MeasuredRow, experiment: Experiment) -> Figure:
    """Discovery loss and share of episodes with the object in view, along training: seeds thin, their mean thick."""
    colours = _colours(experiment)
    with rc_context(STYLE):
        figure = Figure(figsize=(PAGE, 2.2), layout="constrained")
        loss, seen = figure.subplots(1, 2)
        for axis, metric, scale in ((loss, "discovery_loss", 1), (seen, "frequency", 100)):
            ends = []
            for nth, name in enumerate(experiment.discovers):
                values = scale * run.curves[metric][:, :, run.objects.index(name)]
                _lines(axis, run.steps, values, colours[name], nth)
                ends.append((float(values[-1].mean()), name, colours[name]))
            axis.set_xlim(0, run.steps[-1])
            axis.set_ylim(0, None if metric == "discovery_loss" else 105)
            axis.set_xlabel("learner steps")
            axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x / 1000:g}k" if x else "0"))
            plain(axis)
            label_ends(axis, ends)
        loss.set_ylabel("discovery loss (nats)")
        seen.set_ylabel("episodes that see it (%)")
    return figure


def _colours(experiment: Experiment) -> dict[str, str]:
    grid = experiment.world.grid
    assert grid is not None
    colours = object_colours([o.kind for o in grid.objects])
    return {o.name: hexadecimal(colour) for o, colour in zip(grid.objects, colours, strict=True)}


def _lines(axis: Axes, steps: np.ndarray, values: np.ndarray, colour: str, nth: int) -> None:
    for seed in values.T:
        axis.plot(steps, seed, color=colour, linewidth=0.6, alpha=0.4)
    axis.plot(steps, values.mean(axis=1), color=colour, linewidth=1.8, linestyle=dash_of(nth))


def brownian(rows: dict[int, MeasuredRow]) -> Figure:
    """Experiment 4: what each object pays by definition to one that seeks it, and what the seeds of each H look at."""
    pay = json.loads(PAY.read_text())["horizons"]
    horizons = sorted(map(int, pay))
    with rc_context(STYLE):
        figure = Figure(figsize=(PAGE, 2.4), layout="constrained")
        definition, seeds = figure.subplots(1, 2)
        for nth, (name, colour) in enumerate(_colours(EXPERIMENTS["exp4"]).items()):
            mean, low, high = np.array([pay[str(h)][name] for h in horizons]).T
            definition.plot(horizons, mean, color=colour, linestyle=dash_of(nth), marker="os"[nth], markersize=4)
            definition.fill_between(horizons, low, high, color=colour, alpha=0.2, linewidth=0)
            at = (1.02, float(mean[-1]))
            definition.annotate(name, at, xycoords=("axes fraction", "data"), va="center", color=colour)
            for h, row in rows.items():
                steps, aside = row.per_seed("visits", name), 0.4 * (nth - 0.5)  # so that the two do not hide each other
                seeds.plot(np.full(len(steps), h + aside), steps, "os"[nth], color=colour, markersize=4, alpha=0.6)
        definition.set(yscale="log", ylabel="pay by definition (nats)")
        definition.set_yticks([2, 3, 5, 10, 20, 30], ["2", "3", "5", "10", "20", "30"])
        seeds.set(ylim=(-8, HORIZON), ylabel="steps in view, each seed")
        for axis in (definition, seeds):
            axis.set(xlim=(0, 10.6), xlabel="horizon H", xticks=horizons)
            axis.minorticks_off()
            plain(axis)
    return figure


def main() -> None:
    trials, rows = read_runs()[CHOSEN], find_rows(ROWS)
    runs = {e: measured(t.row, rows[t.row]) if t.row in rows else t for e, t in trials.items()}
    by_horizon = {h: measured(row := Row("exp4", f"ndigo-{h}"), rows[row]) for h in BROWNIAN}
    runs["exp4"] = by_horizon[4]
    save_figure(overview(runs), PICTURES / "found")
    for name in ORDER:
        save_figure(along(runs[name], EXPERIMENTS[name]), PICTURES / f"found-{name}")
    save_figure(brownian(by_horizon), PICTURES / "found-exp4")


if __name__ == "__main__":
    main()
