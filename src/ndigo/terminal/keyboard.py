"""Single keys from a terminal, without waiting for Enter."""

from __future__ import annotations

import contextlib
import os
import re
import select
import sys
import termios
import tty
from collections.abc import Callable, Iterator

# Terminals send arrows as CSI or, in application mode, as SS3.
SEQUENCES = {
    f"\x1b{kind}{letter}": name
    for kind in "[O"
    for letter, name in {"A": "up", "B": "down", "C": "right", "D": "left"}.items()
}
NAMES = {"\x1b": "escape", " ": "space", "\x04": "escape", "": "escape"}  # Ctrl-D and a closed terminal leave too
SIGNAL_SECONDS = 0.2  # how long Ctrl-C may go unnoticed
UNFINISHED = re.compile(r"\x1b(O|\[[0-9;]*)?")
ESCAPE_SECONDS = 0.05  # the rest of an arrow's sequence follows within this; after a bare Escape nothing does


@contextlib.contextmanager
def keys() -> Iterator[Callable[[], str]]:
    """Gives a function that waits for one key and names it: "up", "space", "escape", "q", ...

    The terminal is as before when the block ends, however it ends.
    """
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal)
        yield lambda: _next_key(terminal)
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _next_key(terminal: int) -> str:
    key = _read(terminal)
    while UNFINISHED.fullmatch(key) and select.select([terminal], [], [], ESCAPE_SECONDS)[0]:
        key += _read(terminal)
    return SEQUENCES.get(key) or NAMES.get(key) or key.lower()


def _read(terminal: int) -> str:
    # Not one long wait: a signal that comes just before it begins is not handled before it ends.
    while not select.select([terminal], [], [], SIGNAL_SECONDS)[0]:
        pass
    # A byte of a character beyond ASCII is a key without a name; only a closed terminal gives "".
    return os.read(terminal, 1).decode(errors="replace")
