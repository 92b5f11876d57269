"""What runs go on from: the newest step of which all that train side by side have a good checkpoint."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from ndigo.errors import NdigoError
from ndigo.storage import checkpoint
from ndigo.storage.agents import refuse_non_finite
from ndigo.storage.run_folder import RunFolder


def at_one_step(paths: Sequence[Path]) -> list[list[Path]]:
    """Runs in groups that can go on side by side: a group's have checkpoints of a common step, or none has any."""
    groups: list[tuple[set[int], list[Path]]] = []
    for path in paths:
        found = set(checkpoint.steps(RunFolder(path).checkpoints)) or {0}
        for i, (common, group) in enumerate(groups):
            if common & found:
                groups[i] = common & found, [*group, path]
                break
        else:
            groups.append((found, [path]))
    return [group for _, group in groups]


def newest_of_all(
    folders: Sequence[RunFolder], warn: Callable[[str], None]
) -> tuple[int, list[dict[str, np.ndarray]]] | None:
    """The newest step of which every folder has a good checkpoint, and their arrays; what is after it is dropped."""
    for folder in folders:
        checkpoint.remove_unfinished(folder.checkpoints)
    if not all(checkpoint.steps(folder.checkpoints) for folder in folders):
        for folder in folders:
            # A second line is written when the first one's checkpoint is on disk. A kill between the first line and its
            # checkpoint leaves the folder that it was to lie in.
            if len(lines := folder.metrics()) > 1 or (lines and not folder.checkpoints.is_dir()):
                raise NdigoError(
                    f"{folder.path} has metrics up to step {lines[-1]['step']} but no checkpoint to go on from: "
                    f"put {folder.checkpoints} back, or begin a run in another folder"
                )
            if lines:
                warn(f"{folder.path} has no checkpoint yet: its first chunk is learned again")
            folder.rewind(0)
        return None
    if len(folders) == 1:
        step, arrays = checkpoint.load_newest(folders[0].checkpoints, fingerprint_of(folders[0]), warn)
        found = step, [arrays]
    else:
        found = _newest_common(folders, warn)
    for folder, arrays in zip(folders, found[1], strict=True):
        learned = {name: array for name, array in arrays.items() if name.startswith(".learner")}
        refuse_non_finite(learned, f"the checkpoint of step {found[0]} in {folder.path}")
        folder.rewind(found[0])
    return found


def _newest_common(
    folders: Sequence[RunFolder], warn: Callable[[str], None]
) -> tuple[int, list[dict[str, np.ndarray]]]:
    for step in sorted(set.intersection(*(set(checkpoint.steps(f.checkpoints)) for f in folders)), reverse=True):
        try:
            arrays = [checkpoint.load(f.checkpoints / f"step_{step}", fingerprint_of(f)) for f in folders]
        except checkpoint.UnusableCheckpoint as problem:
            warn(str(problem))
            continue
        for folder in folders:
            checkpoint.remove_after(folder.checkpoints, step)
        return step, arrays
    raise NdigoError(
        f"the runs in {folders[0].path.parent} have no good checkpoint of one step: continue each alone, "
        f"as ndigo train --resume {quote(str(folders[0].path))}"
    )


def last_seconds(folder: RunFolder, step: int) -> float:
    """What the run had taken by then."""
    lines = folder.metrics()
    if not lines or lines[-1]["step"] != step:
        raise _lost_line(folder, step)
    return lines[-1]["seconds"]


def metrics_of(folder: RunFolder) -> list[dict[str, Any]]:
    """The lines of a run; an error where they end before a good checkpoint, which is younger than its line."""
    saved = checkpoint.steps(folder.checkpoints)  # before the lines, of which a run that trains may write one meanwhile
    lines = folder.metrics()
    for step in saved:
        if step > (lines[-1]["step"] if lines else 0):
            with contextlib.suppress(checkpoint.UnusableCheckpoint):
                checkpoint.load(folder.checkpoints / f"step_{step}", fingerprint_of(folder))
                raise _lost_line(folder, step)
    return lines


def _lost_line(folder: RunFolder, step: int) -> NdigoError:
    return NdigoError(f"{folder.path}/metrics.jsonl has lost the line of step {step}; the run cannot be continued")


def fingerprint_of(folder: RunFolder) -> str:
    """Of the settings that its checkpoints belong to."""
    return checkpoint.fingerprint(folder.settings()["config"])
