"""What whole episodes show that end by themselves: places, the task, and pay and loss by channel, as tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rich import box
from rich.table import Table
from rich.text import Text

from ndigo.report.numbers import number
from ndigo.report.sheets import Entry, Sheet
from ndigo.report.statistics import Estimate, estimates
from ndigo.report.tables import MANY, Line, stacked

# Of each metric of `Evaluation`, how it is headed.
PER_EPISODE = {
    "coverage": "places",
    "task_return": "task return",
    "episode_steps": "steps",
    "reward": "reward per step",
}
BY_CHANNEL = {"reward_c": "reward per step", "model_loss_c": "model loss"}


def with_episode_numbers(line: Line, settings: Mapping[str, Any], measured: Mapping[str, Any]) -> Line:
    """The line with estimates by metric, then by name ("" for the episode), from arrays [units] and [units, C]."""
    found: dict[str, dict[str, Estimate]] = {}
    for metric in (*PER_EPISODE, *BY_CHANNEL):
        if measured.get(metric) is None:
            continue
        per_unit = np.asarray(measured[metric], float)
        per_unit = per_unit.reshape(len(per_unit), -1)
        names = settings["world"]["channels"] if metric in BY_CHANNEL else [""]
        found[metric] = dict(zip(names, estimates(per_unit), strict=True))
    return dataclasses.replace(line, of_episodes=found)


def episodes_table(lines: Sequence[Line]) -> Table | None:
    """One row per agent; None where no agent's episodes end by themselves."""
    if not any(line.of_episodes for line in lines):
        return None
    there = {metric for line in lines for metric in line.of_episodes}
    headings = {metric: text for metric, text in PER_EPISODE.items() if metric in there}
    table = _table(["", *headings.values(), *(["events per episode"] if _num_events(lines) else [])])
    for line in lines:
        texts: list[Text | str] = [stacked(line.of_episodes.get(metric, {}).get("")) for metric in headings]
        if _num_events(lines):
            reached = sum(e.mean for e in line.values["frequency"].values()) / 100
            texts.append(f"{number(reached)} of {_num_events(lines)}")
        table.add_row(line.label, *texts)
    return table


def channel_table(lines: Sequence[Line]) -> Table | None:
    """One row per channel; pay and the loss one step ahead of each agent, in nats."""
    metrics = [metric for metric in BY_CHANNEL if any(metric in line.of_episodes for line in lines)]
    if not metrics:
        return None
    columns = [(line, metric) for line in lines for metric in metrics]
    single = len(lines) == 1
    table = _table(
        ["channel", *(BY_CHANNEL[m] if single else f"{line.label}:\n{BY_CHANNEL[m]}" for line, m in columns)]
    )
    names = dict.fromkeys(name for line in lines for metric in metrics for name in line.of_episodes.get(metric, {}))
    for name in names:
        table.add_row(name, *(stacked(line.of_episodes.get(metric, {}).get(name)) for line, metric in columns))
    return table


def episodes_sheet(title: str, lines: Sequence[Line]) -> list[Sheet]:
    """The same for a page, where there is any."""
    columns = [(metric, name) for line in lines for metric, by_name in line.of_episodes.items() for name in by_name]
    columns = list(dict.fromkeys(columns))
    if not columns:
        return []
    headings = tuple(f"{(PER_EPISODE | BY_CHANNEL)[metric]}{f': {name}' if name else ''}" for metric, name in columns)
    rows = [(x.label, tuple(Entry(x.of_episodes.get(metric, {}).get(name)) for metric, name in columns)) for x in lines]
    return [Sheet(f"{title}: whole episodes", "", headings, tuple(rows))]


def episodes_conclusion(line: Line) -> str:
    """The numbers in a sentence."""
    what = {metric: by_name[""].mean for metric, by_name in line.of_episodes.items() if "" in by_name}
    parts = [f"{number(what['coverage'])} places in {number(what['episode_steps'])} steps per episode"]
    if "task_return" in what:
        parts.append(f"a task return of {number(what['task_return'])}")
    if seen := line.values["frequency"]:
        share = sum(e.mean for e in seen.values()) / 100
        parts.append(
            f"{number(share)} of {len(seen)} events reached per episode"
            if len(seen) > 1
            else f"{next(iter(seen))} reached in {number(100 * share)}% of episodes"
        )
    return f"{line.label}: {', '.join(parts)}."


def _num_events(lines: Sequence[Line]) -> int:
    num = max(len(line.values["frequency"]) for line in lines)
    return num if num > MANY else 0


def _table(headings: Sequence[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for i, heading in enumerate(headings):
        table.add_column(heading, justify="right" if i else "left", no_wrap=not i)
    return table
