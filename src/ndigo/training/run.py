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
from shlex import quote
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array
from rich.console import Console

from ndigo import __version__
from ndigo.config import Config
from ndigo.devices.mesh import connect
from ndigo.devices.processes import agree, all_or_none, is_first, of_first, on_host, wait_for_all
from ndigo.evaluation.streams import seen_names
from ndigo.from_module import module_of
from ndigo.rewards import IntrinsicReward
from ndigo.storage import checkpoint, milestones
from ndigo.storage.checkpoint import CheckpointWriter
from ndigo.storage.lanes import RunLanes, Saved, lanes_of
from ndigo.storage.lock import one_writer
from ndigo.storage.newest import fingerprint_of, last_seconds, newest_of_all
from ndigo.storage.parts import Share
from ndigo.storage.run_folder import RunFolder
from ndigo.storage.saving import Clock, Saving
from ndigo.training.cost import refuse_too_large
from ndigo.training.divergence import Diverged, OnDiverged, Outcome, refuse_diverged
from ndigo.training.learner import Numbers
from ndigo.training.logs import Log, open_logs, scalars
from ndigo.training.progress import TrainingProgress
from ndigo.training.rounds import TrainState
from ndigo.training.signals import StopSignals, nothing, stop_signals, wait_for
from ndigo.training.trainer import Trainer, make_trainer
from ndigo.worlds import World


def new_run(path: Path, config: Config, world: World, reward: IntrinsicReward, mesh: Mesh | None = None) -> RunFolder:
    """The folder of a run that has not begun; settings that cannot be trained leave no folder."""
    refuse_too_large(jax.eval_shape(make_trainer(config, world, reward, mesh).init, jax.random.key(0)))
    RunFolder.refuse_taken(path)
    wait_for_all(f"look at {path}")
    if is_first():
        with one_writer(path):
            RunFolder.create(path, settings_of(config, world, reward))
    wait_for_all(f"make {path}")
    return RunFolder.open(path)


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
            "kinds": [] if world.grid is None else [o.kind for o in world.grid.objects],  # of objects: their colours
        },
        "reward": reward.name,
        "versions": {
            "python": platform.python_version(),
            "ndigo": __version__,
            **{package: version(package) for package in ("jax", "numpy", "equinox", "optax")},
        },
        "device": jax.devices()[0].device_kind,
    }


def continue_runs(
    runs: Sequence[tuple[RunFolder, Config]],
    world: World,
    reward: IntrinsicReward,
    *,
    mesh: Mesh | None = None,
    minutes: float | None = None,
    logs: Sequence[str] = (),
    console: Console | None = None,
    on_diverged: OnDiverged = lambda path, error: None,
    announce: Callable[[], None] = nothing,
) -> list[Outcome]:
    """Trains until the runs' learner steps are done, the minutes are over or a signal stops them.

    Several differ in nothing but `config.VARIED`, and train side by side in one program. One of them that diverges
    ends, `on_diverged` is told, and the others go on; one that is alone raises. `announce` is called when all that can
    be refused has been, and before anything is compiled.
    """
    console = console if console and is_first() else Console(quiet=True)
    config = runs[0][1]
    trainer = make_trainer(config, world, reward, mesh, tuple(c for _, c in runs) if len(runs) > 1 else ())
    clock = Clock(minutes)

    def warn(text: str) -> None:
        console.print(text, soft_wrap=True, markup=False, highlight=False)

    with ExitStack() as stack:
        stack.callback(trainer.close)
        stack.enter_context(all_or_none(go_on_with(*runs)))
        connect(mesh)
        if is_first():
            for folder, _ in runs:
                stack.enter_context(one_writer(folder.path, warn))
        key = jax.random.key(config.seed)
        state, step, seconds_before = restore([folder for folder, _ in runs], trainer, key, warn)
        if step >= config.learner_steps:
            return [Outcome(step=step, why="finished")] * len(runs)
        lanes = open_lanes(stack, runs, seconds_before)
        sinks = [open_sinks(stack, logs, run.folder, step) for run in lanes]
        announce()
        settings = runs[0][0].settings()
        progress = stack.enter_context(TrainingProgress(console, settings["world"], config, minutes))
        signals = stack.enter_context(stop_signals(progress.say))
        diverged = Diverged(progress.say, on_diverged)
        sitting = Sitting(trainer, config, lanes, sinks, clock, progress, signals, diverged)
        step, why = sitting.train(trainer.init(key) if state is None else state, step)
    return [diverged.outcomes.get(folder.path, Outcome(step=step, why=why)) for folder, _ in runs]


