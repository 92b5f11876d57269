"""A whole-screen picture in the terminal, redrawn in place, that leaves the scrollback untouched."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Callable, Iterator

# Another screen buffer, no cursor, long lines cut and not wrapped; then all of it undone.
ENTER, LEAVE = "\x1b[?1049h\x1b[?25l\x1b[?7l", "\x1b[?7h\x1b[?25h\x1b[?1049l"
HOME, END_OF_LINE, END_OF_SCREEN = "\x1b[H", "\x1b[K", "\x1b[J"


@contextlib.contextmanager
def screen() -> Iterator[Callable[[str], None]]:
    """Gives a function that shows a text of several lines in place of the one before."""
    sys.stdout.write(ENTER)
    try:
        yield _show
    finally:
        sys.stdout.write(LEAVE)
        sys.stdout.flush()


def _show(text: str) -> None:
    lines = text.split("\n")[: shutil.get_terminal_size().lines]
    sys.stdout.write(HOME + f"{END_OF_LINE}\n".join(lines) + END_OF_LINE + END_OF_SCREEN)
    sys.stdout.flush()


def beside(left: str, right: str, width: int) -> str:
    """Two texts side by side; `width` is what the left one takes on the screen, colour codes aside."""
    lines, others = left.split("\n"), right.split("\n")
    lines += [" " * width] * (len(others) - len(lines))
    others += [""] * (len(lines) - len(others))
    return "\n".join(f"{line}   {other}" for line, other in zip(lines, others, strict=True))
