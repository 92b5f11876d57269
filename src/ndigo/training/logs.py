"""Where numbers go besides metrics.jsonl: TensorBoard and Weights & Biases, when asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ndigo.errors import NdigoError, unknown_name


@dataclass(frozen=True)
class Log:
    write: Callable[[int, dict[str, float]], None]  # step, scalars by name
    close: Callable[[], None]


def scalars(line: dict[str, Any], channels: Sequence[str], objects: Sequence[str]) -> dict[str, float]:
    """A line of metrics as named scalars: means over seeds, one per channel or object."""
    named: dict[str, float] = {}
    for group in ("learning", "evaluation"):
        for name, per_seed in line.get(group, {}).items():
            mean = np.asarray(per_seed, float).mean(axis=0)
            labels = channels if name.endswith("_c") else objects
            if mean.ndim == 0:
                named[f"{group}/{name}"] = float(mean)
            else:
                named |= {f"{group}/{name}/{label}": float(x) for label, x in zip(labels, mean, strict=True)}
    return named


def open_tensorboard(folder: Path, settings: dict[str, Any]) -> Log:
    writer = _import("tensorboardX", "tensorboard").SummaryWriter(str(folder / "tensorboard"))

    def write(step: int, named: dict[str, float]) -> None:
        for name, value in named.items():
            writer.add_scalar(name, value, step)
        writer.flush()

    return Log(write=write, close=writer.close)


def open_wandb(folder: Path, settings: dict[str, Any]) -> Log:
    run = _import("wandb", "wandb").init(project="ndigo", dir=str(folder), config=settings)
    return Log(write=lambda step, named: run.log(named, step=step), close=run.finish)


LOGS = {"tensorboard": open_tensorboard, "wandb": open_wandb}


def open_logs(names: Sequence[str], folder: Path, settings: dict[str, Any]) -> list[Log]:
    for name in names:
        if name not in LOGS:
            raise unknown_name("log", name, LOGS)
    return [LOGS[name](folder, settings) for name in names]


def _import(module: str, extra: str) -> Any:
    try:
        return __import__(module)
    except ImportError:
        raise NdigoError(f"--log {extra} needs {module}: pip install 'ndigo[{extra}]'") from None