@dataclass(frozen=True)
class Sitting:
    """Runs that train, and all that is open meanwhile."""

    trainer: Trainer
    config: Config  # the first run's; what may vary between runs is not read here
    runs: Sequence[RunLanes]
    sinks: Sequence[Sequence[Log]]  # of each run
    clock: Clock
    progress: TrainingProgress
    signals: StopSignals
    diverged: Diverged

    def train(self, state: TrainState, step: int) -> tuple[int, str]:
        """Chunk after chunk, until there is a reason to stop: the last one's step, and the reason."""
        why, saving = "", Saving(self.clock.elapsed)
        while not why:
            chunk_began = time.monotonic()
            state, numbers = self.trainer.run_rounds(
                state,
                self.config.rounds_per_chunk,
                self.signals.listen,
                lambda share, step=step: self.progress.within(step, share, self.clock.elapsed()),
            )
            learning_seconds = time.monotonic() - chunk_began
            step += self.config.updates_per_chunk
            why = agree(self.signals.first or self.done_at(step))
            with saving.of_chunk(bool(why) or bool(of_first(saving.is_due()))) as is_saved:
                to_save = self.trainer.placed.to_save(state) if is_saved else None
                refuse_diverged(self.runs, numbers, to_save, step, self.diverged)
            if not self.live():
                break
            if is_saved:  # a signal meanwhile ends the run here; else after the next chunk
                why = why or agree(self.signals.first)
            line = self.line_of(state, numbers, step, learning_seconds)
            if why or step // self.config.updates_per_chunk % self.config.chunks_per_evaluation == 0:
                line["evaluation"] = evaluate(self.trainer, state, self.config, step, self.signals.listen)
            self.write(line, to_save)
            if is_saved:
                why = why or agree(self.signals.first)
        return step, why

    def done_at(self, step: int) -> str:
        """Why there is no more to train in this sitting; "" where there is."""
        return "finished" if step >= self.config.learner_steps else "time" if self.clock.is_over() else ""

    def live(self) -> list[RunLanes]:
        """Of the runs that have not diverged."""
        return [run for run in self.runs if run.folder.path not in self.diverged.outcomes]

    def line_of(self, state: TrainState, numbers: Numbers, step: int, learning_seconds: float) -> dict[str, Any]:
        """A chunk's line of metrics, of all runs together."""
        config = self.config
        transitions = config.seeds * config.updates_per_chunk * config.batch * config.window
        slots = step // config.updates_per_round * self.trainer.steps_per_round
        line = {
            "step": step,
            "world_steps": [slots] * len(numbers.reward),  # by lane; each run has the mean of its own
            "seconds": 0.0,  # each run's own
            "transitions_per_second": round(transitions / learning_seconds),
            "learning": means(numbers),
        }
        if state.crowd is not None:
            line["acting"] = finished_episodes(on_host(state.crowd.actors.finished))
            # Every slot but an episode's last is a step.
            line["world_steps"] = [slots - episodes for episodes in line["acting"]["episodes"]]
        return line

    def write(self, line: dict[str, Any], arrays: Saved | None) -> None:
        """Each live run's part into its folder and its logs, and the whole onto the screen."""
        live = self.live()
        for run, sinks in zip(self.runs, self.sinks, strict=True):
            if run in live:
                write_chunk(run, line, arrays, self.clock.elapsed(), sinks)
        elapsed = self.clock.elapsed()
        self.progress.show(lanes_of(live, line) | {"seconds": elapsed + self.runs[0].seconds_before}, elapsed)


