"""Likelihoods by name: what distribution over frames the predictor's logits stand for.

`categorical` is every frame's own; `mixture` and `bernoulli` are alternatives for bits (`ndigo.frames.bits`). A new one
is a function from a frame to a `Likelihood`, and a line in `LIKELIHOODS`.
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
