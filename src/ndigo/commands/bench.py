"""`ndigo bench`: how fast this machine trains, part by part, and how far from its floor."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict, dataclass, replace
from typing import Annotated

import jax
import tyro
from rich import box
from rich.table import Table
from rich.text import Text

from ndigo.bench.timing import Timings, measure
from ndigo.config import preset as config_of_preset
from ndigo.errors import NdigoError
from ndigo.gate import check_records
from ndigo.interop.finding import find_world
from ndigo.naming import default_preset, settled
from ndigo.report.numbers import how_many
from ndigo.rewards import make_reward
from ndigo.terminal.console import plain_console
from ndigo.terminal.options import Switch, within
from ndigo.terminal.working import working


@dataclass(frozen=True)
class Arguments:
    """Time collection, the update and its parts on this device."""

    world: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="[WORLD]")] = "exp1"
    """An experiment (exp1), a world (maze), or SUITE::ID of others' (craftax::Craftax-Symbolic-v1)."""
    reward: str = "ndigo-4"
    """What is paid."""
    preset: str | None = None
    """cpu, gpu or paper; without it, the one for this device."""
    seeds: tuple[int, ...] = (1, 10)
    """Numbers of seeds side by side; a table for each."""
    batch: int | None = None
    """Windows in an update; without it, the preset's."""
    actors: int | None = None
    """Worlds that each seed acts in at once; without it, the preset's."""
    repeats: int = 9
    """Timed calls behind each median."""
    json: Switch = False
    """Print settings and figures as JSON, and nothing else."""


def run(args: Arguments) -> None:
    within("--repeats", args.repeats, 1, 10_000)
    world, reward = find_world(args.world), make_reward(args.reward)
    if world.host is not None:
        raise NdigoError(f"{args.world}: bench times worlds that the device steps; this one the host does")
    changes = {name: n for name in ("batch", "actors") if (n := getattr(args, name)) is not None}
    preset = config_of_preset(args.preset or default_preset(), world=args.world, reward=args.reward, **changes)
    preset, _ = settled(preset, world, reward, given=changes)
    configs = [replace(preset, seeds=seeds) for seeds in args.seeds]
    check_records(preset, world, reward)
    console, timed = plain_console(quiet=args.json), []
    for config in configs:
        many = how_many(config.seeds, "seed")
        with working(f"{many}: compiling and timing"):
            timings = measure(config, world, reward, args.repeats)
        title = f"{many} x {config.batch} windows x {config.window} steps, {config.actors} actors"
        console.print(Text(title, "bold"), summary(timings), table(timings), sep="\n", highlight=False)
        timed.append({"config": asdict(config), **asdict(timings)})
    device, versions = jax.devices()[0].device_kind, {"jax": jax.__version__, "python": platform.python_version()}
    console.print(f"{device}, jax {versions['jax']}, Python {versions['python']}", highlight=False)
    if args.json:
        print(json.dumps({"device": device, "versions": versions, "runs": timed}, indent=1))


def table(timings: Timings) -> Table:
    rows = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    rows.add_column("part")
    for column in ("ms", "middle half"):
        rows.add_column(column, justify="right")
    for name, t in timings.parts.items():
        rows.add_row(name, f"{t.ms:.2f}", f"{t.low:.2f} to {t.high:.2f}")
    return rows


def summary(timings: Timings) -> str:
    trained, collected = timings.transitions_per_s["trained"], timings.transitions_per_s["collected"]
    peak = "" if timings.peak_bytes is None else f"; peak memory {timings.peak_bytes / 1e9:.2f} GB"
    update = timings.parts["update"].ms
    return (
        f"{trained:,.0f} transitions trained and {collected:,.0f} collected per second{peak}\n"
        f"the first iteration took {timings.compile_s:.1f} s with its compilation\n"
        f"floor of an update {timings.floor_ms:.2f} ms: {timings.operations / 1e9:.1f} G operations at "
        f"{timings.rates.operations / 1e9:,.0f} G/s, "
        f"{timings.bytes / 1e9:.2f} GB at {timings.rates.bytes / 1e9:,.0f} GB/s; "
        f"it takes {update / timings.floor_ms:.1f} times that, {1e3 / update:,.1f} updates per second"
    )
