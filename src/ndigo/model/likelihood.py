"""Likelihoods by name: how a run reads the frames that it predicts.

`categorical` is each frame's own; `mixture` and `bernoulli` are other readings of bits (`ndigo.frames.bits`). Another
is a function of the frame that returns a `Likelihood`, and a line in `LIKELIHOODS`.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import methodcaller

from ndigo.errors import unknown_name
from ndigo.frames import Frame, Likelihood

LIKELIHOODS: dict[str, Callable[[Frame], Likelihood]] = {
    name: methodcaller("likelihood", name) for name in ("categorical", "mixture", "bernoulli")
}


def make_likelihood(name: str, frame: Frame) -> Likelihood:
    """The likelihood of that name for the frame."""
    if name not in LIKELIHOODS:
        raise unknown_name("likelihood", name, LIKELIHOODS)
    return LIKELIHOODS[name](frame)
