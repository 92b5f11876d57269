"""`ndigo sweep`: trains every row of a file, here or on a cluster, and says how far they are."""

from __future__ import annotations

import json
import signal
import time
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Annotated, Literal

import tyro
from rich import box
from rich.table import Table

from ndigo.config import SETTLED
from ndigo.errors import NdigoError, StoppedNow
from ndigo.report.numbers import duration, how_many
from ndigo.scale.engine import Asked, Work, find_engine
from ndigo.scale.status import STATES, Seen, look
from ndigo.scale.sweep import ENGINE_TABLES, MOVE_AWAY, SweepRow, read_sweep, refuse_other_settings
from ndigo.scale.takes import check_takes
from ndigo.terminal.console import fitted, plain_console
from ndigo.terminal.options import Switch, Trust, within
from ndigo.terminal.working import working
from ndigo.training.signals import StopSignals, stop_signals


@dataclass(frozen=True)
class Arguments:
    """Train the rows of a sweep that are not done (ndigo sweep FILE.toml), or say how far they are (sweep status)."""

    words: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="[status] FILE.toml")] = ()
    """The file; `status` before it only looks."""
    on: Literal["local", "ray", "slurm"] = "local"
    """What trains the rows: this machine, a Ray cluster, or Slurm."""
    jobs: int | None = None
    """With --on local: rows at once; without it one per GPU, or one on the CPU."""
    address: str | None = None
    """With --on ray: the cluster's address; without it the cluster that this machine belongs to."""
    out: Path | None = None
    """Where the rows' folders lie; without it what the file says, or runs/FILE."""
    trust: Trust = ()
    """A module of yours that may be run to find a world or reward that the file names; `ray` or `slurm` allows whatever
    that table of the file says."""
    dry_run: Switch = False
    """Check the file, list the rows, and train nothing."""
    json: Switch = False
    """With status: print the rows as JSON, and nothing else."""


def run(args: Arguments) -> int:
    sweep = read_sweep(_file(args), args.out)
    if args.json and args.words[0] != "status":
        raise NdigoError("--json belongs to status, as in ndigo sweep status FILE.toml --json")
    if args.json:
        rows = [{"row": row.name, "of": row.config.last_step, **asdict(look(row))} for row in sweep.rows]
        print(json.dumps(rows, indent=1))
        return 0
    if args.words[0] == "status":
        plain_console().print(_table(sweep.rows), _summary([look(row) for row in sweep.rows]), highlight=False)
        _tell_others(sweep.rows)
        return 0
    for option, engine in (("jobs", "local"), ("address", "ray")):
        if getattr(args, option) is not None and args.on != engine:
            raise NdigoError(f"--{option} belongs to --on {engine}, not to --on {args.on}")
    if args.jobs is not None:
        within("--jobs", args.jobs, 1, 1000)
    for engine in ENGINE_TABLES if args.dry_run and args.on == "local" else (args.on,):
        check_takes(sweep, engine, args.trust)
    with working("trying the worlds and the rewards"):
        rows, told = _fitted(sweep.rows, args.trust)
    sweep = replace(sweep, rows=rows)
    seen = [look(row) for row in sweep.rows]
    _say("\n".join([*told, f"{_summary(seen)}, in {sweep.out}"]))
    if args.dry_run:
        plain_console().print(_table(sweep.rows))
        return 0
    # What runs already is watched with the rest, and not begun a second time.
    left = [(row, now) for row, now in zip(sweep.rows, seen, strict=True) if now.state != "done"]
    if not left:
        _say(f"see ndigo report {quote(str(sweep.out))}")
        return 0
    new = [row for row, now in left if now.state != "running"]
    work = find_engine(args.on)(sweep, new, Asked(args.jobs, args.address))
    again = f"ndigo sweep status {quote(str(sweep.file))}" + (f" --out {quote(str(args.out))}" if args.out else "")
    what = f"training {len(new)} of them" if new else "watching"
    _say(f"{what} on {work.about}; to see how far they are: {again}")
    code = _follow(work, [row for row, _ in left], again)
    if any(look(row).state == "done" for row in sweep.rows):
        _say(f"see ndigo report {quote(str(sweep.out))}")
    return code


def _file(args: Arguments) -> Path:
    match args.words:
        case [file] if file != "status":
            return Path(file)
        case ["status", file]:
            return Path(file)
    raise NdigoError("name one file: ndigo sweep FILE.toml trains it, ndigo sweep status FILE.toml looks at it")


