"""`ndigo audit`: does an agent's reward measure information? Learned beside ideal, object by object."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Annotated, Literal

import jax
import tyro
from rich import box
from rich.table import Table
from rich.text import Text

from ndigo.agent import random_walker
from ndigo.agents.agent import Params
from ndigo.api import load_trained
from ndigo.audit.episodes import audit_policy, audit_seekers, refuse_short_sight
from ndigo.audit.figure import draw_scatter
from ndigo.audit.numbers import Audit, summarise
from ndigo.audit.verdict import verdict
from ndigo.commands.evaluate import basis
from ndigo.errors import NdigoError, unknown_name
from ndigo.paper.experiments import EXPERIMENTS
from ndigo.report.figures import check_figure
from ndigo.report.statistics import Estimate, interval_in_words
from ndigo.report.tables import stacked
from ndigo.rewards import IntrinsicReward, make_reward
from ndigo.storage.run_folder import check_output, make_folder
from ndigo.terminal.console import fitted, plain_console
from ndigo.terminal.options import Switch, Trust, check_seed, within
from ndigo.terminal.working import working
from ndigo.training.trained import Trained
from ndigo.types import Policy
from ndigo.worlds import World

REWARD = "ndigo-4"  # what is audited where an agent's own reward has no ideal
SEEKERS = 32  # episodes for each object


@dataclass(frozen=True)
class Arguments:
    """Compare what an agent's model pays with what a perfect model would pay, object by object."""

    path: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="RUN|AGENT|EXPERIMENT")]
    """A run's folder, an agent's file, or an experiment (exp4): what its objects pay by definition."""
    policy: Literal["agent", "random"] = "agent"
    """Whose episodes: the agent's greedy ones, or a random walker's."""
    reward: str | None = None
    """Audit this reward; without it the agent's own, or ndigo-4 where that has no ideal."""
    episodes: int = 100
    """Episodes for each seed."""
    seed: int = 0
    """Same seed, same episodes."""
    out: Path | None = None
    """The figure; without it audit.png in the run's folder, or runs/AGENT-audit.png."""
    json: Switch = False
    """Print numbers and verdict as JSON, and nothing else."""
    trust: Trust = ()
    """A module of yours that may be run to find a world or reward that the file names; repeat it for another."""


def run(args: Arguments) -> None:
    within("--episodes", args.episodes, 2, 100_000)
    check_seed(args.seed)
    if args.out is not None:
        if args.path in EXPERIMENTS:
            raise NdigoError(f"--out {args.out}: an experiment has no model to draw; name a run or an agent")
        check_figure(args.out)
        check_output(args.out)
    trained = None if args.path in EXPERIMENTS else load(args.path, args.trust)
    world = EXPERIMENTS[args.path].world if trained is None else trained.world
    if world.grid is None or not world.grid.objects:
        raise NdigoError(f"{args.path}: only grid worlds with objects can be audited; world {world.name} is none")
    if world.ends is not None:
        raise NdigoError(f"{args.path}: only episodes of one length can be audited; those of {world.name} end earlier")
    reward = audited_reward(args.reward, trained)
    if trained is not None and trained.config.likelihood not in ("categorical", "mixture"):
        raise NdigoError(
            f"{args.path} has likelihood {trained.config.likelihood}: only categorical and mixture can be audited"
        )
    agents = None if trained is None else [trained.agent(seed).networks for seed in range(trained.num_seeds)]
    if agents:
        refuse_short_sight(agents[0], reward)
    key_own, key_seek = jax.random.split(jax.random.key(args.seed))
    policy = policy_of(args.policy, world, trained)
    parts = count(1)
    with working("auditing episodes (compiling first)", len(agents or [None]) * (1 + len(world.objects))) as advance:
        audited = audit_policy(world, reward, policy, agents, key_own, args.episodes, lambda: advance(next(parts)))
        num_sought = min(SEEKERS, args.episodes)
        seekers = audit_seekers(world, reward, agents, key_seek, num_sought, lambda: advance(next(parts)))
    assert world.grid is not None
    channels = [channel.name for channel in world.channels]
    audit = summarise(
        audited,
        seekers,
        reward=reward.name,
        gamma=0.99 if trained is None else trained.config.gamma,
        channels=channels,
        kinds={o.name: o.kind for o in world.grid.objects},
        are_walls_whole=trained is not None and trained.config.likelihood == "mixture",
    )
    text = verdict(audit)
    name = args.path if trained is None else trained.config.world
    title = f"{args.path}: {reward.name} in {name}, {whose(args.policy, trained, args.episodes)}"
    figure = None if audited.learned is None else figure_path(args)
    if figure is not None:
        make_folder(figure.parent)
        steps = f"every step of {audited.ideal.shape[0] * args.episodes} episodes"
        draw_scatter(audited, audit, channels, f"{reward.name} in {name}, {steps}", figure)
    if args.json:
        about = {"path": args.path, "policy": args.policy, "episodes": args.episodes, "seed": args.seed}
        print(json.dumps(about | audit.as_dict() | {"verdict": text, "figure": figure and str(figure)}, indent=1))
        return
    console = plain_console()
    print(fitted(f"{title}\n"))
    console.print(text, "", sep="\n", highlight=False)
    for heading, meaning, table in tables(audit):
        console.print(Text(heading, "bold"), Text(meaning, "dim"), table, "", sep="\n", highlight=False)
    if figure is not None:
        print(f"figure: {figure}")


