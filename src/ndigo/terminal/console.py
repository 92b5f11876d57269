"""Where commands print tables: a console that takes every text as it is."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from typing import Any

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

WIDEST = 10_000  # columns, to measure a table by


class PlainConsole(Console):
    """Prints a table as wide as its numbers are: where rich finds too little room, it cuts them."""

    def print(self, *objects: Any, **options: Any) -> None:
        width = self.width
        self.width = max(width, *(uncut(self, x) for x in objects if isinstance(x, Table)), 0)
        try:
            super().print(*objects, **options)
        finally:
            self.width = width


def plain_console(*, quiet: bool = False, stderr: bool = False) -> Console:
    """Without rich's markup: a run's path or an object's name may look like it, and must neither fail nor vanish."""
    return PlainConsole(markup=False, emoji=False, quiet=quiet, stderr=stderr)


def uncut(console: Console, table: Table) -> int:
    """The least width at which rich breaks no word of a table; columns that fold may break theirs.

    rich narrows the widest of the wrapping columns first, whatever its words: each needs room for the longest of any.
    """
    options = console.options.update(width=WIDEST)
    sizes = [
        [Measurement.get(console, options, cell) for cell in (column.header, *column.cells)] for column in table.columns
    ]
    whole = [max(size.maximum for size in column) for column in sizes]
    can_wrap = [not column.no_wrap for column in table.columns]
    kept = [wraps and column.overflow != "fold" for column, wraps in zip(table.columns, can_wrap, strict=True)]
    longest = max(
        (size.minimum for column, is_kept in zip(sizes, kept, strict=True) if is_kept for size in column), default=1
    )
    between = Measurement.get(console, options, table).maximum - sum(whole)
    return between + sum(min(w, longest) if wraps else w for w, wraps in zip(whole, can_wrap, strict=True))


def fitted(text: str) -> str:
    """The text, broken between words where a terminal would break it inside of one; elsewhere as it is.

    What a line goes on with stands under its beginning: under its indent, and under the words of a list's item.
    """
    if not sys.stdout.isatty():
        return text
    width = shutil.get_terminal_size().columns
    return "\n".join(_broken(row, width) for row in text.split("\n"))


def _broken(row: str, width: int) -> str:
    indent = re.match(r" *(- |\d+\. )?", row)
    under = " " * (0 if indent is None else indent.end())
    return textwrap.fill(row, width, subsequent_indent=under, break_long_words=False, break_on_hyphens=False)
