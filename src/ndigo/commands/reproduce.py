"""`ndigo reproduce`: remakes rows of the paper's tables, says first what they cost and then how they compare."""

from __future__ import annotations

import dataclasses
import json
import shutil
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import jax
import tyro
from rich import box
from rich.table import Table

from ndigo.api import Run, as_reward, create_run, open_run, resume
from ndigo.config import Config, check_minutes, preset
from ndigo.errors import NdigoError
from ndigo.paper import plan
from ndigo.paper.experiments import Row, find_experiment
from ndigo.paper.finish import finish
from ndigo.paper.measured import compared, measured
from ndigo.paper.plan import all_rows, departures, find_row, find_rows, listed, recipe, row_folders, ships_agent
from ndigo.paper.rows import RowFolder, load_row, ship_row
from ndigo.paper.tables import compared_with_paper
from ndigo.report.tables import line_of
from ndigo.storage.lock import one_writer
from ndigo.storage.run_folder import RunFolder
from ndigo.terminal.console import fitted, plain_console
from ndigo.training.cost import disk_bytes, known_pace, time_round


@dataclass(frozen=True)
class Arguments:
    """Remake a row of the paper's tables (exp1 --reward ndigo-4), an experiment's missing ones, or --all missing."""

    experiment: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="[EXPERIMENT]")] = None
    """exp1 to exp5."""
    reward: str | None = None
    """Which agent; without it every row of the experiment that is missing."""
    all: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Every missing row, in the plan's order."""
    list: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Show the plan and what is done, and run nothing."""
    dry_run: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """Print the cost, and run nothing."""
    minutes: float | None = None
    """Pause after this long; the same command goes on from there, bit for bit."""
    preset: str | None = None
    """For a trial: another preset than the recipe's. A trial never counts as a row."""
    seeds: int | None = None
    """For a trial: another number of seeds."""
    learner_steps: int | None = None
    """For a trial: another length."""
    rows: Path = Path("results/rows")
    """Where finished rows lie, and where a missing one is put."""
    runs: Path = Path("runs")
    """Where runs lie: in rows/EXPERIMENT-REWARD, trials in trials/."""
    json: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """With --list: print it as JSON, and nothing else."""


@dataclass(frozen=True)
class Job:
    """One run to make."""

    row: Row
    config: Config
    path: Path

    @property
    def is_trial(self) -> bool:
        return bool(departures(self.row, dataclasses.asdict(self.config)))


def run(args: Arguments) -> int:
    check_minutes(args.minutes)
    if args.reward is not None and args.experiment is None:
        raise NdigoError(
            f"--reward {args.reward}: name its experiment too, as in ndigo reproduce exp1 --reward ndigo-4"
        )
    if args.all and args.experiment is not None:
        raise NdigoError(f"--all walks every experiment; leave out {args.experiment}, or --all")
    shipped = find_rows(args.rows)
    if args.json and not args.list:
        raise NdigoError("--json belongs to --list; a row's numbers are in its result.json")
    if args.list:
        states = _states(args, shipped)
        if args.json:
            print(json.dumps({"rows": str(args.rows), "states": states}, indent=1))
        else:
            _list(args, states)
        return 0
    jobs = _jobs(args, shipped)
    if not jobs:
        print("nothing is missing; name a row with --reward to remake it")
    deadline = None if args.minutes is None else time.monotonic() + 60 * args.minutes
    for number, job in enumerate(jobs, 1):
        print(
            f"[{number}/{len(jobs)}] " if len(jobs) > 1 else "",
            fitted(_cost(job, shipped, args.minutes is None)),
            sep="",
            flush=True,
        )
        if args.dry_run:
            continue
        minutes = None if deadline is None else max((deadline - time.monotonic()) / 60, 0.0)
        if minutes == 0 and number > 1:
            print("the minutes are over; the same command goes on from here")
            return 0
        made = resume(_begun(job).path, minutes=minutes)
        assert made.outcome is not None
        if made.outcome.why != "finished":
            line = f"paused at step {made.outcome.step:,}, saved in {made.path}; the same command goes on from there"
            print(fitted(line))
            return 0 if made.outcome.why == "time" else 128 + signal.Signals[made.outcome.why]
        _close(job, made, args.rows, shipped)
    return 0


