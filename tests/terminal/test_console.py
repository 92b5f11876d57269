"""Tables never cut a number, however narrow the console."""

from __future__ import annotations

import re
from typing import Any

import pytest
from rich import box
from rich.table import Table

from ndigo.report.statistics import Estimate
from ndigo.report.tables import HEADINGS, Line, comparison
from ndigo.terminal.console import plain_console


def printed(table: Table, width: int, monkeypatch: Any, capsys: Any) -> str:
    monkeypatch.setenv("COLUMNS", str(width))
    console = plain_console()
    console.print(table, "text " * 30)
    assert console.width == width  # of what is printed later
    return capsys.readouterr().out


@pytest.mark.parametrize("width", [20, 80, 200])
def test_means_and_intervals_of_an_agent_are_whole(width, monkeypatch, capsys):
    line = Line("ndigo-4", "ndigo-4", {metric: {"noise": Estimate(257.0, 218.0, 1295.0)} for metric in HEADINGS})
    out = printed(comparison([line] * 2), width, monkeypatch, capsys)
    assert out.count(" 257 (218-1295)") == 2 * len(HEADINGS)
    assert "…" not in out


@pytest.mark.parametrize("width", [10, 20, 30, 40, 200])
def test_headings_wrap_and_numbers_do_not(width, monkeypatch, capsys):
    """The last column's numbers are wider than what is left when all columns are narrowed alike."""
    table = Table("", "a heading of six short words", "more words than there is room", "n", box=box.SIMPLE_HEAD)
    table.add_row("x", "1", "22", "123,456,789,012")
    out = printed(table, width, monkeypatch, capsys)
    assert re.search(r"x +1 +22 +123,456,789,012", out)
    assert "…" not in out


def test_a_column_that_folds_its_words_needs_no_more_than_the_others(monkeypatch, capsys):
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("name", overflow="fold")
    table.add_column("n")
    table.add_row("long-" * 30, "123,456")
    out = printed(table, 40, monkeypatch, capsys)
    assert max(len(row.rstrip()) for row in out.split("text")[0].splitlines()) <= 40
    assert "123,456" in out
