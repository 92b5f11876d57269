"""Single keys from a terminal, by their names."""

from __future__ import annotations

import os
import pty
import sys

import pytest

from ndigo.terminal.keyboard import keys


@pytest.mark.parametrize(
    ("typed", "named"),
    [("q", "q"), ("W", "w"), (" ", "space"), ("\x1b[A", "up"), ("\x1bOD", "left"), ("\x1b", "escape")],
)
def test_a_key_has_a_name(typed, named, monkeypatch):
    assert pressed(typed, 1, monkeypatch) == [named]


@pytest.mark.parametrize("typed", ["é", "ß", "я", "中"])
def test_a_key_beyond_ascii_is_not_escape_and_the_next_one_is_read(typed, monkeypatch):
    *others, last = pressed(typed + "q", len(typed.encode()) + 1, monkeypatch)
    assert "escape" not in others
    assert last == "q"


def pressed(typed: str, num: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the first `num` keys of what is typed at a terminal."""
    master, slave = pty.openpty()
    try:
        with os.fdopen(slave, closefd=True) as terminal, monkeypatch.context() as patched:
            patched.setattr(sys, "stdin", terminal)
            with keys() as next_key:
                os.write(master, typed.encode())
                return [next_key() for _ in range(num)]
    finally:
        os.close(master)
