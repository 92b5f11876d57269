"""What staying with one bouncing object of Experiment 3 pays, and what leaving it for the other would.

    python studies/two-objects/table.py learned       # what models of the study `recipe` pay at the end
    python studies/two-objects/table.py exact         # what an exact one would; two minutes on one core
    python studies/two-objects/table.py along         # how the shipped row's ten seeds come to see both
    python studies/two-objects/table.py bumps         # when the shipped agent's model pays

The exact table: walkers with nothing but the map go where they watch the upper object, watch for so many steps, walk to
where they watch the lower one, watch as long, and so on. NDIGO-1 pays them: by its definition, and as a perfect model
with the likelihood `categorical` would, whose cells of wall are independent. Means of 32 episodes, in nats per episode.
`value` is the discounted sum (gamma 0.99) from step 20 on, when the upper object has been watched for a while.

The learned table: means over five seeds. Pay is in nats per step of the replay at the last evaluation, the others are
of 100 greedy episodes per seed; `both` counts the seeds that see each object in half of their episodes. Along training
the same of the row's ten seeds, and `one alone`: one object in over 95% of episodes, the other in under 5%.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from ndigo.api import load_trained
from ndigo.audit.episodes import AuditedEpisode, audit_policy
from ndigo.audit.seeking import make_seeker
from ndigo.config import Config
from ndigo.interop.finding import find_world
from ndigo.oracle import seek_path
from ndigo.oracle.exactness import steps_to
from ndigo.oracle.filter import tables_of
from ndigo.paper.experiment import Row
from ndigo.paper.plan import load_rows
from ndigo.rewards import make_reward
from ndigo.types import Window
from ndigo.worlds import World
from ndigo.worlds.rollout import rollout

EPISODES, SETTLED, GAMMA, REWARD = 32, 20, Config().gamma, "ndigo-1"
AGENT = Path(__file__).parents[2] / "results" / "agents" / "exp3-ndigo-1.safetensors"
ROWS = Path(__file__).parents[2] / "results" / "rows"
RUNS = Path(__file__).parents[1] / "recipe" / "runs.jsonl.gz"
STEPS = (8_000, 12_800, 16_000, 20_800, 24_000, 28_800, 32_000)
WATCHES = {"stays with the upper": 400, "leaves after 50": 50, "leaves after 25": 25, "leaves after 10": 10}


def watching_cell(world: World, name: str) -> int:
    """Where the seeker of the object ends: most of the cells where it may be are in view from there."""
    assert world.grid is not None
    tables = tables_of(world.grid)
    cell = tables.start
    for a_t in seek_path(world, name)[: world.num_steps]:
        cell = int(tables.walk[cell, a_t])
    return cell


def shuttle(world: World, steps_each: int) -> tuple[jax.Array, jax.Array]:
    """A seeker's plan: the cells to pass, and no channel at whose sight to stay."""
    assert world.grid is not None
    tables = tables_of(world.grid)
    here, passed = tables.start, []
    goals = [watching_cell(world, name) for name in ("upper", "lower")]
    away = [steps_to(tables.walk, np.arange(len(tables.walk)) == goal) for goal in goals]
    turn = 0
    while len(passed) < world.num_steps:
        while here != goals[turn]:
            here = int(tables.walk[here][away[turn][tables.walk[here]].argmin()])
            passed.append(here)
        passed += [here] * steps_each
        turn = 1 - turn
    return jnp.array(passed[: world.num_steps], jnp.int32), jnp.int32(0)


def row(world: World, audited: AuditedEpisode) -> list[float]:
    """Nats per episode of each object and the walls by definition, of the walls by cells, values, and what is known."""
    of = {channel.name: i for i, channel in enumerate(world.channels)}
    ideal, cells = np.asarray(audited.ideal)[0], np.asarray(audited.attainable)[0]  # [episodes, S, C]
    discount = GAMMA ** np.arange(ideal.shape[1] - SETTLED)
    values = [(r[:, SETTLED:].sum(axis=-1) * discount).sum(axis=-1).mean() for r in (ideal, cells)]
    floor = np.asarray(audited.floor)[0].mean(axis=(0, 1))
    paid = [ideal[..., of[name]].sum(axis=1).mean() for name in ("upper", "lower", "walls")]
    known = [floor[world.objects.index(name)] for name in ("upper", "lower")]
    return [*paid, cells[..., of["walls"]].sum(axis=1).mean(), *values, *known]


def exact() -> list[str]:
    """One row per walker."""
    world = find_world("exp3")
    columns = ["upper", "lower", "walls", "walls by cell", "value", "value by cell", "loss, upper", "loss, lower"]
    lines = ["| the walker | " + " | ".join(columns) + " |", "|---|" + "--:|" * len(columns)]
    for label, steps_each in WATCHES.items():
        policy = make_seeker(world)(shuttle(world, steps_each))
        found = audit_policy(world, make_reward(REWARD), lambda _, p=policy: p, None, jax.random.key(0), EPISODES)
        lines.append(f"| {label} | " + " | ".join(f"{x + 0.0:.2f}" for x in np.round(row(world, found), 2)) + " |")
    return lines


