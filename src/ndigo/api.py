"""From Python: `train` an agent, `resume` or `open_run` a run, `load` an agent to act with.

Runs and agents on disk may be anybody's. A world or reward that one names as MODULE:NAME is loaded only if you trust
that module (`trust=["my_module"]`) or hand over the record yourself (`world=`, `reward=`).
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
from jax.sharding import Mesh
from rich.console import Console

from ndigo.agents.agent import Agent
from ndigo.config import Config, check_minutes, refuse_unlike, unknown_setting
from ndigo.config import preset as config_of_preset
from ndigo.devices.mesh import choose_mesh
from ndigo.devices.processes import wait_for_all
from ndigo.errors import NdigoError
from ndigo.evaluation.measure import Evaluation
from ndigo.fast.compile_cache import keep_compiled_programs
from ndigo.gate import check_processes, check_records, refuse_weights
from ndigo.gate.parts import refuse_unshared
from ndigo.naming import (
    as_records,
    config_of,
    default_path,
    default_preset,
    name_of,
    records_of,
    refuse_other_types,
    settled,
    told_of_records,
)
from ndigo.notebook.cards import card, latest, run_line
from ndigo.notebook.rows import dataframe, metric_rows
from ndigo.rewards import IntrinsicReward
from ndigo.storage.agents import load_agent
from ndigo.storage.newest import at_one_step, metrics_of
from ndigo.storage.run_folder import RunFolder, agents_in, named_path
from ndigo.training.divergence import DivergedError, OnDiverged, Outcome
from ndigo.training.logs import refuse_closed_logs
from ndigo.training.run import continue_runs, new_run
from ndigo.training.signals import nothing
from ndigo.training.trained import Trained, from_file, from_run
from ndigo.worlds import World

if TYPE_CHECKING:
    from ndigo.notebook.plot import Plot


@dataclass(frozen=True, repr=False)
class Run:
    """A run on disk; a notebook shows it as a small table."""

    path: Path
    config: Config
    world: World
    reward: IntrinsicReward
    outcome: Outcome | None = None  #: how this sitting ended; None where nothing was trained

    @property
    def _folder(self) -> RunFolder:
        return RunFolder(self.path)

    def metrics(self) -> list[dict[str, Any]]:
        """The lines of metrics.jsonl: `learning` per seed, and every few lines an `evaluation`."""
        return metrics_of(self._folder)

    def trained(self) -> Trained:
        """The networks of all seeds, from the newest good checkpoint."""
        return from_run(self._folder, self.config, self.world, self.reward)

    def agent(self, seed: int = 0) -> Agent:
        """One seed's agent."""
        return self.trained().agent(seed)

    def evaluate(self, episodes: int = 100, seed: int = 0) -> Evaluation:
        """What greedy episodes show (`Evaluation`): each field leads with [S, episodes]."""
        return self.trained().evaluate(episodes, seed)

    def rows(self) -> list[dict[str, Any]]:
        """The metrics as flat rows, one per line and seed: `step`, `seed`, `reward`, `visits fixed`, ..."""
        return metric_rows(self.metrics(), self._folder.settings()["world"])

    def dataframe(self) -> Any:
        """The same as a `pandas.DataFrame`."""
        return dataframe(self.rows())

    def plot(self) -> Plot:
        """Learning curves: discovery loss, visits, and the reward by channel."""
        # Here: to load matplotlib takes as long as a small command, and most draw nothing.
        from ndigo.notebook.plot import Plot
        from ndigo.report.curves import curves_figure
        from ndigo.report.pool import Pool

        if not self.metrics():
            raise NdigoError(f"{self.path} has no metrics to plot yet")
        return Plot(curves_figure([Pool((self._folder,))], self.world.grid))

    def __repr__(self) -> str:
        return run_line(self.path, self.config, self._step)

    def _repr_html_(self) -> str:
        lines, world = self.metrics(), self._folder.settings()["world"]
        seconds = {"trained for": f"{lines[-1]['seconds'] / 60:.1f} minutes"} if lines else {}
        config, step = self.config, f"{self._step:,} of {self.config.learner_steps:,}"
        about = {"world": config.world, "reward": config.reward, "seeds": str(config.seeds), "learner steps": step}
        return card(str(self.path), about | seconds | latest(lines, world))

    @property
    def _step(self) -> int:
        lines = self.metrics()
        return lines[-1]["step"] if lines else 0

    def export_agent(self, path: str | Path, seed: int = 0) -> Path:
        """Writes one seed's agent to a single small file that `load` reads."""
        return self.trained().export(path, seed)