def _fitted(rows: Sequence[SweepRow], trust: Collection[str]) -> tuple[tuple[SweepRow, ...], list[str]]:
    """The rows with their settings as their worlds change them, and a line for each change.

    What cannot be trained is an error before any row begins. The GPUs are for the rows: here JAX keeps to the CPU.
    """
    import jax

    jax.config.update("jax_platforms", "cpu")
    from ndigo.agent import window_starts
    from ndigo.gate import check_records, refuse_unfit, refuse_weights
    from ndigo.interop.finding import find_world
    from ndigo.naming import settled
    from ndigo.rewards import make_reward

    fitted, told, tried = [], dict[str, None](), set()
    for row in rows:
        names = row.config.world, row.config.reward
        records = find_world(names[0], trust=trust), make_reward(names[1], trust=trust)
        config, lines = settled(row.config, *records, given=row.given)
        refuse_weights(config, records[1])
        if records[0].has_one_length:
            window_starts(records[0].num_steps, config.window)
        if names in tried:  # to try somebody's own takes seconds
            refuse_unfit(config, *records)
        else:
            check_records(config, *records)
        tried.add(names)
        refuse_other_settings(row.path, config, MOVE_AWAY)
        fitted.append(replace(row, config=config))
        told |= dict.fromkeys(lines)
    return tuple(fitted), [*told]


def _tell_others(rows: Sequence[SweepRow]) -> None:
    """A line for the first row whose folder has a run of other settings than the file says by now."""
    for row in rows:
        try:
            refuse_other_settings(row.path, row.config, MOVE_AWAY, but={*SETTLED} - row.given)
        except NdigoError as error:
            return _say(str(error))


def _follow(work: Work, rows: Sequence[SweepRow], again: str) -> int:
    """Tells of every row that ends, until all have or a signal comes."""
    ended: dict[str, Seen] = {}
    is_stopping = False
    with stop_signals(_say) as signals:
        while not work.is_over() or any(look(row).state == "running" for row in rows if row.name not in ended):
            _tell_ended(rows, ended)
            if signals.first and work.outlives:
                _say(f"the rows go on without this command ({work.outlives}); look again with {again}")
                return 128 + signal.Signals[signals.first]
            if signals.first and not is_stopping:
                is_stopping = True
                work.stop()
            try:
                signals.listen()
            except StoppedNow:
                work.kill()
                raise
            _pause(work.poll_seconds, signals)
        _tell_ended(rows, ended)
    seen = [look(row) for row in rows]
    _say(_summary(seen))
    if signals.first:
        _say("the same command goes on from here")
        return 128 + signal.Signals[signals.first]
    if all(now.state == "done" for now in seen):
        return 0
    _say("the same command tries the others again")
    return 1


def _tell_ended(rows: Sequence[SweepRow], ended: dict[str, Seen]) -> None:
    for row in rows:
        if row.name not in ended and (now := look(row)).state in ("done", "failed"):
            ended[row.name] = now
            outcome = f"failed: {now.why}" if now.state == "failed" else f"done at step {now.step:,}"
            _say(f"[{len(ended)}/{len(rows)}] {row.name}: {outcome}")


def _say(text: str) -> None:
    print(fitted(text), flush=True)


def _pause(seconds: float, signals: StopSignals) -> None:
    """Short sleeps: a signal's handler only notes it, and somebody waits for the answer."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and not signals.first:
        time.sleep(0.1)


def _summary(seen: Sequence[Seen]) -> str:
    """`5 rows: 2 done, 1 running, 2 waiting`."""
    counts = Counter(now.state for now in seen)
    states = ", ".join(f"{counts[state]:,} {state}" for state in STATES if counts[state])
    return f"{how_many(len(seen), 'row')}: {states}"


def _table(rows: Sequence[SweepRow]) -> Table:
    """One line per row, without the columns that no row fills; long names take several lines."""
    told = []
    for row in rows:
        now = look(row)
        told.append(
            {
                "row": row.name,
                "state": now.state,
                "step": f"{now.step:,} of {row.config.last_step:,}",
                "for": "" if now.seconds is None else duration(now.seconds),
                "steps per s": "" if now.per_second is None else f"{now.per_second:.3g}",
                "left": "" if now.left is None else duration(now.left),
                "where, or why": now.why or now.where,
            }
        )
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    filled = [heading for heading in told[0] if any(cells[heading] for cells in told)]
    for heading in filled:
        is_text = heading in ("row", "state", "where, or why")
        table.add_column(heading, justify="left" if is_text else "right", overflow="fold", no_wrap=not is_text)
    for cells in told:
        table.add_row(*(cells[heading] for heading in filled))
    return table
