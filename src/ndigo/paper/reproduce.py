"""Making a row: what it costs, in words; and from its finished run to its folder.

A row is the final evaluation of the last checkpoint, and what is kept of the rest.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ndigo.errors import NdigoError
from ndigo.paper import plan
from ndigo.paper.experiments import EXPERIMENTS, Row
from ndigo.paper.measured import METRICS
from ndigo.paper.plan import Job
from ndigo.paper.rows import RowFolder, save_row
from ndigo.report.numbers import duration, how_many
from ndigo.rewards import make_reward
from ndigo.storage.newest import metrics_of
from ndigo.storage.run_folder import RunFolder
from ndigo.training.cost import disk_bytes
from ndigo.training.trained import Trained

EVALUATION_SEED = 1_000_000  # no episode of a run's own evaluations is drawn from it


def pace_of(job: Job, shipped: Mapping[Row, RowFolder]) -> tuple[float, str] | None:
    """Seconds per learner step, and where that is from: this run, else shipped rows made on such a device."""
    if lines := job.lines():
        return lines[-1]["seconds"] / lines[-1]["step"], "at the pace it has had"
    device = jax.devices()[0].device_kind
    rows = [row for row, folder in shipped.items() if folder.result["device"] == device and not job.is_trial]
    near = [row for row in rows if row.experiment == job.row.experiment]
    results = [shipped[row].result for row in near or rows]
    if not results:
        return None
    source = "as its experiment's shipped rows took" if near else "as the shipped rows took"
    return sum(r["seconds"] for r in results) / sum(r["learner_steps"] for r in results), source


def cost(job: Job, pace: float | None, source: str) -> str:
    """What the job takes, in words, before it begins; `pace` is in seconds per learner step, None where unknown."""
    config, world = job.config, EXPERIMENTS[job.row.experiment].world
    rounds = -(-config.learner_steps // config.updates_per_round)
    done = steps_done(job)
    estimate = "nothing is left to train"
    if done < config.learner_steps:
        long = f"about {duration((config.learner_steps - done) * pace)}" if pace else "unknown time"
        estimate = f"{long} on {jax.devices()[0].device_kind} ({source})"
    disk = disk_bytes(config, world, make_reward(config.reward))
    where = next(path for path in (job.path, *job.path.absolute().parents) if path.exists())
    free = shutil.disk_usage(where).free
    text = [
        f"{job.row.name}: {how_many(config.seeds, 'seed')}, {config.learner_steps:,} learner steps, "
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


def steps_done(job: Job) -> int:
    lines = job.lines()
    return lines[-1]["step"] if lines else 0


def finish(
    path: Path, run: RunFolder, trained: Trained, discovers: Sequence[str], *, episodes: int, keeps_agent: bool
) -> RowFolder:
    """Evaluates every seed's final networks and writes the row's folder; no seed and no checkpoint is chosen."""
    lines = metrics_of(run)
    steps = trained.config.learner_steps
    if not lines or trained.learner_step is None or trained.learner_step < steps:
        raise NdigoError(
            f"run {run.path} is at step {trained.learner_step or 0:,} of {steps:,}: train it to its end first"
        )
    began = time.monotonic()
    measured = trained.measure(episodes, EVALUATION_SEED)
    evaluation = jax.tree.map(lambda x: np.asarray(x, float).mean(axis=1), measured.evaluation)
    tracking = measured.tracking
    assert tracking is not None
    names = list(trained.world.objects)
    losses = evaluation.discovery_loss[:, [names.index(name) for name in discovers]].mean(axis=1)
    median = median_seed(losses)
    result: dict[str, Any] = {
        "learner_steps": trained.learner_step,
        "world_steps": lines[-1]["world_steps"],
        "seconds": lines[-1]["seconds"],  # with compilation, evaluations and checkpoints, over all sittings
        "evaluation_seconds": time.monotonic() - began,
        "device": jax.devices()[0].device_kind,  # of the last sitting; config.json has that of the first
        "finished": time.strftime("%Y-%m-%d", time.gmtime()),
        "episodes": episodes,
        "discovers": list(discovers),
        "median_seed": median,
        # Per seed and object, means over episodes.
        "evaluation": {name: getattr(evaluation, name).tolist() for name in METRICS},
        "tracking": {  # per seed, object and number of steps since it was last seen
            "loss": (tracking.loss / np.maximum(tracking.steps, 1)).tolist(),
            "steps": tracking.steps.astype(int).tolist(),
        },
    }
    save_agent = (lambda file: trained.export(file, median)) if keeps_agent else None
    return save_row(path, run.settings(), result, lines, save_agent)


def median_seed(losses: np.ndarray) -> int:
    """The seed in the middle, the better of the two where their number is even."""
    return int(np.argsort(losses, kind="stable")[(len(losses) - 1) // 2])
