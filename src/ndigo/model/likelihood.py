"""Likelihoods by name: how a run reads the frames that it predicts.

`categorical` is each frame's own; `mixture` and `bernoulli` are other readings of bits (`ndigo.frames.bits`). Another
is a function of the frame that returns a `Likelihood`, and a line in `LIKELIHOODS`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ndigo.errors import unknown_name
from ndigo.frames import Frame, Likelihood


def reading(name: str, frame: Frame) -> Likelihood:
    return frame.likelihood(name)


LIKELIHOODS: dict[str, Callable[[Frame], Likelihood]] = {
    name: partial(reading, name) for name in ("categorical", "mixture", "bernoulli")
}


def make_likelihood(name: str, frame: Frame) -> Likelihood:
    """The likelihood of that name for the frame."""
    if name not in LIKELIHOODS:
        raise unknown_name("likelihood", name, LIKELIHOODS)
    return LIKELIHOODS[name](frame)
