"""`ndigo train`: trains an agent in a world, saves everything, and can go on where it stopped."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import sys
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import jax
import tyro
from rich import box
from rich.table import Table

from ndigo.api import Run, create_run, mesh_of, open_run, resume_beside
from ndigo.config import PRESETS, SETTLED, Config, check_minutes
from ndigo.devices.mesh import choose_mesh
from ndigo.devices.processes import is_first, join
from ndigo.errors import NdigoError, unknown_name
from ndigo.frames import Frame
from ndigo.gate import check_processes, check_records, refuse_weights
from ndigo.gate.parts import refuse_unshared
from ndigo.interop.finding import find_world
from ndigo.naming import default_path, default_preset, settled
from ndigo.paper.experiments import EXPERIMENTS
from ndigo.report.numbers import how_many
from ndigo.rewards import make_reward
from ndigo.scale.settings_file import is_run, read_settings
from ndigo.scale.vary import varied
from ndigo.storage.run_folder import RunFolder, runs_in
from ndigo.terminal.console import fitted, plain_console
from ndigo.terminal.options import Switch, Trust
from ndigo.terminal.words import value_in
from ndigo.terminal.working import working
from ndigo.training.cost import sizes_of
from ndigo.training.divergence import DivergedError
from ndigo.training.logs import refuse_closed_logs
from ndigo.training.run import go_on_with
from ndigo.worlds import WORLDS, World


@dataclass(frozen=True)
class Settings(Config):
    """The fields of `Config` as options; the world is named without one."""

    world: tyro.conf.Suppress[str] = ""
    lambda_: Annotated[float, tyro.conf.arg(name="lambda")] = 0.97
    plain: Switch = False


@dataclass(frozen=True)
class Arguments:
    """Train an agent. Ctrl-C finishes the chunk and saves; --resume goes on from there."""

    world: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="[WORLD]")] = None
    """An experiment (exp1), a world (maze), SUITE::ID of others' (gymnasium::CartPole-v1), or MODULE:NAME of yours."""
    preset: str | None = None
    """cpu (two cores, one seed), gpu (10 seeds) or paper; without it cpu, or gpu where JAX finds one."""
    config: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Settings from a TOML file, or from a run by its folder or config.json; other options override them."""
    minutes: float | None = None
    """Stop and save at the end of the chunk in which so many minutes pass; --resume trains what is left."""
    out: Path | None = None
    """The run's folder; runs/WORLD-REWARD-TIME without it."""
    resume: Annotated[Path | None, tyro.conf.arg(metavar="RUN")] = None
    """Continue this run, with the settings it has."""
    log: str = ""
    """Also log to tensorboard, wandb, or both: tensorboard,wandb."""
    dry_run: Switch = False
    """Print the settings and sizes, and train nothing."""
    json: Switch = False
    """With --dry-run: print them as JSON, and nothing else."""
    mesh: Annotated[str | None, tyro.conf.arg(metavar="seeds=N,data=M")] = None
    """Devices to deal the seeds out to, and parts to split each seed into; without it the most devices that each get
    as many seeds."""
    vary: Annotated[tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(metavar="NAME=V,V,...")] = ()
    """Train these values of a rate, epsilon, gamma or lambda side by side, a run each; may be given again."""
    distributed: Switch = False
    """This is one of several processes that train the run; Slurm, Open MPI or Kubernetes says which."""
    coordinator: Annotated[str | None, tyro.conf.arg(metavar="HOST:PORT")] = None
    """The same without a scheduler: where the first process listens, ..."""
    processes: int | None = None
    """... how many processes there are, ..."""
    process: int | None = None
    """... and which of them, from 0, this one is."""
    trust: Trust = ()
    """A module of yours that may be run to find a world or reward that a run, or the file of --config, names; repeat it
    for another."""
    given: tyro.conf.Suppress[frozenset[str]] = frozenset()
    """Not an option: the settings that options or a file say; the others are the preset's."""
    settings: Annotated[Settings, tyro.conf.arg(name="")] = field(default_factory=Settings)
    """Every field of `ndigo.Config`, with the preset's value."""


