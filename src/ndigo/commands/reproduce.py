"""`ndigo reproduce`: remakes rows of the paper's tables, says first what they cost and then how they compare."""

from __future__ import annotations

import dataclasses
import json
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich import box
from rich.table import Table

from ndigo.api import Run, create_run, resume
from ndigo.commands.evaluate import basis
from ndigo.config import check_minutes
from ndigo.errors import NdigoError
from ndigo.paper import plan
from ndigo.paper.experiments import EXPERIMENTS, Row
from ndigo.paper.measured import compared, measured
from ndigo.paper.plan import Job, all_rows, find_row, find_rows, job_of, recipe
from ndigo.paper.reproduce import cost, finish, pace_of, steps_done
from ndigo.paper.rows import RowFolder, load_row, ship_row
from ndigo.paper.tables import compared_with_paper
from ndigo.report.numbers import duration
from ndigo.report.tables import line_of
from ndigo.rewards import make_reward
from ndigo.scale.sweep import refuse_other_settings
from ndigo.storage.lock import one_writer
from ndigo.storage.run_folder import RunFolder
from ndigo.terminal.console import fitted, plain_console
from ndigo.terminal.options import Switch
from ndigo.training.cost import time_round

TIMED = "from a short timing here, without compilation and evaluations"
A_MOMENT = 1e-6  # minutes, where none are left: enough for the first chunk of the first row, and for no other row


@dataclass(frozen=True)
class Arguments:
    """Remake a row of the paper's tables (exp1 --reward ndigo-4), an experiment's missing ones, or --all missing."""

    experiment: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="[EXPERIMENT]")] = None
    """exp1 to exp5."""
    reward: str | None = None
    """Which agent; without it every row of the experiment that is missing."""
    all: Switch = False
    """Every missing row, in the plan's order."""
    list: Switch = False
    """Show the rows and what is done, and run nothing."""
    dry_run: Switch = False
    """Print the cost, and run nothing."""
    minutes: float | None = None
    """Pause at the end of the chunk in which so many pass; the same command goes on from there, bit for bit."""
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
    json: Switch = False
    """With --list: print it as JSON, and nothing else."""


def run(args: Arguments) -> int:
    check_minutes(args.minutes)
    if args.reward is not None and args.experiment is None:
        raise NdigoError(
            f"--reward {args.reward}: name its experiment too, as in ndigo reproduce exp1 --reward ndigo-4"
        )
    if args.all and args.experiment is not None:
        raise NdigoError(f"--all walks every experiment; leave out {args.experiment}, or --all")
    if args.json and not args.list:
        raise NdigoError("--json belongs to --list; a row's numbers are in its result.json")
    if args.list:
        states = plan.states(_asked(args), args.rows, args.runs)
        if args.json:
            print(json.dumps({"rows": str(args.rows), "states": states}, indent=1))
        else:
            _list(args, states)
        return 0
    shipped = find_rows(args.rows)
    jobs = _jobs(args, shipped)
    if not jobs:
        print("nothing is missing; name a row with --reward to remake it")
    deadline = None if args.minutes is None else time.monotonic() + 60 * args.minutes
    timed: tuple[float, str] | None = None
    seconds_in_all = 0.0
    for number, job in enumerate(jobs, 1):
        pace, source = _pace(job, shipped, timed, args.minutes is None)
        if source == TIMED:
            timed = pace or 0.0, f"as {job.row.name}, timed here"
        of_how_many = f"[{number}/{len(jobs)}] " if len(jobs) > 1 else ""
        print(fitted(of_how_many + cost(job, pace, source)), flush=True)
        if args.dry_run:
            seconds_in_all += (pace or 0.0) * (job.config.learner_steps - steps_done(job))
            continue
        minutes = None if deadline is None else max((deadline - time.monotonic()) / 60, A_MOMENT)
        if minutes == A_MOMENT and number > 1:
            print("the minutes are over; the same command goes on from here")
            return 0
        _begin(job)
        made = resume(job.path, minutes=minutes)
        assert made.outcome is not None
        if made.outcome.why != "finished":
            line = f"paused at step {made.outcome.step:,}, saved in {made.path}; the same command goes on from there"
            print(fitted(line))
            return 0 if made.outcome.why == "time" else 128 + signal.Signals[made.outcome.why]
        _close(job, made, args.rows, shipped)
    if args.dry_run and len(jobs) > 1:
        print(f"in all: {len(jobs)} rows, about {duration(seconds_in_all)} one after the other")
    return 0


def _asked(args: Arguments) -> Sequence[Row]:
    """The row that is named, or all of an experiment, or all there are."""
    if args.experiment is None:
        return all_rows()
    if args.reward is not None:
        return [find_row(args.experiment, args.reward)]
    name = EXPERIMENTS[args.experiment].name
    return [row for row in all_rows() if row.experiment == name]


def _jobs(args: Arguments, shipped: dict[Row, RowFolder]) -> Sequence[Job]:
    if args.experiment is None and not args.all:
        raise NdigoError("name an experiment (ndigo reproduce exp1 --reward ndigo-4), or use --all or --list")
    rows = [row for row in _asked(args) if args.reward is not None or row not in shipped]
    changes = {name: getattr(args, name) for name in ("seeds", "learner_steps") if getattr(args, name) is not None}
    return [job_of(row, args.runs, args.preset, **changes) for row in rows]


def _begin(job: Job) -> None:
    """Makes the job's run, unless it is there; an error where that one has other settings."""
    refuse_other_settings(job.path, job.config, "move that folder away first")
    if not (job.path / "config.json").exists():
        create_run(**dataclasses.asdict(job.config), preset=plan.RECIPE, out=job.path)


def _pace(
    job: Job, shipped: dict[Row, RowFolder], timed: tuple[float, str] | None, may_time: bool
) -> tuple[float | None, str]:
    """Seconds per learner step, and where that is from: what is known, another row's timing, or one now."""
    if steps_done(job) >= job.config.learner_steps:
        return None, ""
    if (known := pace_of(job, shipped) or timed) is not None:
        return known
    if not may_time:
        return None, "no row was made on such a device; a timing would take of the minutes given"
    with plain_console(stderr=True).status("timing a round"):
        seconds = time_round(job.config, EXPERIMENTS[job.row.experiment].world, make_reward(job.config.reward))
    return seconds / job.config.updates_per_round, TIMED


def _close(job: Job, made: Run, rows: Path, shipped: dict[Row, RowFolder]) -> None:
    """The final evaluation, kept beside the run; a missing row goes to its place, another is compared."""
    experiment = EXPERIMENTS[job.row.experiment]
    with one_writer(made.path):
        if not (made.path / "row").exists():
            finish(
                made.path / "row",
                RunFolder(made.path),
                made.trained(),
                experiment.discovers,
                episodes=plan.EPISODES,
                keeps_agent=job.row in plan.SHIPS_AGENT,
            )
    folder = load_row(made.path / "row")
    print(f"{job.row.name}, {basis(made.config.seeds, plan.EPISODES)}\n")
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


def _list(args: Arguments, states: Sequence[dict[str, Any]]) -> None:
    num_done = sum(state["state"] == "done" for state in states)
    config = recipe(all_rows()[0])
    if args.rows.is_dir():
        size = sum(path.stat().st_size for path in args.rows.rglob("*") if path.is_file())
        print(f"{num_done} of {len(states)} rows done; {args.rows} has {size / 1e6:.1f} MB")
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
