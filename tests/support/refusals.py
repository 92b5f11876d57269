"""A command that refuses: how it ends, and what it says."""

from __future__ import annotations

from pathlib import Path

from ndigo.cli import main

AGENT = Path(__file__).parents[2] / "results/agents/exp1-ndigo-4.safetensors"


def refused(capsys, *words: object) -> str:
    """The one line that a command ends with."""
    assert main([str(word) for word in words]) in (1, 2)
    err = capsys.readouterr().err
    assert err.startswith("ndigo: ")
    assert err.count("\n") == 1
    return err
