"""What a command is at, for as long as it works: on a terminal a line that moves, elsewhere nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from ndigo.terminal.console import plain_console


class _OfMany(ProgressColumn):
    """A column for work that can be counted; empty where the count is unknown or one."""

    def __init__(self, column: ProgressColumn):
        super().__init__()
        self.column = column

    def render(self, task: Task) -> object:  # type: ignore[override]
        return Text("") if task.total is None or task.total < 2 else self.column.render(task)


@contextmanager
def working(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Says on stderr what is done and for how long; gives the function that hears how much of `total` is done.

    Results go to stdout and never meet it: a pipe, a file and `--json` get what they always get.
    """
    console = plain_console(stderr=True)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        *map(_OfMany, (BarColumn(24), MofNCompleteColumn(), TimeRemainingColumn())),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)
