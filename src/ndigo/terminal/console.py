"""Where commands print tables: a console that takes every text as it is."""

from __future__ import annotations

from rich.console import Console


def plain_console(*, quiet: bool = False, stderr: bool = False) -> Console:
    """Without rich's markup: a run's path or an object's name may look like it, and must neither fail nor vanish."""
    return Console(markup=False, emoji=False, quiet=quiet, stderr=stderr)
