"""Where numbers go besides metrics.jsonl: TensorBoard and Weights & Biases, when asked for."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ndigo.devices.processes import is_first
from ndigo.errors import FailedError, NdigoError, install, unknown_name
from ndigo.storage.records import BY_SEED, columns_of

Log = Callable[[int, dict[str, float]], None]  # takes a step, and scalars by name


def scalars(line: dict[str, Any], world: dict[str, Any]) -> dict[str, float]:
    """A line of metrics as named scalars: means over seeds, one per channel or object."""
    named = {name: float(line[name]) for name in ("world_steps", "transitions_per_second")}
    for group in BY_SEED:
        for name, per_seed in line.get(group, {}).items():
            mean = np.asarray(per_seed, float).mean(axis=0)
            if mean.ndim == 0:
                named[f"{group}/{name}"] = float(mean)
                continue
            # Not strict: a world without truth may name objects, but has no discovery loss.
            columns = zip(world[columns_of(name)], mean, strict=False)
            named |= {f"{group}/{name}/{label}": float(x) for label, x in columns}
    return named


@contextmanager
def open_tensorboard(folder: Path, settings: dict[str, Any], step: int) -> Iterator[Log]:
    """Event files in RUN/tensorboard; what an earlier sitting wrote after `step` is purged."""
    folder /= "tensorboard"
    writer = _package("tensorboard").SummaryWriter(str(folder), purge_step=step + 1 if step else None)

    def write(step: int, named: dict[str, float]) -> None:
        for name, value in named.items():
            writer.add_scalar(name, value, step)
        writer.flush()

    try:
        yield write
    finally:
        writer.close()


@contextmanager
def open_wandb(folder: Path, settings: dict[str, Any], step: int) -> Iterator[Log]:
    """A Weights & Biases run named as the folder; WANDB_MODE=offline keeps it in RUN/wandb."""
    with _told_by_wandb() as wandb:
        run = wandb.init(project="ndigo", name=folder.name, dir=str(folder), config=settings)
    try:
        yield lambda step, named: run.log(named, step=step)
    finally:
        run.finish()


LOGS = {"tensorboard": open_tensorboard, "wandb": open_wandb}
PACKAGES = {"tensorboard": "tensorboardX", "wandb": "wandb"}


def open_logs(
    names: Sequence[str], folder: Path, settings: dict[str, Any], step: int
) -> list[AbstractContextManager[Log]]:
    """Each log as a context that closes it; `step` is where the run goes on."""
    refuse_missing_logs(names)
    return [LOGS[name](folder, settings, step) for name in names]


def refuse_closed_logs(names: Sequence[str]) -> None:
    """An error for a log that cannot be opened; asked before a run is made, it leaves nothing behind.

    Where Weights & Biases knows no key, it asks a person at a terminal for one.
    """
    refuse_missing_logs(names)
    if "wandb" in names and os.environ.get("WANDB_MODE", "online") == "online" and is_first():
        with _told_by_wandb() as wandb:
            wandb.login()


def refuse_missing_logs(names: Sequence[str]) -> None:
    """An error for a log that is mistyped or not installed."""
    if isinstance(names, str) or not isinstance(names, Collection):
        raise NdigoError(f"logs {names!r}: expected a list of names, such as {[*LOGS][:1]}")
    for name in names:
        if name not in LOGS:
            raise unknown_name("log", name, LOGS)
        _package(name)


@contextmanager
def _told_by_wandb() -> Iterator[Any]:
    """The package; within the block its errors are one line: a login that is missing, or a server that refuses."""
    wandb = _package("wandb")
    try:
        yield wandb
    except wandb.UsageError as error:
        alone = "WANDB_MODE=offline needs no login and keeps the numbers in RUN/wandb"
        raise NdigoError(f"--log wandb: {str(error).rstrip('.')}; {alone}") from None
    except wandb.Error as error:
        raise FailedError(f"--log wandb: {error}") from None


def _package(name: str) -> Any:
    try:
        return importlib.import_module(PACKAGES[name])
    except ImportError:
        raise NdigoError(f"--log {name} needs {PACKAGES[name]}: {install(name)}") from None