EVERYDAY = "preset reward minutes learner_steps seeds seed out resume config vary log dry_run json trust"
GROUPS = {
    "everyday": EVERYDAY.split(),
    "the model": [
        "predictor",
        "likelihood",
        "num_ahead",
        "belief_size",
        "num_filters",
        "num_features",
        "predictor_hidden",
    ],
    "the agent and the probe": [
        "curiosity_weight",
        "task_weight",
        "head_hidden",
        "probe_hidden",
        "gamma",
        "lambda_",
        "target_period",
        "policy_mean",
        "probe_stride",
    ],
    "learning": [
        "model_rate",
        "agent_rate",
        "probe_rate",
        "last_rate",
        "last_model_rate",
        "batch",
        "window",
        "precision",
        "plain",
    ],
    "acting and replay": ["actors", "first_epsilon", "last_epsilon", "longest_stretch", "round_steps", "replay_steps"],
    "devices and processes": ["mesh", "distributed", "coordinator", "processes", "process"],
    "rhythm": ["updates_per_round", "rounds_per_chunk", "chunks_per_evaluation", "evaluation_episodes"],
}


def defaults(words: Sequence[str]) -> Arguments:
    """The defaults of the preset and the file that the words name, so that --help shows them.

    To ask JAX what it finds here ends the time in which a process can join others.
    """
    _join_others(words)
    name, file = value_in(words, "--preset"), value_in(words, "--config")
    if name is not None and name not in PRESETS:
        raise unknown_name("preset", name, PRESETS)
    given = _named_in(words)
    if not file:  # an empty one is refused with the other words
        settings = Settings(**dataclasses.asdict(PRESETS[name or default_preset()]))
        return Arguments(given=given, settings=settings)
    if name is not None and is_run(Path(file)):
        raise NdigoError(f"--preset {name}: {file} has every setting; leave out one of the two")
    read = read_settings(Path(file))
    name = name or read.preset
    try:
        settings = Settings(**dataclasses.asdict(PRESETS[name or default_preset()]) | read.settings)
    except NdigoError as error:
        raise NdigoError(f"{file}: {error}") from None
    return Arguments(read.settings.get("world"), name, given=given | {*read.settings}, settings=settings)


def _named_in(words: Sequence[str]) -> frozenset[str]:
    """The settings that options name, also where they name the preset's own value."""
    options = {word.split("=")[0].strip("-").replace("-", "_") for word in words if word.startswith("--")}
    return frozenset(field.name for field in dataclasses.fields(Config) if field.name.strip("_") in options)


def _join_others(words: Sequence[str]) -> None:
    coordinator, *numbers = (value_in(words, option) for option in ("--coordinator", "--processes", "--process"))
    is_named = coordinator is not None or numbers != [None, None]
    if (not is_named and "--distributed" not in words) or {"-h", "--help", "--help-all"} & {*words}:
        return
    if is_named and "--distributed" in words:
        raise NdigoError("--distributed asks the scheduler, --coordinator tells: leave out one of the two")
    for option, number in zip(("--processes", "--process"), numbers, strict=True):
        if number is not None and not number.isdecimal():
            raise NdigoError(f"{option} {number}: must be a whole number")
    if value_in(words, "--out") is None and value_in(words, "--resume") is None:
        raise NdigoError("several processes train one run in one folder: name it with --out, or --resume")
    join(coordinator, *(None if number is None else int(number) for number in numbers))


def run(args: Arguments) -> int:
    check_minutes(args.minutes)
    if args.json and not args.dry_run:
        raise NdigoError("--json belongs to --dry-run; a run's numbers are in its metrics.jsonl")
    logs = [name for name in args.log.split(",") if name]
    refuse_closed_logs(logs)
    if args.resume is not None:
        _refuse_changes(args)
        paths = runs_in(args.resume)
        begun, told = [open_run(path, trust=args.trust) for path in paths], []
        how = f"continued in {args.resume}"
    else:
        if args.world is None:
            raise NdigoError("name a world to train in (ndigo train exp1), or a run to continue (--resume RUN)")
        if args.world not in {*EXPERIMENTS, *WORLDS} and os.path.exists(Path(args.world) / "config.json"):
            raise NdigoError(f"{args.world} is a run, not a world; continue it with --resume {quote(args.world)}")
        _load_what_the_file_names(args)
        settings: dict[str, Any] = dataclasses.asdict(args.settings) | {"world": args.world}
        config = Config(**settings)
        if args.dry_run:
            _show_plan(config, args)
            return 0
        with working("trying the world and the reward"):
            begun, told = _begin(config, args)
        how = f"{_basis(args)}, in {begun[0].path if len(begun) == 1 else begun[0].path.parent}"
    told += [] if sys.stdout.isatty() else ["compiling first, up to a minute"]  # a terminal has a bar

    def announce() -> None:
        if is_first():
            opening = _opening([run.config for run in begun], begun[0].world, how, args.mesh)
            print(fitted("\n".join([opening, *told])), flush=True)

    began = time.monotonic()
    sitting: dict[str, Any] = {"minutes": args.minutes, "logs": logs, "mesh": args.mesh, "announce": announce}
    sitting |= {"world": begun[0].world, "reward": begun[0].reward}
    runs = resume_beside([run.path for run in begun], **sitting)
    return _closing(runs, args.minutes, (time.monotonic() - began) / 60)


