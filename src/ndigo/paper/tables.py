"""Tables with two numbers a cell, ours and the paper's, as data; and as Markdown and for a terminal.

`paper_tables` are the paper's own (visit counts, first visits, room frequencies), from the cells that are there;
`table_of` is the same of any rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, nan

from rich import box
from rich.table import Table

from ndigo.paper.experiments import EXPERIMENTS, Experiment
from ndigo.paper.experiments.printed import PAPER, Metric, printed
from ndigo.paper.measured import Cells, Measured
from ndigo.paper.plan import Cell
from ndigo.report.statistics import Estimate, estimates
from ndigo.report.tables import HEADINGS, Row

MISSING = "missing"
OWN_COLUMNS = ["discovery loss", "worst seed"]  # of the objects to discover
PLACES = {
    "exp1": "paper: Table 1",
    "exp2": "paper: Table 2, and the appendix with all baselines",
    "exp3": "paper: Table 3, and the appendix; no row for Random and PG",
    "exp4": "paper: Table 4, and the appendix with all baselines",
    "exp5": "paper: Tables 5 and 6, and the appendix with all baselines",
}


@dataclass(frozen=True)
class Entry:
    """One agent, one object, one metric: ours, None where it is missing, and the paper's as it prints it."""

    ours: Estimate | None
    paper: str = ""  # a dash stands for a room that the paper's agent never visits
    note: str = ""  # stands where an interval would


@dataclass(frozen=True)
class PaperTable:
    title: str
    place: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Entry, ...]], ...]


def paper_tables(cells: Cells) -> list[PaperTable]:
    """Every table of the paper, one an experiment and kind of number; the maze has two."""
    tables = []
    for experiment in EXPERIMENTS.values():
        metrics = list(PAPER[experiment.name])
        # Five objects of the maze make a table wide enough for one metric.
        groups: list[list[Metric]] = [[metric] for metric in metrics] if experiment.name == "exp5" else [metrics]
        tables += [_paper_table(experiment, group, cells) for group in groups]
    return tables


def _paper_table(experiment: Experiment, metrics: Sequence[Metric], cells: Cells) -> PaperTable:
    objects = list(next(iter(PAPER[experiment.name][metrics[0]].values())))
    has_loss = metrics[0] != "first_visit"  # the paper prints it nowhere; once an experiment is enough
    columns = [f"{HEADINGS[metric]}: {name}" for metric in metrics for name in objects]
    rows = []
    for reward in experiment.rewards:
        cell = cells.get(Cell(experiment.name, reward))
        entries = []
        for metric in metrics:
            for name in objects:
                ours = None if cell is None else estimates(cell.per_seed(metric, name)[:, None])[0]
                entries.append(Entry(ours, paper_text(experiment.name, metric, reward, name)))
        if has_loss:
            entries += _own_entries(cell)
        rows.append((reward, tuple(entries)))
    title = f"Experiment {experiment.name[-1]}: {experiment.title}"
    if len(PAPER[experiment.name]) > len(metrics):
        title += f" ({HEADINGS[metrics[0]]})"
    if has_loss:
        columns += OWN_COLUMNS
    return PaperTable(title, PLACES[experiment.name], tuple(columns), tuple(rows))


def _own_entries(cell: Measured | None) -> list[Entry]:
    """What the paper does not print: the discovery loss, and the tail that a mean hides."""
    if cell is None:
        return [Entry(None)] * len(OWN_COLUMNS)
    loss, seen = cell.discovery_loss(), cell.per_seed("frequency", *cell.discovers)
    worst = Estimate(float(loss.max()), nan, nan)
    return [Entry(estimates(loss[:, None])[0]), Entry(worst, note=f"{seen.min():.0f}% seen")]


def table_of(title: str, rows: Sequence[Row], experiment: Experiment | None) -> PaperTable:
    """Rows of runs as such a table: a column for each metric of each object."""
    names = list(dict.fromkeys(name for row in rows for by_object in row.values.values() for name in by_object))
    columns = [(metric, name) for name in names for metric in HEADINGS if any(name in r.values[metric] for r in rows)]
    known: dict[str, Metric] = {} if experiment is None else {metric: metric for metric in PAPER[experiment.name]}

    def entry(row: Row, metric: str, name: str) -> Entry:
        paper = (
            ""
            if experiment is None or metric not in known
            else paper_text(experiment.name, known[metric], row.reward, name)
        )
        return Entry(row.values[metric].get(name), paper)

    return PaperTable(
        title,
        "",
        tuple(f"{HEADINGS[metric]}: {name}" for metric, name in columns),
        tuple((row.label, tuple(entry(row, *column) for column in columns)) for row in rows),
    )


def ours_text(entry: Entry) -> str:
    """`28.8 (19.2 to 39.0)`."""
    if entry.ours is None:
        return MISSING
    mean, low, high = (number(x) for x in entry.ours)
    if entry.note:
        return f"{mean}, {entry.note}"
    return mean if isnan(entry.ours.low) or low == high else f"{mean} ({low} to {high})"


def paper_text(experiment: str, metric: Metric, reward: str, name: str) -> str:
    """`300.4 ± 22.2`; a dash where the paper has one, nothing where it prints no such number."""
    cell = printed(experiment, metric, reward, name)
    is_dash = cell is None and name in PAPER[experiment][metric].get(reward, {})
    return f"{cell.mean} ± {cell.spread}" if cell else "-" if is_dash else ""


def number(x: float) -> str:
    """Three digits that count, and never more than two after the point."""
    return f"{x:.{0 if abs(x) >= 100 else 1 if abs(x) >= 10 else 2}f}"


def as_rich(table: PaperTable) -> Table:
    """Ours, its interval, and the paper's, one beneath the other: a terminal of 80 columns holds six."""
    title = f"{table.title} ({table.place})"
    drawn = Table(box=box.SIMPLE_HEAD, padding=(0, 0, 0, 1), pad_edge=False, title=title, title_justify="left")
    drawn.add_column("")
    for column in table.columns:
        drawn.add_column(column.replace(": ", "\n"), justify="right")
    for label, entries in table.rows:
        drawn.add_row(f"{label}\n[dim]95%\npaper", *map(_in_three_lines, entries))
    return drawn


def _in_three_lines(entry: Entry) -> str:
    paper = entry.paper.replace(" ", "")
    if entry.ours is None:
        return f"[dim]{MISSING}\n\n{paper}"
    mean, low, high = (number(x) for x in entry.ours)
    return f"{mean}\n[dim]{entry.note if isnan(entry.ours.low) else f'{low}-{high}'}\n{paper}"


def as_markdown(table: PaperTable) -> str:
    """Ours, then the paper's in the same cell."""
    lines = [f"**{table.title}** ({table.place})", "", "| | " + " | ".join(table.columns) + " |"]
    lines.append("|---|" + "--:|" * len(table.columns))
    for label, entries in table.rows:
        cells = [ours_text(e) + (f"<br>*{e.paper}*" if e.paper else "") for e in entries]
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
