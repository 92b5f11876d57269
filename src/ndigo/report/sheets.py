"""A sheet: a table with two numbers in a place, ours and the paper's, as data; and as Markdown and for a terminal."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from ndigo.report.numbers import MISSING, ends, number, with_interval
from ndigo.report.statistics import Estimate
from ndigo.report.tables import HEADINGS, Line, padding_for


@dataclass(frozen=True)
class Entry:
    """One agent, one object, one metric: ours, None where it is missing, and the paper's as it prints it."""

    ours: Estimate | None
    paper: str = ""  # a dash stands for a room that the paper's agent never visits
    note: str = ""  # stands where an interval would

    @property
    def is_there(self) -> bool:
        return self.ours is not None

    @property
    def range(self) -> str:
        return "" if self.ours is None else self.note or ends(self.ours)


@dataclass(frozen=True)
class Sheet:
    title: str
    place: str  # where the paper has it; "" where it does not
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Entry, ...]], ...]

    @property
    def is_empty(self) -> bool:
        return not any(entry.is_there for _, entries in self.rows for entry in entries)

    @property
    def made(self) -> Sheet:
        """The same without the rows that are missing."""
        there = tuple((label, entries) for label, entries in self.rows if any(entry.is_there for entry in entries))
        return dataclasses.replace(self, rows=there)

    @property
    def heading(self) -> str:
        return f"{self.title} ({self.place})" if self.place else self.title


def sheet_of(title: str, lines: Sequence[Line], printed: Callable[[str, str, str], str]) -> Sheet:
    """Agents' lines as a sheet, a column for each metric of each object; `printed(metric, reward, object)` as text."""
    names = list(dict.fromkeys(name for line in lines for by_object in line.values.values() for name in by_object))
    columns = [(metric, name) for name in names for metric in HEADINGS if any(name in x.values[metric] for x in lines)]
    rows = [
        (x.label, tuple(Entry(x.values[metric].get(name), printed(metric, x.reward, name)) for metric, name in columns))
        for x in lines
    ]
    return Sheet(title, "", tuple(f"{HEADINGS[metric]}: {name}" for metric, name in columns), tuple(rows))


def as_rich(sheet: Sheet) -> Table:
    """Ours, its interval, and the paper's, one beneath the other; of an agent that is missing, the paper's alone."""
    rows = [
        (Text.assemble(label, ("\n95%\npaper" if any(x.is_there for x in entries) else "\npaper", "dim")), entries)
        for label, entries in sheet.rows
    ]
    shown = [[head, *map(_stacked, entries)] for head, entries in rows]
    headings = [Text("\n".join(column.replace(":", "").split())) for column in sheet.columns]
    texts = [[Text(), *headings], *shown]
    wide = sum(max(len(line) for row in texts for line in row[i].plain.split("\n")) for i in range(len(texts[0])))
    padding = padding_for(wide, len(headings))
    drawn = Table(
        box=box.SIMPLE_HEAD,
        padding=padding,
        pad_edge=False,
        show_edge=False,
        title=sheet.heading,
        title_justify="left",
    )
    drawn.add_column("")
    for heading in headings:
        drawn.add_column(heading, justify="right")
    for row in shown:
        drawn.add_row(*row)
    return drawn


def as_dict(sheet: Sheet) -> dict[str, Any]:
    """For JSON: {title, place, rows: {agent: {column: {mean, low, high, paper}}}}; what is missing is null."""

    def entry(x: Entry) -> dict[str, Any]:
        numbers = {} if x.ours is None else {k: None if isnan(v) else v for k, v in x.ours._asdict().items()}
        return {"mean": None, **numbers, "paper": x.paper}

    rows = {label: dict(zip(sheet.columns, map(entry, entries), strict=True)) for label, entries in sheet.rows}
    return {"title": sheet.title, "place": sheet.place, "rows": rows}


def _stacked(entry: Entry) -> Text:
    paper = entry.paper.replace(" ", "")
    if entry.ours is None:
        return Text(f"{MISSING}\n{paper}", "dim")
    return Text.assemble(number(entry.ours.mean), (f"\n{entry.range.replace(' to ', '-')}\n{paper}", "dim"))


def as_markdown(sheet: Sheet) -> str:
    """Ours, then the paper's in the same place."""
    lines = [f"**{sheet.title}**" + (f" ({sheet.place})" if sheet.place else ""), ""]
    lines += ["| | " + " | ".join(sheet.columns) + " |", "|---|" + "--:|" * len(sheet.columns)]
    for label, entries in sheet.rows:
        texts = [_text(entry) + (f"<br>*{entry.paper}*" if entry.paper else "") for entry in entries]
        lines.append(f"| {label} | " + " | ".join(texts) + " |")
    return "\n".join(lines)


def _text(entry: Entry) -> str:
    if entry.ours is None:
        return MISSING
    return f"{number(entry.ours.mean)}, {entry.note}" if entry.note else with_interval(entry.ours)