def _begin(config: Config, args: Arguments) -> tuple[list[Run], list[str]]:
    """The run, or one for each setting that is varied, on disk; and what is not as the settings have it."""
    told: dict[str, None] = {}  # each once
    about: dict[str, Any] = {"preset": args.preset or default_preset(), "say": told.setdefault}
    if not args.vary:
        choose_mesh(args.mesh, config)
        return [create_run(**_given(config, args), **about, out=args.out, mesh=args.mesh)], [*told]
    beside = varied(args.vary, config)
    choose_mesh(args.mesh, config, len(beside) * config.seeds)
    out = _free_folder(args, config, beside)
    about["is_beside"] = True
    return [create_run(**_given(own, args), **about, out=out / name) for name, own in beside.items()], [*told]


def _free_folder(args: Arguments, config: Config, beside: Collection[str]) -> Path:
    """Where the run, or the named runs beside each other, will lie; an error where a run lies already."""
    out = args.out or default_path(config)
    for path in (out, *(out / name for name in beside)):
        RunFolder.refuse_taken(path)
    return out


def _given(config: Config, args: Arguments) -> dict[str, Any]:
    """Every setting, but for those of the preset that the world may change."""
    settings = dataclasses.asdict(config).items()
    return {name: value for name, value in settings if name in args.given or name not in SETTLED}


def _show_plan(config: Config, args: Arguments) -> None:
    with working("counting"):
        records = find_world(config.world), make_reward(config.reward)
        config, told = settled(config, *records, given=args.given)
        refuse_weights(config, records[1])
        check_records(config, *records)
        check_processes(records[0])
        beside = varied(args.vary, config) if args.vary else {"": config}
        refuse_unshared(mesh_of(config, records[0], args.mesh, len(beside)), config, *records)
        _free_folder(args, config, beside)
        sizes = sizes_of(config, *records)
    opening = _opening([*beside.values()], records[0], _basis(args), args.mesh)
    if args.json:
        plan = {"settings": dataclasses.asdict(config), "notes": told, "sizes": sizes}
        vary = {"vary": {name: dataclasses.asdict(own) for name, own in beside.items()}} if args.vary else {}
        print(json.dumps(plan | vary, indent=1))
        return
    print(fitted("\n".join([opening, *told])))
    plain_console().print(_table([*beside.values()], records[0].frame, sizes))


def _load_what_the_file_names(args: Arguments) -> None:
    """A name in a file runs no module that is not trusted; on the command line it is the user's own word."""
    named = {} if args.config is None else read_settings(args.config).settings
    if args.world is not None and args.world == named.get("world"):
        find_world(args.world, trust=args.trust)
    if args.settings.reward == named.get("reward"):
        make_reward(args.settings.reward, trust=args.trust)


def _basis(args: Arguments) -> str:
    """Where the settings come from that no option gives."""
    if args.config is not None and is_run(args.config):
        return f"settings of {args.config}"
    found = "" if args.preset else f" (JAX found {'no' if default_preset() == 'cpu' else 'a'} GPU)"
    preset = f"preset {args.preset or default_preset()}{found}"
    return preset if args.config is None else f"settings of {args.config} over {preset}"


