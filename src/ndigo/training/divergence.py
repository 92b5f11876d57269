"""A run stops at the first number that is not finite, and says which number, of which seed, at which step."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np

from ndigo.devices.processes import of_any
from ndigo.errors import NdigoError
from ndigo.storage import checkpoint
from ndigo.storage.lanes import RunLanes, Saved
from ndigo.storage.parts import Share
from ndigo.training.learner import Numbers


class DivergedError(NdigoError):
    """A number turned NaN or infinite. Nothing of that chunk is kept."""

    exit_code = 1


OnDiverged = Callable[[Path, DivergedError], None]


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    step: int
    why: str  # finished; time, where its minutes are over; the signal that stopped it; diverged, while others went on
    problem: str = ""  # of a run that diverged: which number, of which seed, when

    @property
    def is_stop(self) -> bool:
        """True where there is more to train."""
        return self.why not in ("finished", "diverged")


@dataclass(frozen=True)
class Diverged:
    """Those of the runs side by side that have diverged; each is reported once."""

    say: Callable[[str], None]
    on_diverged: OnDiverged
    outcomes: dict[Path, Outcome] = dataclasses.field(default_factory=dict)

    def add(self, path: Path, step: int, error: DivergedError) -> None:
        self.outcomes[path] = Outcome(step, "diverged", str(error))
        self.say(f"{path}: {error}")
        self.on_diverged(path, error)


def refuse_diverged(
    runs: Sequence[RunLanes], numbers: Numbers, arrays: Saved | None, step: int, diverged: Diverged
) -> None:
    """Looks for what is not finite in a chunk's numbers and in the arrays to be saved.

    A run that is alone raises its error. Of several, those that have diverged are added to `diverged`.
    """
    for run in runs if arrays is not None else ():
        run.writer.wait()
    errors = [divergence_of(run, numbers, arrays, step) for run in runs]
    if len(runs) == 1:
        if errors[0] is not None:
            raise errors[0]
        return
    is_bad = of_any([error is not None for error in errors])
    for run, error, bad in zip(runs, errors, is_bad, strict=True):
        if bad and run.folder.path not in diverged.outcomes:
            what = f"what another process holds is not finite after learner step {step}"
            elsewhere = DivergedError(f"{what}; {_what_is_left(run)}")
            diverged.add(run.folder.path, step, error or elsewhere)


def divergence_of(run: RunLanes, numbers: Numbers, arrays: Saved | None, step: int) -> DivergedError | None:
    """The error of a run that has a number or a weight which is not finite."""
    try:
        refuse_bad_numbers(jax.tree.map(lambda x: x[run.first : run.last], numbers), step)
        if arrays is not None:
            own = run.own(arrays)
            named = own.pieces if isinstance(own, Share) else own
            refuse_bad_weights({k: v for k, v in named.items() if k.startswith(".learner")}, step)
    except DivergedError as error:
        run.writer.wait()
        return DivergedError(f"{error}; {_what_is_left(run)}")
    return None


def _what_is_left(run: RunLanes) -> str:
    folder = run.folder.checkpoints
    left = checkpoint.last_good(folder)
    return left if checkpoint.steps(folder) else f"{left}: mend the cause, and begin anew in another folder"


def refuse_bad_numbers(numbers: Numbers, last_step: int) -> None:
    """Looks through a chunk's numbers [S, updates, ...], whose last update was `last_step`."""
    is_bad: dict[str, np.ndarray] = {}  # [S, updates]
    for field in dataclasses.fields(Numbers):  # declared in the order they are computed
        if getattr(numbers, field.name) is None:
            continue
        value = np.asarray(getattr(numbers, field.name), float)
        is_bad[field.name] = np.logical_not(np.isfinite(value.reshape(*value.shape[:2], -1)).all(axis=-1))
    anywhere = np.logical_or.reduce(list(is_bad.values()))
    if not anywhere.any():
        return
    update = int(anywhere.any(axis=0).argmax())
    seed = int(anywhere[:, update].argmax())
    name = next(name for name, where in is_bad.items() if where[seed, update])
    step = last_step - anywhere.shape[1] + update + 1
    raise DivergedError(f"{name} of seed {seed} is not finite at learner step {step}")


def refuse_bad_weights(arrays: dict[str, np.ndarray], step: int) -> None:
    """Looks through what is about to be saved, [S, ...]: the last update can spoil weights that no loss has used."""
    for name, value in arrays.items():
        if np.issubdtype(value.dtype, np.floating) and not np.isfinite(value).all():
            seed = int((~np.isfinite(value)).reshape(len(value), -1).any(axis=1).argmax())
            raise DivergedError(f"tensor {name} of seed {seed} is not finite after learner step {step}")