def train(
    world: str | World,
    reward: str | IntrinsicReward | None = None,
    *,
    preset: str | None = None,
    minutes: float | None = None,
    out: str | Path | None = None,
    logs: Sequence[str] = (),
    mesh: str | None = None,
    quiet: bool = False,
    **changes: Any,
) -> Run:
    """Trains an agent and returns its run; `changes` are fields of `Config`, such as `learner_steps`.

    A world or reward is a name, MODULE:NAME, or a record of your own; a run made from records is opened
    again by handing over the same records. Without a `preset` it is `gpu` where JAX finds one, else `cpu`; without a
    reward it is the preset's.
    Ctrl-C finishes the chunk and saves: look at `run.outcome`, continue with `resume(run.path)`.
    Seeds are dealt out to all devices; `mesh="seeds=4,data=2"` says how (docs/scale.md).
    """
    _refuse_unknown(changes)
    check_minutes(minutes)
    say = (lambda text: None) if quiet else partial(print, flush=True)
    run = create_run(world, reward, preset=preset, out=out, logs=logs, mesh=mesh, say=say, **changes)
    length = f"{run.config.learner_steps:,} learner steps" if minutes is None else f"{minutes:g} min"
    say(f"{run.config.reward} in {run.config.world} for {length}, in {run.path}; compiling first, up to a minute")
    return resume(run.path, world=run.world, reward=run.reward, minutes=minutes, logs=logs, mesh=mesh, quiet=quiet)


def create_run(
    world: str | World,
    reward: str | IntrinsicReward | None = None,
    *,
    preset: str | None = None,
    out: str | Path | None = None,
    logs: Sequence[str] = (),
    mesh: str | None = None,
    is_beside: bool = False,
    say: Callable[[str], None] = lambda text: None,
    **changes: Any,
) -> Run:
    """A run on disk that has not begun; what cannot be trained is an error here, and leaves no folder.

    `is_beside`: it will train beside others, and the mesh is theirs together (`resume_beside`). `say` gets a line for
    each setting that this world or reward changes.
    """
    refuse_closed_logs(logs)
    refuse_other_types(world, reward)
    if reward is not None:
        changes = {"reward": name_of(reward)} | changes
    config = config_of_preset(preset or default_preset(), world=name_of(world), **changes)
    records = as_records(world, reward or config.reward)
    config, told = settled(config, *records, given=changes)
    run = Run(default_path(config) if out is None else named_path(out), config, *records)
    refuse_weights(run.config, run.reward)
    check_records(run.config, run.world, run.reward)
    check_processes(run.world)
    chosen = None if is_beside else mesh_of(run.config, run.world, mesh)
    refuse_unshared(chosen, run.config, run.world, run.reward)
    new_run(run.path, run.config, run.world, run.reward, chosen)
    for line in (*told, *told_of_records(run.config)):
        say(line)
    return run


def _refuse_unknown(changes: Collection[str]) -> None:
    """An error for what is neither a setting nor an argument of `train`, with the nearest of both."""
    fields = {field.name for field in dataclasses.fields(Config)}
    for name in changes:
        if name not in fields:
            known = fields | {*inspect.signature(train).parameters} - {"changes"}
            raise unknown_setting(name, known)


def mesh_of(config: Config, world: World, text: str | None, num_runs: int = 1) -> Mesh | None:
    """The mesh that `text` (`--mesh`) asks for, for `num_runs` side by side; None is one device, as the host needs."""
    if world.host is None:
        return choose_mesh(text, config, num_runs * config.seeds)
    if text is not None:
        raise NdigoError(f"--mesh {text}: world {world.name} is stepped by the host, and trains on one device")
    return None


def resume(
    path: str | Path,
    *,
    world: World | None = None,
    reward: IntrinsicReward | None = None,
    trust: Collection[str] = (),
    minutes: float | None = None,
    logs: Sequence[str] = (),
    mesh: str | None = None,
    quiet: bool = False,
) -> Run:
    """Continues a run from its newest good checkpoint, as if it had never stopped; on any mesh."""
    records: dict[str, Any] = {"world": world, "reward": reward, "trust": trust}
    return resume_beside([path], **records, minutes=minutes, logs=logs, mesh=mesh, quiet=quiet)[0]


