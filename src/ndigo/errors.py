"""Errors a user can cause, each one clear line: what is wrong, what is allowed, the nearest match."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class NdigoError(ValueError):
    """Bad input. The command line prints its message as one line and exits with the error's code."""

    exit_code = 2


class StoppedNow(KeyboardInterrupt):
    """The signal of a person who will not wait until a chunk is saved."""

    def __init__(self, number: int):
        super().__init__(number)
        self.exit_code = 128 + number


def unknown_name(what: str, name: object, known: Iterable[str]) -> NdigoError:
    """The error for a name that is in no registry: lists the known ones and the nearest.

    >>> print(unknown_name("world", "maz", ["maze", "brownian"]))
    unknown world 'maz'; known: brownian, maze (nearest: maze)
    """
    names = sorted(known)
    nearest = difflib.get_close_matches(str(name), names, n=1, cutoff=0.4)
    hint = f" (nearest: {nearest[0]})" if nearest else ""
    return NdigoError(f"unknown {what} {str(name)!r}; known: {', '.join(names)}{hint}")