def learned() -> list[str]:
    """One row per candidate of the recipe."""
    columns = ["walls pay", "objects pay", "noise pays", "first at, upper", "lower", "both"]
    lines = ["| candidate | " + " | ".join(columns) + " |", "|---|" + "--:|" * len(columns)]
    with gzip.open(RUNS, "rt") as file:
        runs = [run for run in map(json.loads, file) if run["name"].endswith("-exp3")]
    for run in runs:
        world, last = run["settings"]["world"], run["metrics"][-1]
        pay = dict(zip(world["channels"], np.mean(last["learning"]["reward_c"], axis=0), strict=True))
        index = [world["in_view"].index(name) for name in ("upper", "lower")]
        first, share = (np.array(last["evaluation"][name])[:, index] for name in ("first_visit", "frequency"))
        both = int((share >= 0.5).all(axis=1).sum())
        paid = [pay["walls"], pay["upper"] + pay["lower"], pay["noise"]]
        texts = [
            *(f"{x + 0.0:.3f}" for x in np.round(paid, 3)),
            *(f"{x:.0f}" for x in first.mean(axis=0)),
            f"{both} of {len(share)}",
        ]
        lines.append(f"| {run['name'].removesuffix('-exp3')} | " + " | ".join(texts) + " |")
    return lines


def along() -> list[str]:
    """The row of the shipped agent along training: ten seeds."""
    row = load_rows(ROWS)[Row("exp3", REWARD)]
    index = [row.objects.index(name) for name in ("upper", "lower")]
    lines = ["| learner step | one alone | both | walls pay | objects pay |", "|--:|--:|--:|--:|--:|"]
    for step in STEPS:
        at = list(row.steps).index(step)
        share, pay = row.curves["frequency"][at][:, index], row.reward_c[at].mean(axis=0)
        alone, both = ((share < 0.05).any(axis=1) & (share > 0.95).any(axis=1)).sum(), (share >= 0.5).all(axis=1).sum()
        walls = pay[row.channels.index("walls")]
        objects = pay.sum() - walls - pay[row.channels.index("noise")]
        lines.append(f"| {step:,} | {alone} of {len(share)} | {both} of {len(share)} | {walls:.3f} | {objects:.3f} |")
    return lines


def bumps() -> list[str]:
    """Ten greedy episodes of the shipped agent, by what holds it up or is in view: steps, and pay."""
    trained = load_trained(AGENT)
    agent = trained.agent()
    world, networks = agent.world, agent.networks
    assert world.grid is not None
    watched = [i for i, channel in enumerate(world.channels) if channel.name in ("upper", "lower")]
    policy, tables = networks.policy(world, trained.reward, agent.joined), tables_of(world.grid)

    def play(key: jax.Array) -> tuple[jax.Array, ...]:
        episode = rollout(world, policy, key)
        seen = networks.model.look(Window.whole(episode.o_t, episode.a_t, networks.model.core.size))
        r_tc = make_reward(REWARD).pay(None, None, networks.model, seen).r_tc
        assert r_tc is not None
        return r_tc, episode.a_t, episode.truth_t.agent, episode.o_t[1:, ..., jnp.array(watched)].any(axis=(1, 2, 3))

    keys = jax.random.split(jax.random.key(1), 10)
    r_tc, a_t, at, is_seen = jax.device_get(jax.jit(lambda keys: jax.lax.map(play, keys, batch_size=5))(keys))
    cell = at @ np.array([tables.stride, 1])
    leads = np.asarray(tables.walk)[cell[:, :-1], a_t]
    is_held = (leads != cell[:, :-1]) & (cell[:, 1:] == cell[:, :-1])
    lines = ["| | steps per episode | walls pay | objects pay | pay per step |", "|---|--:|--:|--:|--:|"]
    kinds = "held up by an object", "others, one in view", "others, none in view"
    for label, steps in zip(kinds, (is_held, ~is_held & is_seen, ~is_held & ~is_seen), strict=True):
        number = steps.sum(axis=1).mean()
        paid = [(r * steps).sum(axis=1).mean() for r in (r_tc[..., 0], r_tc[..., 1:].sum(axis=-1))]
        lines.append(f"| {label} | {number:.0f} | {paid[0]:.0f} | {paid[1]:.0f} | {sum(paid) / number:.2f} |")
    return lines


TABLES = {"exact": exact, "learned": learned, "along": along, "bumps": bumps}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=TABLES, nargs="?", default="learned")
    print(*TABLES[parser.parse_args().table](), sep="\n")


if __name__ == "__main__":
    main()
