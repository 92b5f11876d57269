"""Agents that need no training, measured once: `python studies/reference-agents/make.py [exp1 ...] [--episodes 64]`.

Writes src/ndigo/paper/reference_agents/EXPERIMENT.json, what `ndigo evaluate` and `ndigo report` print under a line.
The planner of Experiment 3 wants a GPU: its bouncing objects take two cores minutes an episode.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import jax

from ndigo.agent import random_walker
from ndigo.audit.seeking import seeker_of
from ndigo.evaluation.visits import in_view, visits
from ndigo.fast.compile_cache import keep_compiled_programs
from ndigo.oracle import greedy, knowledge, make_filter, planner, search_path
from ndigo.paper.experiments import EXPERIMENTS, Experiment
from ndigo.report.statistics import Estimate, estimates
from ndigo.storage.seal import seal
from ndigo.types import Policy
from ndigo.worlds.rollout import rollout

FOLDER = Path(__file__).parents[2] / "src/ndigo/paper/reference_agents"
SEARCH_WIDTH = 6000  # paths kept of each length; enough for the 35.1 of Experiment 2
BATCH = {"cpu": 8}  # episodes at once, where all of them would not fit the cache


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("experiments", nargs="*", default=list(EXPERIMENTS))
    parser.add_argument("--episodes", type=int, default=64)
    parser.add_argument("--out", type=Path, default=FOLDER)
    args = parser.parse_args()
    keep_compiled_programs()
    args.out.mkdir(parents=True, exist_ok=True)
    for name in args.experiments:
        began = time.monotonic()
        rows = measure(EXPERIMENTS[name], args.episodes)
        made_by = f"python studies/reference-agents/make.py {name} --episodes {args.episodes}"
        lines = ",\n  ".join(json.dumps(row) for row in rows)
        path = args.out / f"{name}.json"
        path.write_bytes(seal(f'{{"made_by": "{made_by}",\n "rows": [\n  {lines}\n]}}'.encode()) + b"\n")
        print(f"{path}: {', '.join(row['label'] for row in rows)} in {time.monotonic() - began:.0f} s", flush=True)


def measure(experiment: Experiment, num_episodes: int) -> list[dict[str, Any]]:
    """One row per agent: its label and `values[metric][object]`, each [mean, low, high] or [exact]."""
    world = experiment.world
    agents = {"random": random_walker, "greedy": greedy, "planner": planner}
    walker, *others = (
        {"label": label, "values": play(experiment, make(world), num_episodes)} for label, make in agents.items()
    )
    return [walker, *search_rows(experiment), seeker_row(experiment, num_episodes), *others]


def search_rows(experiment: Experiment) -> list[dict[str, Any]]:
    """The least expected first visit of each object that stays, each by a search for it alone."""
    assert experiment.world.grid is not None
    still = [thing.name for thing in experiment.world.grid.objects if thing.kind == "fixed"]
    paths = {name: search_path(experiment.world, name, width=SEARCH_WIDTH) for name in still}
    first = {name: [round(path.expected_first_visit, 3)] for name, path in paths.items()}
    is_proven = {name: path.is_proven for name, path in paths.items()}
    return [{"label": "search", "values": {"first_visit": first}, "is_proven": is_proven}] if still else []


def seeker_row(experiment: Experiment, num_episodes: int) -> dict[str, Any]:
    """For each object the agent that goes and looks for it, and stays where it finds one that stays."""
    values: dict[str, dict[str, list[float]]] = {}
    for name in experiment.world.objects:
        for metric, by_object in play(experiment, seeker_of(experiment.world, name), num_episodes).items():
            values.setdefault(metric, {})[name] = by_object[name]
    return {"label": "seeker", "values": values}


def play(experiment: Experiment, agent: Policy, num_episodes: int) -> dict[str, dict[str, list[float]]]:
    """`values[metric][object]` over whole episodes; the discovery loss is that of the exact filter, its own memory."""
    world, filter_ = experiment.world, make_filter(experiment.world)

    def one(key: jax.Array) -> dict[str, jax.Array]:
        episode = rollout(world, agent, key)
        seen = visits(in_view(world.frame, episode.o_t[:-1]))
        known = knowledge(filter_, episode.a_t, episode.o_t, episode.truth_t.objects)
        return {
            "visits": seen.count,
            "first_visit": seen.first,
            "frequency": 100.0 * seen.is_seen,
            "discovery_loss": known.discovery_loss[:-1].mean(axis=0),
        }

    keys = jax.random.split(jax.random.key(0), num_episodes)
    at_once = BATCH.get(jax.default_backend(), num_episodes)
    measured = jax.device_get(jax.jit(lambda keys: jax.lax.map(one, keys, batch_size=at_once))(keys))
    return {
        metric: dict(zip(world.objects, map(rounded, estimates(per_episode)), strict=True))
        for metric, per_episode in measured.items()
    }


def rounded(estimate: Estimate) -> list[float]:
    return [round(x, 4) for x in estimate]


if __name__ == "__main__":
    main()
