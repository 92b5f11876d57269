"""`ndigo evaluate`: greedy episodes of a trained agent, beside the paper's row."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from ndigo.api import load_trained
from ndigo.evaluation.measure import Evaluation
from ndigo.paper.conclusion import conclusion
from ndigo.paper.experiments import experiment_of
from ndigo.paper.tables import compared_with_paper
from ndigo.report.episodes import (
    BY_CHANNEL,
    PER_EPISODE,
    channel_table,
    episodes_conclusion,
    episodes_table,
    with_episode_numbers,
)
from ndigo.report.numbers import how_many
from ndigo.report.statistics import interval_in_words
from ndigo.report.tables import HEADINGS, NAMES_IN_JSON, Line, line_of
from ndigo.terminal.console import fitted, plain_console
from ndigo.terminal.options import Switch, Trust, check_seed, within
from ndigo.terminal.working import working
from ndigo.training.trained import Trained

OF_EPISODES = (*PER_EPISODE, *BY_CHANNEL)  # where they end by themselves


@dataclass(frozen=True)
class Arguments:
    """Let a trained agent act greedily, and measure what it sees and knows."""

    path: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN|AGENT")]
    """A run's folder, or an agent's file."""
    episodes: int = 100
    """Episodes for each seed."""
    seed: int = 0
    """Same seed, same episodes."""
    json: Switch = False
    """Print the numbers of every seed, means over its episodes, as JSON, and nothing else."""
    trust: Trust = ()
    """A module of yours that may be run to find a world or reward that the file names; repeat it for another."""


def run(args: Arguments) -> None:
    within("--episodes", args.episodes, 1, 100_000)
    check_seed(args.seed)
    trained = load_trained(args.path, trust=args.trust)
    if args.json:
        print(json.dumps(as_dict(trained, args), indent=1))
        return
    line = measure(trained, trained.settings["reward"], args.episodes, args.seed)
    experiment = experiment_of(trained.settings["config"]["world"])
    text = episodes_conclusion(line) if line.of_episodes else conclusion(line, experiment)
    about = f"{args.path}: {trained.settings['config']['world']}, {basis(trained.num_seeds, args.episodes)}"
    print(fitted(f"{about}\n\n{text}\n"))
    console = plain_console()
    for table in (episodes_table([line]), channel_table([line])):
        if table is not None:
            console.print(table, "")
    if any(line.values.values()):
        console.print(compared_with_paper([line], experiment))


def as_dict(trained: Trained, args: Arguments) -> dict[str, Any]:
    """For JSON: what was measured, on whom, and by name what the columns of each seed's rows stand for."""
    result, world = played(trained, args.episodes, args.seed), trained.settings["world"]
    about = {"path": str(args.path), "world": world["name"], "reward": trained.settings["reward"]}
    columns = {"in_view": world["in_view"], "objects": world["objects"]}
    columns |= {"channels": world["channels"]} if result.coverage is not None else {}
    numbers = {NAMES_IN_JSON.get(name, name): getattr(result, name).mean(axis=1).tolist() for name in _measured(result)}
    return about | {"episodes": args.episodes, "seed": args.seed} | columns | numbers


def measure(trained: Trained, label: str, episodes: int, seed: int) -> Line:
    """The agent's line: over seeds, each the mean of its episodes; a single seed's over its episodes."""
    result = played(trained, episodes, seed)
    is_single = trained.num_seeds == 1
    per_unit = {
        name: getattr(result, name)[0] if is_single else getattr(result, name).mean(axis=1)
        for name in _measured(result)
    }
    return with_episode_numbers(
        line_of(label, trained.settings, per_unit, trained.learner_step), trained.settings, per_unit
    )


def _measured(result: Evaluation) -> list[str]:
    return [name for name in (*HEADINGS, *OF_EPISODES) if getattr(result, name) is not None]


def played(trained: Trained, episodes: int, seed: int) -> Evaluation:
    """The greedy episodes, measured, with a line on a terminal while they are played."""
    with working("playing greedy episodes (compiling first)", episodes) as advance:
        return trained.evaluate(episodes, seed, advance)


def basis(num_seeds: int, episodes: int) -> str:
    """What the intervals rest on, in words."""
    if num_seeds == episodes == 1:
        return "one episode of one seed"
    if num_seeds == 1:
        return f"one seed: mean and {interval_in_words(episodes)} over its {episodes} episodes, not over seeds"
    return f"mean and {interval_in_words(num_seeds)} over {num_seeds} seeds of {how_many(episodes, 'episode')}"
