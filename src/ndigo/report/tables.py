"""Tables of agents for a terminal: for each object one line per agent, and others' lines beneath."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any

import numpy as np
from rich import box
from rich.table import Table
from rich.text import Text

from ndigo.report.numbers import ends, number
from ndigo.report.statistics import Estimate, estimates
from ndigo.storage.records import columns_of

HEADINGS = {
    "visits": "visits",
    "first_visit": "first visit",
    "frequency": "% seen",
    "discovery_loss": "discovery loss",
}
MANY = 12  # names; of more, such as achievements, those that nobody reached share a line
NAMES_IN_JSON = {"reward": "reward_per_step"}  # of metrics: what a reward is called stands under "reward"
NARROW = 80  # columns of a terminal that every table fits
Beneath = Callable[[str], Sequence[tuple[str, list[str]]]]  # object -> lines beneath it: label, a text per heading


@dataclass(frozen=True)
class Line:
    """One agent's numbers: `values[metric][object]`; a metric that was not measured is absent."""

    label: str
    reward: str
    values: Mapping[str, Mapping[str, Estimate]]
    # Where episodes end by themselves, by metric the numbers of whole episodes ("") and of channels (`episodes.py`).
    of_episodes: Mapping[str, Mapping[str, Estimate]] = field(default_factory=dict)
    so_far: str = ""  # `1,536 of 11,520 steps`, of a run that has not ended

    def as_dict(self) -> dict[str, Any]:
        """For JSON: {metric: {object: {mean, low, high}}}; no interval is null."""
        numbers = {
            metric: {name: {key: None if isnan(x) else x for key, x in e._asdict().items()} for name, e in by.items()}
            for metric, by in (*self.values.items(), *self.of_episodes.items())
        }
        shown = {NAMES_IN_JSON.get(metric, metric): by.get("", by) for metric, by in numbers.items()}
        return {"label": self.label, "reward": self.reward} | shown


def line_of(label: str, settings: dict[str, Any], measured: Mapping[str, np.ndarray], step: int | None = None) -> Line:
    """A line from arrays [units, N], with the names of their columns from a run's settings; `step` is the learner's."""
    world = settings["world"]
    values = {}
    for metric in HEADINGS:
        per_unit = np.asarray(measured.get(metric, np.zeros((1, 0))), float)
        scale = 100.0 if metric == "frequency" else 1.0
        # Not strict: a world without truth may name objects, but has no discovery loss.
        values[metric] = dict(zip(world[columns_of(metric)], estimates(scale * per_unit), strict=False))
    last = settings.get("config", {}).get("learner_steps", 0)
    so_far = "" if step is None or step >= last else f"{step:,} of {last:,} steps"
    return Line(label=label, reward=settings["reward"], values=values, so_far=so_far)


def comparison(lines: Sequence[Line], beneath: Beneath = lambda name: ()) -> Table:
    """All objects, each with every agent's line, and what `beneath` says of the object."""
    objects = list(dict.fromkeys(name for line in lines for by_object in line.values.values() for name in by_object))
    never = [name for name in objects if len(objects) > MANY and not any(_is_reached(line, name) for line in lines)]
    objects = [name for name in objects if name not in never]
    shown = {
        name: [
            *((f"  {line.label}", [_brief(line.values[metric].get(name)) for metric in HEADINGS]) for line in lines),
            *((f"  {label}", list(texts)) for label, texts in beneath(name)),
        ]
        for name in objects
    }
    rows = [["", *HEADINGS.values()], *([label, *texts] for rows in shown.values() for label, texts in rows)]
    widths = [max(len(row[i]) for row in rows if i < len(row)) for i in range(1 + len(HEADINGS))]
    padding = padding_for(sum(widths), len(HEADINGS))
    caption = f"never: {', '.join(never)}" if never else None
    table = Table(box=box.SIMPLE_HEAD, padding=padding, pad_edge=False, show_edge=False, caption=caption)
    table.add_column("", no_wrap=True)
    for heading in HEADINGS.values():
        table.add_column(heading, justify="right", no_wrap=True)
    for name, entries in shown.items():
        table.add_row(Text(name, style="bold"))
        for i, (label, texts) in enumerate(entries):
            table.add_row(label, *texts, end_section=i == len(entries) - 1)
    return table


def padding_for(width: int, num_columns: int) -> int | tuple[int, int, int, int]:
    """Two blanks between columns where a narrow terminal holds them, else one."""
    return (0, 0, 0, 1) if width + 2 * num_columns <= NARROW else 0


def stacked(estimate: Estimate | None) -> Text:
    """The mean, and under it the interval: a terminal of 80 columns holds six."""
    if estimate is None:
        return Text("-")
    return Text.assemble(number(estimate.mean), (f"\n{ends(estimate)}".rstrip(), "dim"))


def _is_reached(line: Line, name: str) -> bool:
    found = line.values["frequency"].get(name)
    return found is None or found.mean > 0


def _brief(estimate: Estimate | None) -> str:
    """`28.8 (19-39)`: a terminal of 80 columns holds four of them."""
    if estimate is None:
        return "-"
    digits = 2 if estimate.mean < 10 else 0
    low, high = f"{estimate.low:.{digits}f}", f"{estimate.high:.{digits}f}"
    mean = number(estimate.mean)
    return mean if "nan" in (low, high) or low == high else f"{mean} ({low}-{high})"
