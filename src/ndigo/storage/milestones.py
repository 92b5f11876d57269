"""What a run's first agent was at 100, 200, 500, 1,000, 2,000 ... learner steps: small files, to watch it grow up.

    milestones/step_N.safetensors    the parameters of the first seed as float16, sealed as an agent's file is

A run goes on from its checkpoints alone. A milestone that cannot be written is left out.
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

import numpy as np

from ndigo.errors import NdigoError
from ndigo.storage.agents import load_agent, save_agent
from ndigo.storage.checkpoint import learned

FIRST = 100  # learner steps; then 1, 2 and 5 times the powers of ten


def slot(step: int) -> int:
    """How many of 100, 200, 500, 1,000 ... are reached."""
    return sum(times * FIRST * 10**power <= step for power in range(9) for times in (1, 2, 5))


def steps(run: Path) -> list[int]:
    """The steps of a run's milestones, in order."""
    found = [
        re.fullmatch(r"step_([1-9][0-9]*)\.safetensors", path.name) for path in (run / "milestones").glob("step_*")
    ]
    return sorted(int(match[1]) for match in found if match)


def path_of(run: Path, step: int) -> Path:
    return run / "milestones" / f"step_{step}.safetensors"


def keep(run: Path, step: int, arrays: dict[str, np.ndarray], settings: dict[str, Any]) -> None:
    """Keeps the state of a step that is the first of its slot; later ones are of a run that was taken back."""
    for later in steps(run):
        if later > step:
            _remove(path_of(run, later))
    before = max((found for found in steps(run) if found <= step), default=0)
    params = {name: x[:1] for name, x in learned(arrays).items()}
    if not params or slot(step) <= slot(before):
        return
    for left in (run / "milestones").glob(".step_*.safetensors.tmp"):  # of a kill
        if re.fullmatch(r"\.step_[1-9][0-9]*\.safetensors\.tmp", left.name):  # no other name is ours to remove
            _remove(left)
    with contextlib.suppress(NdigoError):
        save_agent(path_of(run, step), params, settings | {"learner_step": step})


def load(run: Path, step: int) -> dict[str, np.ndarray]:
    """The parameters at a milestone, [1, ...] each, once its sha256 and its step are right."""
    settings, arrays = load_agent(path_of(run, step))
    if settings.get("learner_step") != step:
        found = settings.get("learner_step")
        raise NdigoError(f"{path_of(run, step)} is not what its name says: it is of step {found}")
    return arrays


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):  # it can stay: a run does not end for it
        path.unlink()
