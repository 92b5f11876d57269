"""Tables of agents: for each object, one line an agent, and the paper's beneath."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np
from rich import box
from rich.table import Table

from ndigo.paper.experiments import Experiment, experiment_of
from ndigo.paper.experiments.printed import PAPER, Metric, printed
from ndigo.report.statistics import Estimate, estimates

HEADINGS = {
    "visits": "visits",
    "first_visit": "first visit",
    "frequency": "% seen",
    "discovery_loss": "discovery loss",
}


@dataclass(frozen=True)
class Row:
    """One agent's numbers: `values[metric][object]`; a metric that was not measured is absent."""

    label: str
    reward: str
    values: Mapping[str, Mapping[str, Estimate]]


def row(label: str, settings: dict[str, Any], measured: Mapping[str, np.ndarray]) -> Row:
    """A row from arrays [units, N], with the names of their columns from a run's settings."""
    world = settings["world"]
    values = {}
    for metric in HEADINGS:
        per_unit = np.asarray(measured.get(metric, np.zeros((1, 0))), float)
        names = world["objects"] if metric == "discovery_loss" else world["in_view"]
        scale = 100.0 if metric == "frequency" else 1.0
        # Not strict: a world without truth may name objects, but has no discovery loss.
        values[metric] = dict(zip(names, estimates(scale * per_unit), strict=False))
    return Row(label=label, reward=settings["reward"], values=values)


def comparison(rows: Sequence[Row], experiment: Experiment | None, references: Sequence[Row] = ()) -> Table:
    """All objects, each with a line for every row and for every reward of theirs that the paper prints.

    Under a line of their own, the means of the reference agents that say anything of the object.
    """
    table = Table("", box=box.SIMPLE_HEAD, padding=(0, 0, 0, 1), pad_edge=False, show_edge=False)
    for heading in HEADINGS.values():
        table.add_column(heading, justify="right", no_wrap=True)
    objects = list(dict.fromkeys(name for row in rows for by_object in row.values.values() for name in by_object))
    for name in objects:
        table.add_row(f"[bold]{name}")
        lines = [(row.label, [_cell(row.values[metric].get(name)) for metric in HEADINGS]) for row in rows]
        lines += paper_lines(experiment, list(dict.fromkeys(row.reward for row in rows)), name)
        known = [row for row in references if any(name in by_object for by_object in row.values.values())]
        lines += [("[dim]── exact filter", [])] if known else []
        lines += [(row.label, [_mean(row.values.get(metric, {}).get(name)) for metric in HEADINGS]) for row in known]
        for i, (label, cells) in enumerate(lines):
            table.add_row(f"  {label}", *cells, end_section=i == len(lines) - 1)
    return table


def paper_lines(experiment: Experiment | None, rewards: Sequence[str], name: str) -> list[tuple[str, list[str]]]:
    """The paper's line for each reward that it has in that experiment."""
    if experiment is None:
        return []
    metrics: dict[str, Metric] = {metric: metric for metric in PAPER[experiment.name]}
    lines = []
    for reward in rewards:
        if not any(reward in by_reward for by_reward in PAPER[experiment.name].values()):
            continue
        cells = [printed(experiment.name, metrics[m], reward, name) if m in metrics else None for m in HEADINGS]
        lines.append((f"paper: {reward}", [f"{cell.mean} ± {cell.spread}" if cell else "-" for cell in cells]))
    return lines


def experiment_of_run(settings: dict[str, Any]) -> Experiment | None:
    """The paper's experiment that a run or an agent file belongs to."""
    return experiment_of(settings["config"]["world"])


def _cell(estimate: Estimate | None) -> str:
    """`28.8 (19-39)`: a terminal of 80 columns holds four of them."""
    if estimate is None:
        return "-"
    digits = 2 if estimate.mean < 10 else 0
    low, high = f"{estimate.low:.{digits}f}", f"{estimate.high:.{digits}f}"
    if isnan(estimate.low) or low == high:
        return _number(estimate.mean)
    return f"{_number(estimate.mean)} ({low}-{high})"


def _mean(estimate: Estimate | None) -> str:
    return "-" if estimate is None else _number(estimate.mean)


def _number(x: float) -> str:
    """Three digits that count."""
    return f"{x:.{0 if x >= 100 else 1 if x >= 10 else 2}f}"
