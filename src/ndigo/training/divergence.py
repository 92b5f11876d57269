"""A run stops at the first number that is not finite, and says which went first, where and when."""

from __future__ import annotations

import dataclasses

import numpy as np

from ndigo.errors import NdigoError
from ndigo.training.learner import Numbers


class DivergedError(NdigoError):
    """A number turned NaN or infinite. Nothing of that chunk is kept."""

    exit_code = 1


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
    """Looks through what is about to be saved, [S, ...]: a last step may spoil weights that no loss has met."""
    for name, value in arrays.items():
        if np.issubdtype(value.dtype, np.floating) and not np.isfinite(value).all():
            seed = int((~np.isfinite(value)).reshape(len(value), -1).any(axis=1).argmax())
            raise DivergedError(f"tensor {name} of seed {seed} is not finite after learner step {step}")
