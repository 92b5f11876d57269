"""`ndigo discover`: meet a discovering agent, the shipped one first, then one trained here from scratch."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import jax
import numpy as np
import tyro

from ndigo.api import create_run, load_trained, resume
from ndigo.commands.evaluate import basis, measure
from ndigo.config import check_minutes, preset
from ndigo.evaluation.random_walk import visits_of_walks
from ndigo.paper.comparisons import prior
from ndigo.paper.conclusion import conclusion, mean_over, seen_in_words
from ndigo.paper.experiments import EXPERIMENTS, Experiment
from ndigo.paper.tables import compared_with_paper
from ndigo.report.curves import draw_curves
from ndigo.report.pool import Pool
from ndigo.report.tables import Line, line_of
from ndigo.storage.run_folder import RunFolder
from ndigo.terminal.console import fitted, plain_console
from ndigo.terminal.options import Switch, check_seed, within
from ndigo.terminal.working import working


@dataclass(frozen=True)
class Arguments:
    """Train an agent in an experiment for some minutes, and compare it with Random and the paper."""

    experiment: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="[EXPERIMENT]")] = "exp1"
    """exp1 to exp5."""
    minutes: float = 5.0
    """How long to train; the chunk in which they pass is finished."""
    preset: str = "cpu"
    """cpu, gpu or paper."""
    episodes: int = 100
    """Greedy episodes behind each row."""
    agents: Path = Path("results/agents")
    """Where shipped agents lie; the experiment's NDIGO is evaluated first if one is there."""
    out: Path | None = None
    """The run's folder; runs/WORLD-reward-TIME without it."""
    seed: int = 0
    """Same seed, same worlds and weights."""
    json: Switch = False
    """Print the numbers as JSON, and nothing else."""


def run(args: Arguments) -> None:
    within("--episodes", args.episodes, 2, 100_000)
    check_seed(args.seed)
    check_minutes(args.minutes)
    if args.out is not None:
        RunFolder.refuse_taken(args.out)
    experiment, console = EXPERIMENTS[args.experiment], plain_console(quiet=args.json)
    reward = preset(args.preset).reward

    def say(text: str) -> None:
        if not args.json:
            print(fitted(text), flush=True)

    say(f"{experiment.name}: {experiment.title}. {experiment.question}")
    with working("a random walker (compiling first)"):
        walker = walker_line(args)
    numbers: dict[str, Any] = {"experiment": experiment.name, "reward": reward, "random walker": walker.as_dict()}
    if (shipped := shipped_agent(args.agents, experiment, reward)) is not None:
        began = time.monotonic()
        trained = load_trained(shipped)
        lines = [walker, measure(trained, "shipped", args.episodes, args.seed)]
        numbers["shipped"] = lines[1].as_dict()
        say(f"{shipped}, {basis(trained.num_seeds, args.episodes)}\n")
        say(f"{conclusion(lines[1], experiment, 'The shipped agent')}")
        say("It is one seed of a row of ten (docs/results.md), and rounding moves its numbers (docs/reproduce.md).\n")
        console.print(compared_with_paper(lines, experiment, references=False))
        say(f"That took {time.monotonic() - began:.0f} s. Now one is trained here, from scratch.")
    with working("preparing a run"):
        begun = create_run(experiment.name, reward, preset=args.preset, seed=args.seed, out=args.out)
    how = f"for {args.minutes:g} min with the preset {args.preset}, in {begun.path} (Ctrl-C ends it sooner)"
    say(f"{reward} learns {how}")
    run = resume(begun.path, minutes=args.minutes, quiet=args.json)
    assert run.outcome is not None
    trained, folder = run.trained(), RunFolder(run.path)
    minutes = folder.metrics()[-1]["seconds"] / 60  # fewer than asked for after the preset's last step, or Ctrl-C
    lines = [walker, measure(trained, "yours", args.episodes, args.seed)]
    numbers |= {"yours": lines[1].as_dict(), "run": str(run.path), "step": run.outcome.step, "ended": run.outcome.why}
    numbers["conclusion"] = closing(lines[1], walker, experiment, minutes)
    say(f"{run.path} at step {run.outcome.step:,}, {basis(trained.num_seeds, args.episodes)}\n")
    say(f"{numbers['conclusion']}\n")
    console.print(compared_with_paper(lines, experiment, references=False))
    (curves,) = draw_curves([Pool((folder,))], run.path / "curves", experiment.world.grid)
    say(f"curves: {curves}")
    if run.outcome.why != "finished":
        made = f"{run.outcome.step:,} of the preset's {run.config.learner_steps:,} steps"
        say(f"{made}; to go on: {called_as()} train --resume {quote(str(run.path))}")
    if args.json:
        print(json.dumps(numbers, indent=1))


