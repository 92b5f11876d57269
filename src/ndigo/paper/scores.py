"""One number for each seed of each row, comparable over experiments: the normalised score.

    score = mean over the experiment's objects, and over discovery loss and first visit, of (x - x_0) / (x_1 - x_0)

x_0 is what the exact filter knows, or when it first sees the object, on a random walk; x_1 the best that any of the
reference agents reaches: the exact filter on the best path known. So 0 is a perfect memory without curiosity, and 1 a
perfect memory with the best search. An agent whose own memory is worse than the filter's can fall below 0.

Over all experiments: the interquartile mean with the 95% percentile interval of resampled seeds, experiment by
experiment, and the performance profile, as Agarwal et al. (2021) propose; `as_json` is what their library `rliable`
loads.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from ndigo.palette import stroke_of
from ndigo.paper.experiment import EXPERIMENTS, Experiment
from ndigo.paper.measured import MeasuredRow, Rows
from ndigo.paper.references import reference_lines
from ndigo.report.figures import INK, PAGE, STYLE, plain
from ndigo.report.statistics import LEVEL, Estimate

METRICS = ("discovery_loss", "first_visit")
RESAMPLES = 10_000
Scores = Mapping[str, Mapping[str, np.ndarray]]  # reward -> experiment -> [S]


def bounds(experiment: Experiment) -> dict[tuple[str, str], tuple[float, float]]:
    """(metric, object) -> (x_0, x_1); none where the experiment has no reference agents."""
    agents = {line.label: line.values for line in reference_lines(experiment)}
    walker = agents.pop("random", None)
    if walker is None or not agents:
        return {}
    found = {}
    for metric in METRICS:
        for name in experiment.discovers:
            best = min(values[metric][name].mean for values in agents.values() if name in values.get(metric, {}))
            found[metric, name] = (walker[metric][name].mean, best)
    return found


def score(measured: MeasuredRow, between: Mapping[tuple[str, str], tuple[float, float]]) -> np.ndarray:
    """[S]: the score of every seed."""
    return np.mean([(measured.per_seed(*what) - low) / (high - low) for what, (low, high) in between.items()], axis=0)


def scores(rows: Rows) -> Scores:
    """Every reward's, in the order of the experiments; of rows that are there."""
    found: dict[str, dict[str, np.ndarray]] = {}
    for experiment in EXPERIMENTS.values():
        between = bounds(experiment)
        for row, measured in rows.items():
            if between and row.experiment == experiment.name:
                found.setdefault(row.reward, {})[experiment.name] = score(measured, between)
    known = [reward for experiment in EXPERIMENTS.values() for reward in experiment.all_rewards]
    return {reward: found[reward] for reward in dict.fromkeys(known) if reward in found}


def interquartile_mean(values: np.ndarray) -> np.ndarray:
    """Of the last axis: the mean of what is left without the lowest and the highest quarter."""
    n = values.shape[-1]
    return np.sort(values, axis=-1)[..., n // 4 : n - n // 4].mean(axis=-1)


def aggregate(by_experiment: Mapping[str, np.ndarray]) -> Estimate:
    """The interquartile mean over all seeds of all experiments, with its interval."""
    rng = np.random.default_rng(0)
    drawn = [x[rng.integers(0, len(x), size=(RESAMPLES, len(x)))] for x in by_experiment.values()]
    means = interquartile_mean(np.concatenate(drawn, axis=1))
    low, high = np.quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(float(interquartile_mean(np.concatenate(list(by_experiment.values())))), float(low), float(high))


def profile(by_experiment: Mapping[str, np.ndarray], taus: np.ndarray) -> np.ndarray:
    """The share of seeds whose score exceeds tau, each experiment weighing the same."""
    return np.mean([(x[:, None] > taus).mean(axis=0) for x in by_experiment.values()], axis=0)


def scores_figure(found: Scores) -> Figure | None:
    """Interquartile means on the left, performance profiles on the right; None where nothing is known."""
    if not found:
        return None
    with rc_context(STYLE):
        figure = Figure(figsize=(PAGE, 0.45 * PAGE), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(2, 3))
        for i, (reward, by_experiment) in enumerate(found.items()):
            style, (mean, low, high) = stroke_of(reward), aggregate(by_experiment)
            left.plot([low, high], [i, i], color=style.colour, linewidth=4, alpha=0.35, solid_capstyle="butt")
            left.plot([mean], [i], color=style.colour, marker=style.marker, markersize=5)
            taus = np.linspace(-0.5, 1.1, 321)
            marks = {"marker": style.marker, "markersize": 3, "markevery": (5 * i, 40)}  # each at steps of its own
            line = {"color": style.colour, "linestyle": style.dash, "linewidth": 1.2}
            right.plot(taus, profile(by_experiment, taus), label=reward, **line, **marks)  # type: ignore[arg-type]
        left.set_yticks(range(len(found)), [f"{name} ({len(of)})" for name, of in found.items()])
        left.invert_yaxis()
        left.set_xlabel("interquartile mean of the score\n(in brackets, of how many experiments)")
        right.set(
            xlabel="score tau, of a perfect memory: 0 on a random walk,\n1 on the best search known",
            ylabel="share of seeds above tau",
            ylim=(0, 1),
        )
        for axis in (left, right):
            for at in (0, 1):
                axis.axvline(at, color=INK, alpha=0.5, linewidth=0.8, linestyle=":")
            plain(axis)
        figure.legend(*right.get_legend_handles_labels(), loc="outside upper center", ncols=5, frameon=False)
    return figure


def as_json(found: Scores) -> str:
    """`scores`: reward -> [seeds, experiments], as rliable wants it; `tasks`: the experiments of its columns."""
    tables = {reward: np.stack(list(by.values()), axis=1).round(5).tolist() for reward, by in found.items()}
    tasks = {reward: list(by) for reward, by in found.items()}
    return json.dumps({"tasks": tasks, "scores": tables}, indent=1)
