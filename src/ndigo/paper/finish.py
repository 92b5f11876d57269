"""From a finished run to a row: the final evaluation of the last checkpoint, and what is kept of the rest."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ndigo.errors import NdigoError
from ndigo.paper.rows import RowFolder, save_row
from ndigo.storage.run_folder import RunFolder
from ndigo.training.trained import Trained

EVALUATION_SEED = 1_000_000  # no episode of a run's own evaluations is drawn from it


def finish(
    path: Path, run: RunFolder, trained: Trained, discovers: Sequence[str], *, episodes: int, keeps_agent: bool
) -> RowFolder:
    """Evaluates every seed's final networks and writes the row's folder; no seed and no checkpoint is chosen."""
    lines = run.metrics()
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
        "evaluation": {  # per seed and object, means over episodes
            name: getattr(evaluation, name).tolist()
            for name in ("visits", "first_visit", "frequency", "discovery_loss")
        },
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
