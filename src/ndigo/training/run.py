"""A run: chunks on the device, and between them what the host does: metrics, checkpoints, signals, time.

A chunk's metrics are on disk before its checkpoint, and a resumed run drops the lines after the
checkpoint it starts from, so that kill and resume leave the same file as no kill at all.
"""

from __future__ import annotations

import dataclasses
import platform
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import numpy as np
from rich.console import Console

from ndigo import __version__
from ndigo.config import Config
from ndigo.errors import NdigoError
from ndigo.rewards import IntrinsicReward
from ndigo.storage import checkpoint
from ndigo.storage.run_folder import RunFolder
from ndigo.training.learner import Numbers
from ndigo.training.logs import open_logs, scalars
from ndigo.training.progress import TrainingProgress
from ndigo.training.trainer import Trainer, TrainState, make_trainer
from ndigo.worlds import World


@dataclass(frozen=True)
class Outcome:
    """How a run ended: `finished`, `time` (its minutes are over) or the signal that stopped it."""

    step: int
    why: str


class DivergedError(NdigoError):
    """A number turned NaN or infinite; the last good checkpoint is kept."""


def new_run(path: Path, config: Config, world: World, reward: IntrinsicReward) -> RunFolder:
    """The folder of a run that has not begun."""
    settings = {
        "config": dataclasses.asdict(config),
        "world": {
            "name": world.name,
            "channels": [c.name for c in world.channels],
            "objects": list(world.objects),
            "num_steps": world.num_steps,
        },
        "reward": reward.name,
        "versions": {
            "python": platform.python_version(),
            "ndigo": __version__,
            **{package: version(package) for package in ("jax", "numpy", "equinox", "optax")},
        },
        "device": jax.devices()[0].device_kind,
    }
    return RunFolder.create(path, settings)


def continue_run(
    folder: RunFolder,
    config: Config,
    world: World,
    reward: IntrinsicReward,
    *,
    minutes: float | None = None,
    logs: Sequence[str] = (),
    console: Console | None = None,
) -> Outcome:
    """Trains until the run's learner steps are done, its minutes are over or a signal stops it."""
    console = console or Console(quiet=True)
    began = time.monotonic()
    settings = folder.settings()
    mark = checkpoint.fingerprint(settings["config"])
    trainer = make_trainer(config, world, reward)
    state, step, seconds_before = restore(folder, trainer, config, mark, console)
    sinks = open_logs(logs, folder.path, settings)
    chunk = step // config.updates_per_chunk
    progress = TrainingProgress(
        console,
        world,
        total=minutes * 60 if minutes else config.learner_steps,
        unit=f"{minutes:g} min" if minutes else f"{config.learner_steps:,} steps",
    )
    with progress, stop_signals() as stopped_by:
        while True:
            why = _reason_to_stop(step, began, stopped_by(), config, minutes)
            if why:
                break
            chunk_began = time.monotonic()
            state, numbers = trainer.run_chunk(state)
            numbers = jax.tree.map(np.asarray, numbers)
            learning_seconds = time.monotonic() - chunk_began
            chunk += 1
            step = chunk * config.updates_per_chunk
            refuse_nan(numbers, step, config, folder)
            elapsed = time.monotonic() - began
            is_last = bool(_reason_to_stop(step, began, stopped_by(), config, minutes))
            line = {
                "step": step,
                "world_steps": chunk * config.rounds_per_chunk * config.actors * world.num_steps,
                "seconds": round(seconds_before + elapsed, 3),
                "transitions_per_second": round(
                    config.seeds * config.updates_per_chunk * config.batch * config.window / learning_seconds
                ),
                "learning": {
                    f.name: getattr(numbers, f.name).mean(axis=1).tolist() for f in dataclasses.fields(Numbers)
                },
            }
            if is_last or chunk % config.chunks_per_evaluation == 0:
                line["evaluation"] = evaluate(trainer, state, config, step)
            folder.append(line)
            checkpoint.save(folder.checkpoints, step, state, mark)
            for sink in sinks:
                sink.write(step, scalars(line, settings["world"]["channels"], settings["world"]["objects"]))
            progress.show(time.monotonic() - began if minutes else step, line)
    for sink in sinks:
        sink.close()
    return Outcome(step=step, why=why)


def restore(
    folder: RunFolder, trainer: Trainer, config: Config, mark: str, console: Console
) -> tuple[TrainState, int, float]:
    """The newest good state, its step and the seconds spent on it; a fresh state for a new run."""
    key = jax.random.key(config.seed)
    if not checkpoint.steps(folder.checkpoints):
        folder.rewind(0)
        return trainer.init(key), 0, 0.0
    step, arrays = checkpoint.load_newest(folder.checkpoints, mark, lambda text: console.print(f"[yellow]{text}"))
    state = checkpoint.into_tree(arrays, jax.eval_shape(trainer.init, key), f"checkpoint step_{step}")
    folder.rewind(step)
    lines = folder.metrics()
    return state, step, lines[-1]["seconds"] if lines else 0.0


def evaluate(trainer: Trainer, state: TrainState, config: Config, step: int) -> dict[str, Any]:
    """Greedy episodes: per seed and object, means over episodes. The key depends on the step alone."""
    key = jax.random.fold_in(jax.random.key(config.seed), step)
    result = trainer.evaluate(state.learner.params, key)
    return {f.name: np.asarray(getattr(result, f.name)).mean(axis=1).tolist() for f in dataclasses.fields(result)}


def refuse_nan(numbers: Numbers, step: int, config: Config, folder: RunFolder) -> None:
    """Stops the run at the first number that is not finite, and says which went first, where and when."""
    bad: dict[str, np.ndarray] = {}
    for f in dataclasses.fields(Numbers):  # declared in the order they are computed
        value = np.asarray(getattr(numbers, f.name), float)
        bad[f.name] = np.logical_not(np.isfinite(value.reshape(*value.shape[:2], -1)).all(axis=-1))  # [S, updates]
    anywhere = np.logical_or.reduce(list(bad.values()))
    if not anywhere.any():
        return
    update = int(anywhere.any(axis=0).argmax())
    seed = int(anywhere[:, update].argmax())
    name = next(name for name, where in bad.items() if where[seed, update])
    left = checkpoint.steps(folder.checkpoints)
    kept = f"the last good checkpoint is step {left[0]}" if left else "no checkpoint had been written"
    first = step - config.updates_per_chunk + update + 1
    raise DivergedError(f"{name} of seed {seed} is not finite from learner step {first} on; {kept}")


def _reason_to_stop(step: int, began: float, signal_name: str | None, config: Config, minutes: float | None) -> str:
    if signal_name:
        return signal_name
    if step >= config.learner_steps:
        return "finished"
    if minutes is not None and time.monotonic() - began >= minutes * 60:
        return "time"
    return ""


@contextmanager
def stop_signals() -> Iterator[Callable[[], str | None]]:
    """Within the block Ctrl-C and SIGTERM are remembered instead of raised, so a chunk can finish."""
    received: list[str] = []
    previous: dict[int, Any] = {}

    def remember(number: int, frame: Any) -> None:
        received.append(signal.Signals(number).name)
        if len(received) > 2:  # a third Ctrl-C is a person who will not wait
            raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            previous[number] = signal.signal(number, remember)
        except ValueError:  # not the main thread: the caller owns the signals
            break
    try:
        yield lambda: received[0] if received else None
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