def _jobs(args: Arguments, shipped: dict[Row, RowFolder]) -> Sequence[Job]:
    if args.reward is not None and args.experiment is not None:
        rows = [find_row(args.experiment, args.reward)]
    else:
        if args.experiment is None and not args.all:
            raise NdigoError("name an experiment (ndigo reproduce exp1 --reward ndigo-4), or use --all or --list")
        named = None if args.experiment is None else find_experiment(args.experiment).name
        asked = [row for row in all_rows() if named in (None, row.experiment)]
        rows = [row for row in asked if row not in shipped]
    return [_job(args, row) for row in rows]


def _job(args: Arguments, row: Row) -> Job:
    changes = {name: getattr(args, name) for name in ("seeds", "learner_steps") if getattr(args, name) is not None}
    base = recipe(row) if args.preset is None else preset(args.preset, world=row.experiment, reward=row.reward)
    config = dataclasses.replace(base, **changes)
    if not departures(row, dataclasses.asdict(config)):
        return Job(row, config, args.runs / "rows" / row.name)
    marks = [args.preset or plan.RECIPE, *(f"{name.replace('_', '-')}-{value}" for name, value in changes.items())]
    return Job(row, config, args.runs / "trials" / "-".join([row.name, *marks]))


def _begun(job: Job) -> Run:
    """The job's run: the one that is there, if it has these settings, else a new one."""
    if not (job.path / "config.json").exists():
        return create_run(**dataclasses.asdict(job.config), preset=plan.RECIPE, out=job.path)
    there = open_run(job.path)
    for name, value in dataclasses.asdict(job.config).items():
        if (found := getattr(there.config, name)) != value:
            raise NdigoError(
                f"{job.path} was begun with {name} {found}, now it is {value}: move that folder away first"
            )
    return there


