"""The paper's tables from the rows that are there, and an agent's lines beside the paper's and the exact filter's."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

from rich.table import Table

from ndigo.paper.experiment import Experiment, Row
from ndigo.paper.experiments import EXPERIMENTS
from ndigo.paper.measured import MeasuredRow, Rows
from ndigo.paper.references import reference_lines
from ndigo.report.numbers import number
from ndigo.report.sheets import Entry, Sheet
from ndigo.report.statistics import Estimate, estimates
from ndigo.report.tables import HEADINGS, Line, comparison

OWN_COLUMNS = ("discovery loss", "worst seed's means")  # over the objects to discover
COLUMNS = (
    "Mean over seeds, its 95% bootstrap interval, and what the paper prints. The discovery loss is the mean over the "
    "objects to discover, and so are the worst seed's: the largest loss, and the fewest episodes that see them."
)
WIDE = 5  # numbers in a row, beside our own two: a table with more is cut by metric

REFERENCES = (
    "exact filter: agents with a perfect memory, which need no training; search is the best path known, a seeker "
    "looks for this object alone, greedy and planner go where frames teach most (docs/oracle.md)"
)


def paper_sheets(rows: Rows) -> list[Sheet]:
    """Every table, one per experiment or, where it would be too wide, per metric; the paper's maze has two."""
    sheets = []
    for experiment in EXPERIMENTS.values():
        metrics = list(experiment.printed.tables) or ["visits", "first_visit"]
        is_wide = sum(len(_asked(experiment, metric)) for metric in metrics) + len(_own_shares(experiment)) > WIDE
        groups = [[metric] for metric in metrics] if is_wide else [metrics]
        sheets += [_sheet(experiment, group, rows, is_first=group is groups[0]) for group in groups]
    return sheets


def _objects(experiment: Experiment, metric: str) -> Sequence[str]:
    """Those that the paper prints, else all."""
    table = experiment.printed.tables.get(metric)
    return list(next(iter(table.values()))) if table else experiment.world.objects


def _asked(experiment: Experiment, metric: str) -> list[tuple[str, str]]:
    return [(metric, name) for name in _objects(experiment, metric)]


def _own_shares(experiment: Experiment) -> list[tuple[str, str]]:
    """How often each object to discover is seen, where the paper prints it of none."""
    is_printed = "frequency" in experiment.printed.tables
    return [] if is_printed else [("frequency", name) for name in experiment.discovers]


def _sheet(experiment: Experiment, metrics: Sequence[str], rows: Rows, is_first: bool) -> Sheet:
    asked = [column for metric in metrics for column in _asked(experiment, metric)]
    asked += _own_shares(experiment) if is_first else []
    columns = [f"{HEADINGS[metric]}: {name}" for metric, name in asked]
    found = []
    for reward in experiment.all_rewards:
        numbers = rows.get(Row(experiment.name, reward))
        entries = [
            Entry(_estimate(numbers, metric, name), experiment.printed.text(metric, reward, name))
            for metric, name in asked
        ]
        found.append((reward, (*entries, *(_own_entries(numbers) if is_first else ()))))
    is_part = (is_first and len(metrics) < len(experiment.printed.tables)) or not is_first
    shown = ", ".join(dict.fromkeys(HEADINGS[metric] for metric, _ in asked))
    title = f"{experiment.heading} ({shown})" if is_part else experiment.heading
    return Sheet(title, experiment.printed.place, (*columns, *(OWN_COLUMNS if is_first else ())), tuple(found))


def _estimate(numbers: MeasuredRow | None, metric: str, name: str) -> Estimate | None:
    return None if numbers is None else estimates(numbers.per_seed(metric, name)[:, None])[0]


def _own_entries(numbers: MeasuredRow | None) -> list[Entry]:
    """What the paper does not print: the discovery loss, and the tail that a mean hides."""
    if numbers is None:
        return [Entry(None)] * len(OWN_COLUMNS)
    loss, seen = numbers.discovery_loss(), numbers.per_seed("frequency", *numbers.discovers)
    worst = Estimate(float(loss.max()), nan, nan)
    return [Entry(estimates(loss[:, None])[0]), Entry(worst, note=f"{seen.min():.0f}%")]


def compared_with_paper(lines: Sequence[Line], experiment: Experiment | None, *, references: bool = True) -> Table:
    """All objects, each with a line for every agent and for every reward of theirs that the paper prints.

    Under a line of their own, the means of the reference agents that say anything of the object.
    """
    known = reference_lines(experiment) if references else []

    def beneath(name: str) -> list[tuple[str, list[str]]]:
        found = [] if experiment is None else _printed_lines(experiment, lines, name)
        about = [line for line in known if any(name in by_object for by_object in line.values.values())]
        found += [("── exact filter", [])] if about else []
        return found + [(line.label, [_mean(line, metric, name) for metric in HEADINGS]) for line in about]

    table = comparison(lines, beneath)
    if known:
        table.caption, table.caption_justify, table.caption_style = REFERENCES, "left", "dim"
    return table


def _printed_lines(experiment: Experiment, lines: Sequence[Line], name: str) -> list[tuple[str, list[str]]]:
    rewards = [r for r in dict.fromkeys(line.reward for line in lines) if r in experiment.printed.rewards]
    return [
        (f"paper: {reward}", [experiment.printed.text(metric, reward, name) or "-" for metric in HEADINGS])
        for reward in rewards
    ]


def _mean(line: Line, metric: str, name: str) -> str:
    found = line.values.get(metric, {}).get(name)
    return "-" if found is None else number(found.mean)
