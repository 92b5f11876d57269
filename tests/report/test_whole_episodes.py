"""Tables of episodes that end by themselves, from numbers made up by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rich.console import Console

from ndigo.report.episodes import (
    channel_table,
    episodes_conclusion,
    episodes_sheet,
    episodes_table,
    with_episode_numbers,
)
from ndigo.report.tables import Line, comparison, line_of

EVENTS = [f"event{i}" for i in range(13)]


def line(label: str, events: list[str], reached: list[float]) -> Line:
    """Two seeds with means halfway between them."""
    settings = {
        "world": {"channels": ["tile", "colour"], "in_view": events, "objects": []},
        "reward": label,
    }
    measured: dict[str, Any] = {
        "visits": np.array([reached, reached]),
        "first_visit": np.array([reached, reached]),
        "frequency": np.array([reached, reached]),
        "discovery_loss": np.zeros((2, 0)),
        "coverage": np.array([10.0, 20.0]),
        "task_return": np.array([0.0, 1.0]),
        "episode_steps": np.array([50.0, 150.0]),
        "reward": np.array([0.5, 0.7]),
        "reward_c": np.array([[0.5, 0.0], [0.7, 0.0]]),
        "model_loss_c": np.array([[2.0, 4.0], [4.0, 8.0]]),
    }
    return with_episode_numbers(line_of(label, settings, measured), settings, measured)


def text(*tables: Any) -> str:
    console = Console(width=200)
    with console.capture() as captured:
        console.print(*tables)
    return captured.get()


def test_an_episode_is_told_in_a_sentence():
    shown = episodes_conclusion(line("pe", ["goal"], [0.25]))
    assert (
        shown == "pe: 15.0 places in 100 steps per episode, a task return of 0.50, goal reached in 25.0% of episodes."
    )
    many = episodes_conclusion(line("pe", EVENTS, [1.0, 0.5] + [0.0] * 11))
    assert many.endswith("1.50 of 13 events reached per episode.")


def test_tables_have_a_row_per_agent_and_a_row_per_channel():
    lines = [line("pe", ["goal"], [0.25]), line("icm", ["goal"], [1.0])]
    whole = text(episodes_table(lines))
    assert [row.split()[:2] for row in whole.splitlines() if row.startswith(("pe", "icm"))] == [
        ["pe", "15.0"],
        ["icm", "15.0"],
    ]
    channels = text(channel_table(lines[:1])).splitlines()
    assert [row.split()[0] for row in channels if row and not row.startswith(("─", "channel", " "))] == [
        "tile",
        "colour",
    ]
    at = next(i for i, row in enumerate(channels) if row.startswith("tile"))
    assert channels[at].endswith(" 3.00")
    assert channels[at + 1].endswith(" 2.00 to 4.00")
    assert episodes_table([Line("x", "x", {"frequency": {}})]) is None


def test_of_many_events_those_that_nobody_reached_share_a_line():
    shown = text(comparison([line("pe", EVENTS, [1.0] + [0.0] * 12)]))
    assert "never: event1, event2" in " ".join(shown.split())
    assert sum(row.strip() == "event0" for row in shown.splitlines()) == 1
    few = text(comparison([line("pe", EVENTS[:2], [1.0, 0.0])]))
    assert "never" not in few


def test_json_has_the_episode_by_metric_and_the_rest_by_channel():
    shown = line("pe", ["goal"], [0.25]).as_dict()
    assert shown["coverage"]["mean"] == 15
    assert shown["model_loss_c"]["colour"]["mean"] == 6
    assert shown["frequency"]["goal"]["mean"] == 25
    assert (shown["label"], shown["reward"]) == ("pe", "pe")
    assert shown["reward_per_step"]["mean"] == pytest.approx(0.6)


def test_a_page_has_them_as_a_sheet():
    (sheet,) = episodes_sheet("MiniGrid", [line("pe", ["goal"], [0.25])])
    assert sheet.columns[:2] == ("places", "task return")
    assert sheet.columns[-1] == "model loss: colour"
    assert episodes_sheet("exp1", [Line("x", "x", {})]) == []