def _cost(job: Job, shipped: dict[Row, RowFolder], may_time: bool) -> str:
    """What the job takes, in words, before it begins."""
    config, world = job.config, find_experiment(job.row.experiment).world
    rounds = -(-config.learner_steps // config.updates_per_round)
    begun = RunFolder(job.path).metrics() if job.path.exists() else []
    done = begun[-1]["step"] if begun else 0
    estimate = "nothing is left to train"
    if done < config.learner_steps:
        pace, source = _pace(job, shipped, may_time)
        long = _duration((config.learner_steps - done) * pace) if pace else "unknown time"
        estimate = f"{long} on {jax.devices()[0].device_kind} ({source})"
    disk = disk_bytes(config, world, as_reward(config.reward))
    where = next(path for path in (job.path, *job.path.absolute().parents) if path.exists())
    free = shutil.disk_usage(where).free
    text = [
        f"{job.row.name}: {config.seeds} seeds, {config.learner_steps:,} learner steps, "
        f"{rounds * config.actors * world.num_steps:,} world steps per seed, then {plan.EPISODES} greedy "
        "episodes per seed",
        f"  in {job.path}" + (f", from step {done:,} on" if done else ""),
        f"  {estimate}",
        f"  up to {disk / 1e9:,.2f} GB of disk while it runs ({free / 1e9:,.0f} GB free)",
    ]
    if job.is_trial:
        text.append("  a trial, not the recipe: it never counts as a row")
    elif jax.default_backend() == "cpu":
        text.append("  JAX finds no GPU here, and the recipe is made for one; --preset cpu tries the command")
    return "\n".join(text)


def _duration(seconds: float) -> str:
    return f"about {seconds / 60:,.1f} min" if seconds < 7200 else f"about {seconds / 3600:,.0f} hours"


def _pace(job: Job, shipped: dict[Row, RowFolder], may_time: bool) -> tuple[float | None, str]:
    """Seconds per learner step, and where that is from: this run, rows made on this device, or a timing now."""
    results = {} if job.is_trial else {row: folder.result for row, folder in shipped.items()}
    made = {
        "as its experiment's shipped rows took": [r for x, r in results.items() if x.experiment == job.row.experiment],
        "as the shipped rows took": list(results.values()),
    }
    if (known := known_pace(RunFolder(job.path), made)) is not None:
        return known
    if not may_time:
        return None, "no row was made on such a device; a timing would take of the minutes given"
    with plain_console(stderr=True).status("timing a round"):
        seconds = time_round(job.config, find_experiment(job.row.experiment).world, as_reward(job.config.reward))
    return seconds / job.config.updates_per_round, "from a short timing here, without compilation and evaluations"


def _close(job: Job, made: Run, rows: Path, shipped: dict[Row, RowFolder]) -> None:
    """The final evaluation, kept beside the run; a missing row goes to its place, another is compared."""
    experiment = find_experiment(job.row.experiment)
    with one_writer(made.path):
        if not (made.path / "row").exists():
            finish(
                made.path / "row",
                RunFolder(made.path),
                made.trained(),
                experiment.discovers,
                episodes=plan.EPISODES,
                keeps_agent=ships_agent(job.row),
            )
    folder = load_row(made.path / "row")
    basis = f"mean and 95% bootstrap interval over {made.config.seeds} seeds of {plan.EPISODES} episodes"
    print(f"{job.row.name}, {basis}\n")
    line = line_of(job.row.reward, folder.settings, folder.result["evaluation"])
    plain_console().print(compared_with_paper([line], experiment, references=False))
    if job.is_trial:
        print(f"a trial, not the recipe: it stays in {folder.path} and counts as no row")
        return
    there = rows / job.row.name
    if job.row in shipped:
        print(compared(measured(job.row, folder), measured(job.row, shipped[job.row])))
        print(f"yours: {folder.path}; the shipped one is left as it is")
    else:
        ship_row(folder.path, there)
        print(f"kept as {there}; there was none to compare with")


def _states(args: Arguments, shipped: dict[Row, RowFolder]) -> list[dict[str, Any]]:
    """Every row of the plan: its state, its minutes so far, and the device that made it."""
    there, states = row_folders(args.rows), []
    for row in all_rows():
        job = _job(dataclasses.replace(args, preset=None, seeds=None, learner_steps=None), row)
        minutes, device, departs = None, "", ""
        if row in shipped:
            result = shipped[row].result
            state = "done"
            minutes, device = result["seconds"] / 60, result["device"]
        elif lines := _lines_so_far(job):
            state, minutes = f"begun: step {lines[-1]['step']:,}", lines[-1]["seconds"] / 60
        elif row in there:
            others = departures(row, there[row].settings["config"])
            departs = listed(others)
            state = f"not the recipe: {departs if len(others) < 3 else f'{len(others)} settings differ'}"
        else:
            state = "missing"
        states.append({"row": row.name, "state": state, "minutes": minutes, "device": device, "departures": departs})
    return states


def _list(args: Arguments, states: Sequence[dict[str, Any]]) -> None:
    num_done = sum(state["state"] == "done" for state in states)
    config = recipe(all_rows()[0])
    if args.rows.is_dir():
        size = sum(path.stat().st_size for path in args.rows.rglob("*") if path.is_file())
        print(f"{num_done} of {len(states)} rows done, {size / 1e6:.1f} MB in {args.rows}")
    else:
        line = f"no row is done: there is no folder {args.rows} here (a checkout has one; --rows names another)"
        print(fitted(line))
    print(f"the recipe: preset {plan.RECIPE}, {config.seeds} seeds, {config.learner_steps:,} learner steps")
    table = Table("row", "state", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("minutes", justify="right")
    table.add_column("device")
    for state in states:
        minutes = "" if state["minutes"] is None else f"{state['minutes']:.1f}"
        table.add_row(state["row"], state["state"], minutes, state["device"])
    plain_console().print(table)


def _lines_so_far(job: Job) -> list[dict[str, Any]]:
    """Of the recipe's run, if one was begun."""
    folder = RunFolder(job.path)
    is_recipe = job.path.exists() and not departures(job.row, folder.settings()["config"])
    return folder.metrics() if is_recipe else []