def load(path: str, trust: Sequence[str]) -> Trained:
    try:
        return load_trained(path, trust=trust)
    except NdigoError:
        if Path(path).exists():
            raise
        raise unknown_name("run, agent's file or experiment", path, EXPERIMENTS) from None


def audited_reward(name: str | None, trained: Trained | None) -> IntrinsicReward:
    """The reward to audit: as asked, or the agent's own where a perfect model could be paid it."""
    if name is not None:
        reward = make_reward(name.removeprefix("ideal-"))
        if not reward.reads_table_alone:
            raise NdigoError(f"--reward {name}: it has no ideal to compare with (pe, ndigo-H and ndigo-sum have one)")
        return reward
    if trained is not None and not trained.reward.acts_at_random:
        name = trained.config.reward
        own = make_reward(name.removeprefix("ideal-")) if name.startswith("ideal-") else trained.reward
        if own.reads_table_alone:
            return own
    return make_reward(REWARD)


def policy_of(name: str, world: World, trained: Trained | None) -> Callable[[Params | None], Policy]:
    """The agent's own, or the random walker's where there is none."""
    if name == "random" or trained is None:
        return lambda agent: random_walker(world)
    joined = trained.agent().joined
    return lambda agent: random_walker(world) if agent is None else agent.policy(world, trained.reward, joined)


def whose(policy: str, trained: Trained | None, episodes: int) -> str:
    if trained is None:
        return f"{episodes} episodes of a random walker, with {interval_in_words(episodes)} over them"
    walker = "a random walker's episodes; " if policy == "random" or trained.reward.acts_at_random else ""
    return walker + basis(trained.num_seeds, episodes)


def figure_path(args: Arguments) -> Path:
    path = Path(args.path)
    return args.out or (path / "audit.png" if path.is_dir() else Path("runs") / f"{path.stem}-audit.png")


def tables(audit: Audit) -> list[tuple[str, str, Table]]:
    """(heading, what its columns mean, table)."""
    pay = [(x.name, x.learned, x.attainable, x.bias, x.correlation, x.ideal) for x in audit.pay]
    known = [(x.name, x.visits, x.probe_loss, x.floor, x.lost) for x in audit.known]
    offers = [(x.name, x.learned, x.ideal) for x in audit.offers]
    return [
        (
            "reward, nats per episode",
            "learned: what this model pays. perfect model: what an exact one with the same likelihood would. bias: the "
            "difference. correlation: of the two, step by step. by definition: from the exact chance of whole frames.",
            _table(pay, "learned", "perfect model", "bias", "correlation", "by definition"),
        ),
        (
            "where the objects are, nats per step short of certain",
            "probe: what the belief knows. exact floor: what the frames allow. lost: seen and not known.",
            _table(known, "steps in view", "probe", "exact floor", "lost"),
        ),
        (
            f"what each object pays an agent that seeks it, discounted by {audit.gamma:g} per step",
            "by its model: as this agent's model pays. by definition: as the reward's definition pays.",
            _table(offers, "by its model", "by definition"),
        ),
    ]


def _table(rows: Sequence[tuple[str, *tuple[Estimate | None, ...]]], *columns: str) -> Table:
    table = Table("", box=box.SIMPLE_HEAD, show_edge=False, padding=0, pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    for name, *numbers in rows:
        table.add_row(name, *map(stacked, numbers))
    return table
