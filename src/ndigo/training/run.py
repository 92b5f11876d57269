"""A run: chunks on the device, and between them what the host does: metrics, checkpoints, signals, time.

A chunk's line of metrics is on disk before its checkpoint, and a resumed run drops the lines after the
checkpoint it starts from, so that kill and resume leave the same numbers as no kill at all.
"""

from __future__ import annotations

import dataclasses
import platform
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
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
from ndigo.evaluation.streams import seen_names
from ndigo.rewards import IntrinsicReward
from ndigo.storage import checkpoint
from ndigo.storage.agents import refuse_non_finite
from ndigo.storage.lock import one_writer
from ndigo.storage.run_folder import RunFolder
from ndigo.training.cost import refuse_too_large
from ndigo.training.divergence import DivergedError, refuse_bad_numbers, refuse_bad_weights
from ndigo.training.logs import open_logs, scalars
from ndigo.training.progress import TrainingProgress
from ndigo.training.signals import stop_signals, wait_for
from ndigo.training.trainer import Trainer, TrainState, make_trainer
from ndigo.worlds import World


@dataclass(frozen=True)
class Outcome:
    """How a run ended: `finished`, `time` (its minutes are over), or the name of the signal that stopped it."""

    step: int
    why: str


def new_run(path: Path, config: Config, world: World, reward: IntrinsicReward) -> RunFolder:
    """The folder of a run that has not begun; settings that cannot be trained leave no folder."""
    refuse_too_large(jax.eval_shape(make_trainer(config, world, reward).init, jax.random.key(0)))
    RunFolder.refuse_taken(path)
    with one_writer(path):
        return RunFolder.create(path, settings_of(config, world, reward))


def settings_of(config: Config, world: World, reward: IntrinsicReward) -> dict[str, Any]:
    """What config.json holds: all that a reader of the metrics needs to know."""
    return {
        "config": dataclasses.asdict(config),
        "world": {
            "name": world.name,
            "channels": [channel.name for channel in world.channels],
            "in_view": seen_names(world),  # visits count these
            "objects": list(world.objects),  # discovery loss is of these
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
    settings = folder.settings()
    mark = checkpoint.fingerprint(settings["config"])
    trainer = make_trainer(config, world, reward)
    clock = Clock(minutes)

    def warn(text: str) -> None:
        console.print(text, soft_wrap=True, markup=False, highlight=False)

    with ExitStack() as stack:
        stack.callback(trainer.close)
        stack.enter_context(one_writer(folder.path, warn))
        state, step, clock.seconds_before = restore(folder, trainer, config, mark, warn)
        if step >= config.learner_steps:
            return Outcome(step=step, why="finished")
        sinks = [stack.enter_context(log) for log in open_logs(logs, folder.path, settings, step)]
        progress = stack.enter_context(TrainingProgress(console, settings["world"], config, minutes))
        signals = stack.enter_context(stop_signals(progress.say))
        writer = stack.enter_context(checkpoint.CheckpointWriter(folder.checkpoints, mark))
        why = ""
        while not why:
            chunk_began = time.monotonic()
            state, numbers = trainer.run_rounds(state, config.rounds_per_chunk, signals.listen)
            learning_seconds = time.monotonic() - chunk_began
            step += config.updates_per_chunk
            writer.wait()
            try:
                refuse_bad_numbers(numbers, step)
                arrays = checkpoint.named_arrays(state)
                refuse_bad_weights({k: v for k, v in arrays.items() if k.startswith(".learner")}, step)
            except DivergedError as error:
                raise DivergedError(f"{error}; {checkpoint.last_good(folder.checkpoints)}") from None
            why = signals.first or ("finished" if step >= config.learner_steps else "time" if clock.is_over() else "")
            line = {
                "step": step,
                "world_steps": step // config.updates_per_round * trainer.steps_per_round,
                "seconds": round(clock.seconds(), 3),
                "transitions_per_second": round(
                    config.seeds * config.updates_per_chunk * config.batch * config.window / learning_seconds
                ),
                "learning": means(numbers),
            }
            if state.crowd is not None:
                line["acting"] = finished_episodes(state.crowd)
            if why or step // config.updates_per_chunk % config.chunks_per_evaluation == 0:
                line["evaluation"] = evaluate(trainer, state, config, step, signals.listen)
            folder.append(line)
            writer.write(step, arrays)
            for sink in sinks:
                sink.write(step, scalars(line, settings["world"]))
            progress.show(line, clock.elapsed())
            why = why or signals.first
    return Outcome(step=step, why=why)


class Clock:
    """Seconds of this sitting and of the whole run."""

    def __init__(self, minutes: float | None):
        self.began, self.minutes, self.seconds_before = time.monotonic(), minutes, 0.0

    def elapsed(self) -> float:
        return time.monotonic() - self.began

    def seconds(self) -> float:
        return self.seconds_before + self.elapsed()

    def is_over(self) -> bool:
        return self.minutes is not None and self.elapsed() >= 60 * self.minutes


def restore(
    folder: RunFolder, trainer: Trainer, config: Config, mark: str, warn: Callable[[str], None]
) -> tuple[TrainState, int, float]:
    """The newest good state, its step and the seconds spent on it; a fresh state for a new run."""
    key = jax.random.key(config.seed)
    checkpoint.remove_unfinished(folder.checkpoints)
    if not checkpoint.steps(folder.checkpoints):
        # A second line is written when the first one's checkpoint is on disk.
        if len(lines := folder.metrics()) > 1:
            raise NdigoError(
                f"{folder.path} has metrics up to step {lines[-1]['step']} but no checkpoint to go on from: "
                f"put {folder.checkpoints} back, or begin a run in another folder"
            )
        folder.rewind(0)
        return trainer.init(key), 0, 0.0
    step, arrays = checkpoint.load_newest(folder.checkpoints, mark, warn)
    learned = {name: array for name, array in arrays.items() if name.startswith(".learner")}
    refuse_non_finite(learned, f"the checkpoint of step {step} in {folder.path}")
    state = checkpoint.into_tree(arrays, jax.eval_shape(trainer.init, key), f"checkpoint step_{step}")
    folder.rewind(step)
    lines = folder.metrics()
    if not lines or lines[-1]["step"] != step:
        raise NdigoError(f"{folder.path}/metrics.jsonl has lost the line of step {step}; the run cannot be continued")
    return state, step, lines[-1]["seconds"]


def evaluate(
    trainer: Trainer, state: TrainState, config: Config, step: int, listen: Callable[[], None]
) -> dict[str, Any]:
    """Greedy episodes: per seed and object, means over episodes. The key depends on the step alone."""
    key = jax.random.fold_in(jax.random.key(config.seed), step)
    result = trainer.measure(state.learner.params, key).evaluation
    wait_for(result, listen)
    return means(result)


def means(record: Any) -> dict[str, Any]:
    """Of each field that is there, by seed, the mean over its second axis."""
    named = {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}
    return {name: np.asarray(x).mean(axis=1).tolist() for name, x in named.items() if x is not None}


def finished_episodes(crowd: Any) -> dict[str, Any]:
    """By seed, what the exploring actors have finished since the run began: episodes, and their means."""
    episodes, steps, returns = np.moveaxis(np.asarray(crowd.actors.finished, np.float64).sum(axis=1), -1, 0)
    per_episode = 1 / np.maximum(episodes, 1)
    return {
        "episodes": episodes.tolist(),
        "episode_steps": (steps * per_episode).tolist(),
        "task_return": (returns * per_episode).tolist(),
    }