def open_lanes(
    stack: ExitStack, runs: Sequence[tuple[RunFolder, Config]], seconds_before: Sequence[float]
) -> list[RunLanes]:
    """The lanes of each run that trains; the stack closes its writer."""
    opened = []
    for i, (folder, config) in enumerate(runs):
        writer = CheckpointWriter(folder.checkpoints, fingerprint_of(folder))
        lanes = i * config.seeds, (i + 1) * config.seeds
        opened.append(RunLanes(folder, *lanes, stack.enter_context(writer), seconds_before[i]))
    return opened


def open_sinks(stack: ExitStack, logs: Sequence[str], folder: RunFolder, step: int) -> list[Log]:
    """A run's logs; the first process alone writes them."""
    if not is_first():
        return []
    return [stack.enter_context(log) for log in open_logs(logs, folder.path, folder.settings(), step)]


def write_chunk(
    run: RunLanes, joint: dict[str, Any], arrays: Saved | None, elapsed: float, sinks: Sequence[Log]
) -> None:
    """A run's line of metrics, then its checkpoint, where it has one."""
    line, settings = run.line(joint, elapsed), run.folder.settings()
    if is_first():
        run.folder.append(line)
    if arrays is not None:
        own = run.own(arrays)
        run.writer.write(line["step"], own)
        if not isinstance(own, Share):  # of several processes, none has the whole agent
            milestones.keep(run.folder.path, line["step"], own, settings)
    for sink in sinks:
        sink(line["step"], scalars(line, settings["world"]))


def go_on_with(*runs: tuple[RunFolder, Config]) -> str:
    """The command that continues them."""
    named = [module_of(name) for _, config in runs for name in (config.world, config.reward)]
    modules = dict.fromkeys(name.removeprefix("ideal-") for name in named if name is not None)
    path = runs[0][0].path if len(runs) == 1 else runs[0][0].path.parent
    return f"ndigo train --resume {quote(str(path))}" + "".join(f" --trust {module}" for module in modules)


def restore(
    folders: Sequence[RunFolder], trainer: Trainer, key: Array, warn: Callable[[str], None]
) -> tuple[TrainState | None, int, list[float]]:
    """The newest good state, its step and the seconds spent on it by each run; no state of new runs."""
    found = newest_of_all(folders, warn) if is_first() else None
    step = of_first(found[0] if found else 0)
    if found is None and step:  # not the first process, which has named what it skips
        found = step, [checkpoint.load(f.checkpoints / f"step_{step}", fingerprint_of(f)) for f in folders]
    if found is None:
        return None, 0, [0.0] * len(folders)
    arrays = {name: np.concatenate([own[name] for own in found[1]]) for name in found[1][0]}
    like = jax.eval_shape(trainer.init, key)
    state = checkpoint.into_tree(trainer.placed.as_it_lies(arrays), like, f"checkpoint step_{step}", trainer.placed.put)
    # The first process alone reads the metrics, which it may be cutting back at this moment.
    return state, step, [last_seconds(folder, step) if is_first() else 0.0 for folder in folders]


def evaluate(
    trainer: Trainer, state: TrainState, config: Config, step: int, listen: Callable[[], None]
) -> dict[str, Any]:
    """Greedy episodes: per seed and object, means over episodes. The key depends on the step alone."""
    key = jax.random.fold_in(jax.random.key(config.seed), step)
    result = trainer.measure(state.learner.learned, key).evaluation
    wait_for(result, listen)
    return means(on_host(result))


def means(record: Any) -> dict[str, Any]:
    """Of each field that is there, by seed, the mean over its second axis."""
    named = {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}
    return {name: np.asarray(x).mean(axis=1).tolist() for name, x in named.items() if x is not None}


def finished_episodes(finished: np.ndarray) -> dict[str, Any]:
    """By seed, what the exploring actors have finished since the run began: episodes, and their means."""
    episodes, steps, returns = np.moveaxis(np.asarray(finished, np.float64).sum(axis=1), -1, 0)
    per_episode = 1 / np.maximum(episodes, 1)
    return {
        "episodes": episodes.tolist(),
        "episode_steps": (steps * per_episode).tolist(),
        "task_return": (returns * per_episode).tolist(),
    }
