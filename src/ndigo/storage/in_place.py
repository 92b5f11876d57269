"""A whole folder in place of another: at every moment the old one or the new one is on the disk."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from ndigo.storage.run_folder import sync_folder


def put_in_place(temporary: Path, final: Path) -> None:
    """Gives a folder its name, which another may have; on an error that one keeps it."""
    # No folder can take another's name at once: until the new one has it, the old one lies aside.
    aside = aside_of(final)
    if final.exists():
        shutil.rmtree(aside, ignore_errors=True)
        os.replace(final, aside)
    try:
        os.replace(temporary, final)
    except OSError:
        take_back(final)
        raise
    sync_folder(final.parent)
    shutil.rmtree(aside, ignore_errors=True)


def aside_of(final: Path) -> Path:
    """Where a folder lies while another takes its name."""
    return final.with_name(f".{final.name}.old.tmp")


def take_back(final: Path) -> None:
    """What was put aside has its name again, unless another has it."""
    if not final.exists():
        with contextlib.suppress(OSError):  # there is none, or another process has taken it back
            os.replace(aside_of(final), final)