def _opening(beside: Sequence[Config], world: World, how: str, mesh: str | None) -> str:
    config = beside[0]
    seeds = how_many(config.seeds, "seed")
    if len(beside) > 1:
        seeds = f"{len(beside)} settings of {seeds}"
    chosen, there = mesh_of(config, world, mesh, len(beside)), jax.device_count()
    used = 1 if chosen is None else chosen.size
    where = "" if there == 1 else f" on {used} of {there} devices"
    if mesh is None and world.host is None and used < min(there, len(beside) * config.seeds):
        where += f" (a multiple of {there} would use all)"
    return f"{config.reward} in {config.world}: {seeds}{where}, {config.last_step:,} learner steps, {how}"


def _closing(runs: Sequence[Run], minutes: float | None, taken: float) -> int:
    """Says how the runs ended, after so many minutes; the exit code."""
    ended = {run.path: run.outcome for run in runs if run.outcome is not None}
    diverged = {path: outcome.problem for path, outcome in ended.items() if outcome.why == "diverged"}
    # Where some are stopped and others finished, the stop is told: there is more to train.
    outcome = max(
        (own for path, own in ended.items() if path not in diverged), key=lambda own: own.is_stop, default=None
    )
    if outcome is None:
        raise DivergedError("; ".join(f"{path}: {problem}" for path, problem in diverged.items()))
    path = runs[0].path if len(runs) == 1 else runs[0].path.parent
    again = go_on_with(*((RunFolder(run.path), run.config) for run in runs))
    why = outcome.why
    if why == "time" and minutes is not None:
        chunk = f"a chunk of {runs[0].config.updates_per_chunk:,} steps"
        why = f"after {minutes_in_words(taken)}: {chunk} that is begun is finished"
    line = f"stopped at step {outcome.step:,} ({why}) and saved; continue with {again}"
    if outcome.why == "finished":
        line = f"finished at step {outcome.step:,}; see ndigo report {quote(str(path))}"
    if is_first():
        print(fitted(line))
        for path, problem in diverged.items():
            print(f"ndigo: {path}: {problem}", file=sys.stderr)
    if diverged and not outcome.is_stop:
        return DivergedError.exit_code
    return 0 if outcome.why in ("finished", "time") else 128 + signal.Signals[outcome.why]


def minutes_in_words(minutes: float) -> str:
    """`1 minute`, `2.5 minutes`."""
    number = f"{float(f'{minutes:.3g}'):g}"  # 1440, where .3g alone writes 1.44e+03
    return f"{number} minute{'' if number == '1' else 's'}"


def _refuse_changes(args: Arguments) -> None:
    """A resumed run has its settings; a flag that asks for others would be ignored in silence."""
    changed = [name for name in ("config", "world", "preset", "out", "vary") if getattr(args, name) not in (None, ())]
    changed += sorted(args.given)
    if changed or args.dry_run:
        name = (changed[0] if changed else "dry_run").strip("_").replace("_", "-")
        given = "another WORLD" if name == "world" else f"--{name}"
        raise NdigoError(f"--resume continues a run as it is: {given} cannot be given with it")


def _table(beside: Sequence[Config], frame: Frame, sizes: dict[str, int]) -> Table:
    """Every setting, with each value that is varied, then what they come to for each run."""
    table = Table("setting", "value", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in dataclasses.asdict(beside[0]):
        values = list(dict.fromkeys(getattr(config, name) for config in beside))
        table.add_row(name, ", ".join(map(str if len(values) > 1 else _in_words, values)))
    table.add_section()
    table.add_row("frame", _frame_in_words(frame))
    for name, size in sizes.items():
        table.add_row(name, f"{size / 1e6:,.1f} MB" if name in ("replay", "checkpoint") else f"{size:,}")
    return table


def _in_words(value: Any) -> str:
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return f"{value:,}" if is_count else f"{value:.4g}" if isinstance(value, float) else f"{value}"


def _frame_in_words(frame: Frame) -> str:
    """`vector [9], 32 bins`: what is predicted of the world."""
    if (parts := getattr(frame, "parts", None)) is not None:
        return ", ".join(f"{name} {_frame_in_words(part)}" for name, part in parts)
    bins, listed = getattr(frame, "bins", None), getattr(frame, "listed", None)
    more = f", {bins} bins" if bins else f", {len(listed)} listed" if listed else ""
    return f"{type(frame).__name__.lower()} {list(frame.spec.shape)}{more}"
