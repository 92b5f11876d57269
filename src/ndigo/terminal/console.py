"""Where commands print tables: a console that takes every text as it is."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap

from rich.console import Console


def plain_console(*, quiet: bool = False, stderr: bool = False) -> Console:
    """Without rich's markup: a run's path or an object's name may look like it, and must neither fail nor vanish."""
    return Console(markup=False, emoji=False, quiet=quiet, stderr=stderr)


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
