"""`ndigo walk`: a random walker in every world, and how often and how soon it sees each object."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from typing import Annotated

import jax
import numpy as np
import tyro
from rich import box
from rich.table import Table

from ndigo.errors import NdigoError
from ndigo.evaluation.random_walk import Walk, random_walk, visits_of_walks
from ndigo.evaluation.visits import Visits
from ndigo.interop.finding import find_world
from ndigo.paper.experiments import EXPERIMENTS, Experiment
from ndigo.report.tables import HEADINGS
from ndigo.terminal.console import fitted, plain_console
from ndigo.terminal.options import Switch, check_seed, within
from ndigo.terminal.screen import screen
from ndigo.terminal.working import working
from ndigo.worlds.render import render_ansi

UNPRINTED = ("visits", "first_visit")  # columns where the paper has no table


@dataclass(frozen=True)
class Arguments:
    """Watch a random walker, then compare its visits with the paper's Random rows."""

    experiments: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="[EXPERIMENT ...]")] = ()
    """Which to walk (exp1 exp5), or any world on a map, such as my_module:world; none means all experiments."""
    episodes: int = 1000
    """Episodes behind the statistics."""
    seconds: float = 3.0
    """Length of each animation, in a terminal; elsewhere only its last frame is printed."""
    seed: int = 0
    """Same seed, same walks."""
    longest_stretch: int = 1
    """Repeat a random action for up to N steps, as actors explore in training (100); 1 is the paper's walker."""
    json: Switch = False
    """Print the means and their standard errors as JSON, and nothing else."""


def run(args: Arguments) -> None:
    within("--episodes", args.episodes, 2, 100_000)
    within("--seconds", args.seconds, 0, 3600)
    within("--longest-stretch", args.longest_stretch, 1, 100_000)
    check_seed(args.seed)
    experiments = [_walked(name) for name in args.experiments or EXPERIMENTS]
    if args.json:
        numbers = {experiment.name: _numbers(experiment, args) for experiment in experiments}
        asked = {"episodes": args.episodes, "seed": args.seed, "longest_stretch": args.longest_stretch}
        print(json.dumps(asked | {"random walker": numbers}, indent=1))
        return
    console = plain_console()
    tables: dict[tuple[str, ...], Table] = {}
    for experiment in experiments:
        key_show, key_count = jax.random.split(jax.random.key(args.seed))
        show(experiment, key_show, args, colour=console.is_terminal and not console.no_color)
        metrics = tuple(experiment.printed.tables) or UNPRINTED  # the paper's columns: they differ in Experiment 5
        table = tables.setdefault(metrics, _empty_table(metrics))
        _add_rows(table, experiment, metrics, count_visits(experiment, key_count, args))
    stretches = f" in stretches of up to {args.longest_stretch} steps" if args.longest_stretch > 1 else ""
    numbers = f"{args.episodes} episodes per world: mean ± standard error, and the paper's Random row"
    caption = f"Random walker{stretches}, {numbers}"
    print(fitted(caption))
    console.print(*tables.values())


def _walked(name: str) -> Experiment:
    """The experiment of that name; of a world on a map one without a question."""
    if name in EXPERIMENTS:
        return EXPERIMENTS[name]
    world = find_world(name)
    if world.grid is None or world.truth is None:
        raise NdigoError(f"world {name}: a walk is drawn on the map of a grid world, which it does not have")
    return Experiment(name=name, title=world.name, question="", world_name=name, rewards=(), discovers=world.objects)


def count_visits(experiment: Experiment, key: jax.Array, args: Arguments) -> Visits:
    with working(f"{experiment.name}: {args.episodes} walks (compiling first)"):
        return visits_of_walks(experiment.world, key, args.episodes, args.longest_stretch)


def show(experiment: Experiment, key: jax.Array, args: Arguments, colour: bool) -> None:
    """One walk as a film where there is a terminal, and its last frame, which stays."""
    with working(f"{experiment.name}: one walk (compiling first)"):
        walk = jax.device_get(jax.jit(lambda k: random_walk(experiment.world, k, args.longest_stretch))(key))
    num_frames = int(walk.num_frames)
    if sys.stdout.isatty() and args.seconds > 0:
        with screen() as draw:
            start = time.monotonic()
            # A slow terminal skips frames; the film keeps its length.
            while (t := int((time.monotonic() - start) / args.seconds * num_frames)) < num_frames:
                draw(_frame(experiment, walk, t, colour))
                time.sleep(1 / 60)
    print(_frame(experiment, walk, num_frames - 1, colour), end="\n\n")


def _frame(experiment: Experiment, walk: Walk, t: int, colour: bool) -> str:
    counts = walk.is_visible[: t + 1].sum(axis=0)
    seen = [f"{name} {count}" for name, count in zip(experiment.world.objects, counts, strict=True)]
    return "\n".join(
        [
            f"{experiment.name}: {experiment.title}",
            render_ansi(experiment.world, jax.tree.map(lambda x: x[t], walk.truth), show_panel=True, colour=colour),
            f"step {t}; steps in view: {', '.join(seen)}",
        ]
    )


def _empty_table(metrics: tuple[str, ...]) -> Table:
    table = Table("", "object", box=box.SIMPLE_HEAD, pad_edge=False)
    for metric in metrics:
        for column in (HEADINGS[metric], "paper"):
            table.add_column(column, justify="right", no_wrap=True)
    return table


def _values(seen: Visits) -> dict[str, np.ndarray]:
    """By metric, [episodes, N]."""
    frequency = 100.0 * np.asarray(seen.is_seen)
    return {"visits": np.asarray(seen.count), "first_visit": np.asarray(seen.first), "frequency": frequency}


def _with_error(x: np.ndarray) -> tuple[float, float]:
    return float(x.mean()), float(x.std(ddof=1) / np.sqrt(len(x)))


def _numbers(experiment: Experiment, args: Arguments) -> dict[str, dict[str, tuple[float, float]]]:
    """For JSON: {metric: {object: [mean, standard error]}}."""
    key_count = jax.random.split(jax.random.key(args.seed))[1]
    values = _values(count_visits(experiment, key_count, args))
    names = experiment.world.objects
    return {metric: {name: _with_error(x[:, i]) for i, name in enumerate(names)} for metric, x in values.items()}


def _add_rows(table: Table, experiment: Experiment, metrics: tuple[str, ...], seen: Visits) -> None:
    values = _values(seen)
    for i, name in enumerate(experiment.world.objects):
        texts = []
        for metric in metrics:
            mean, error = _with_error(values[metric][:, i])
            texts += [f"{mean:.1f} ± {error:.1f}", experiment.printed.text(metric, "random", name) or "-"]
        is_last = i == len(experiment.world.objects) - 1
        table.add_row(experiment.name if i == 0 else "", name, *texts, end_section=is_last)