def resume_beside(
    paths: Sequence[str | Path],
    *,
    world: World | None = None,
    reward: IntrinsicReward | None = None,
    trust: Collection[str] = (),
    minutes: float | None = None,
    logs: Sequence[str] = (),
    mesh: str | None = None,
    quiet: bool = False,
    on_diverged: OnDiverged = lambda path, error: None,
    announce: Callable[[], None] = nothing,
) -> list[Run]:
    """Continues runs side by side in one program; they differ in rates, epsilons, gamma or lambda, and in nothing else.

    Each stays a run of its own: another sitting may continue one of them alone. Of several, one that diverges ends, its
    outcome says so, and the others go on. Those that have no step in common, that the GPU's memory does not hold
    together, or whose world the host steps, train in several programs, one after the other. `announce` is called once,
    before the first of them is compiled; what is refused before that leaves it uncalled.
    """
    check_minutes(minutes)
    keep_compiled_programs()
    runs = [open_run(path, world=world, reward=reward, trust=trust) for path in paths]
    refuse_unlike([run.config for run in runs], [str(run.path) for run in runs])
    console = Console(quiet=quiet, markup=False, emoji=False)
    sitting: dict[str, Any] = {"minutes": minutes, "logs": logs, "console": console, "on_diverged": on_diverged}
    sitting["announce"] = cache(announce)  # once
    by_path, outcomes = {run.path: run for run in runs}, dict[Path, Outcome]()
    # The largest group first: a run that is left behind, as one that has diverged is, keeps no others waiting.
    groups = sorted(at_one_step(list(by_path)), key=len, reverse=True)
    if runs[0].world.host is not None:
        groups = [[path] for path in by_path]
    waiting = [[by_path[path] for path in group] for group in groups]
    wait_for_all("look at the checkpoints")  # before the first process drops any
    while waiting:
        group = waiting.pop(0)
        together = _continue_together(group, mesh, sitting, is_alone=len(runs) == 1)
        if not together:
            half = len(group) // 2
            waiting = [group[:half], group[half:], *waiting]
        outcomes |= {run.path: outcome for run, outcome in zip(group, together, strict=False)}
        if stop := next((outcome for outcome in together if outcome.is_stop), None):
            outcomes |= {run.path: Outcome(run._step, stop.why) for rest in waiting for run in rest}
            break
    return [dataclasses.replace(run, outcome=outcomes[run.path]) for run in runs]


def _continue_together(
    group: Sequence[Run], mesh: str | None, sitting: dict[str, Any], is_alone: bool
) -> list[Outcome]:
    """How each of them ended; nothing where the GPU's memory does not hold several together."""
    first, runs = group[0], [(RunFolder(run.path), run.config) for run in group]
    chosen = mesh_of(first.config, first.world, mesh, len(group))
    refuse_unshared(chosen, first.config, first.world, first.reward)
    try:
        return continue_runs(runs, first.world, first.reward, mesh=chosen, **sitting)
    except DivergedError as error:
        if is_alone:
            raise
        sitting["on_diverged"](first.path, error)
        return [Outcome(first._step, "diverged", str(error))]
    except jax.errors.JaxRuntimeError as error:
        if len(group) == 1 or jax.process_count() > 1 or "RESOURCE_EXHAUSTED" not in str(error):
            raise
    return []


def open_run(
    path: str | Path,
    *,
    world: World | None = None,
    reward: IntrinsicReward | None = None,
    trust: Collection[str] = (),
) -> Run:
    """A run on disk, as it stands."""
    path = named_path(path)
    config = config_of(RunFolder.open(path).settings(), path)
    return Run(path, config, *records_of(config, world, reward, trust))


def load(
    path: str | Path,
    *,
    seed: int = 0,
    world: World | None = None,
    reward: IntrinsicReward | None = None,
    trust: Collection[str] = (),
) -> Agent:
    """The agent of a run folder (of its seed `seed`) or of a single agent file."""
    return load_trained(path, world=world, reward=reward, trust=trust).agent(seed)


def load_trained(
    path: str | Path,
    *,
    world: World | None = None,
    reward: IntrinsicReward | None = None,
    trust: Collection[str] = (),
) -> Trained:
    """The networks of all seeds of a run folder, or of the one seed of an agent file."""
    keep_compiled_programs()
    path = named_path(path)
    if path.is_dir() and not (path / "config.json").exists() and (inside := agents_in(path)):
        names = ", ".join(found.name for found in inside)
        raise NdigoError(f"{path} is a folder of {len(inside)} runs or agents; name one, as {inside[0]}: {names}")
    if path.is_dir():
        return open_run(path, world=world, reward=reward, trust=trust).trained()
    config = config_of(load_agent(path)[0], path)
    return from_file(path, config, *records_of(config, world, reward, trust))