def called_as() -> str:
    """`ndigo`, or the file that was called where the shell would find no such command: .venv/bin/ndigo."""
    file = Path(sys.argv[0])
    return "ndigo" if file.name != "ndigo" or shutil.which("ndigo") else quote(os.path.relpath(file))


def shipped_agent(folder: Path, experiment: Experiment, reward: str) -> Path | None:
    """The experiment's agent of this reward, or of the NDIGO with the longest horizon that is there."""
    with_horizon = (r for r in experiment.all_rewards if re.fullmatch(r"ndigo-\d+", r))
    longest_first = sorted(with_horizon, key=lambda r: -int(r.removeprefix("ndigo-")))
    paths = (folder / f"{experiment.name}-{name}.safetensors" for name in (reward, *longest_first))
    return next((path for path in paths if path.exists()), None)


def closing(mine: Line, walker: Line, experiment: Experiment, minutes: float) -> str:
    """What was learned and how it compares, in plain words.

    It has learned to find them where even the late end of its interval is before the early end of the walker's.
    """

    def mean(line: Line, metric: str, end: str = "mean") -> float:
        return mean_over(line, metric, experiment.discovers, end)

    has_learned = mean(mine, "first_visit", "high") < mean(walker, "first_visit", "low")
    level = "" if (room := prior(experiment.name)) is None else f"{room:.2f} knows the room and "
    names = experiment.discovers
    what = " and ".join(names) if len(names) < 3 else "the objects"
    grid = experiment.world.grid
    noise = "".join(
        f" The {x.name} is in view for {mine.values['visits'][x.name].mean:.0f} steps per episode "
        f"(random walker: {walker.values['visits'][x.name].mean:.0f})."
        for x in (grid.objects if grid else ())
        if x.kind == "white_noise"
    )
    return (
        f"In {float(f'{minutes:.2g}'):g} min it {'learned' if has_learned else 'did not yet learn'} to find {what}: "
        f"{seen_in_words(mine, names)} (random walker: {_walked(walker, names)}).\n"
        f"It knows the place to {mean(mine, 'discovery_loss'):.2f} nats, where {level}0 the cell. "
        f"A located object pays nothing, so its visits say little.{noise}"
    )


def _walked(walker: Line, names: Sequence[str]) -> str:
    """`31%, step 320`; of several objects, one after the other."""
    shares, firsts = walker.values["frequency"], walker.values["first_visit"]
    return "; ".join(f"{shares[name].mean:.0f}%, step {firsts[name].mean:.0f}" for name in names)


def walker_line(args: Arguments) -> Line:
    """A uniform random walker's line; it learns nothing, so it has no discovery loss."""
    world = EXPERIMENTS[args.experiment].world
    seen = visits_of_walks(world, jax.random.key(args.seed), args.episodes)
    found = {"visits": seen.count, "first_visit": seen.first, "frequency": seen.is_seen}
    measured = {metric: np.asarray(x, np.float32) for metric, x in found.items()}
    names = {"in_view": list(world.objects), "objects": []}
    return line_of("random walker", {"world": names, "reward": "random"}, measured)
