"""Where commands print tables: a console that takes every text as it is."""

from __future__ import annotations

import shutil
import sys
import textwrap

from rich.console import Console


def plain_console(*, quiet: bool = False, stderr: bool = False) -> Console:
    """Without rich's markup: a run's path or an object's name may look like it, and must neither fail nor vanish."""
    return Console(markup=False, emoji=False, quiet=quiet, stderr=stderr)


def fitted(text: str) -> str:
    """The text, broken between words where a terminal would break it inside of one; elsewhere as it is."""
    if not sys.stdout.isatty():
        return text
    width = shutil.get_terminal_size().columns
    rows = (textwrap.fill(row, width, break_long_words=False, break_on_hyphens=False) for row in text.split("\n"))
    return "\n".join(rows)
