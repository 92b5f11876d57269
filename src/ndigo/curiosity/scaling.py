"""Pay in units of the deviation of its own discounted returns, as random network distillation does: an option.

    R <- gamma R + r        per stream, anew with every episode
    r / sqrt(Var R)         Var over all R so far: a 0 for the start of each stream, and one for each of its steps

A frame that no step led to has no R: the way a world resets changes nothing. Nats stay nats unless it is asked for: a
scale that moves is one more thing that can explain a result.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ndigo.errors import NdigoError, unknown_name

SCALES = ("return-std",)
LEAST_VARIANCE = 1e-8


class Scaling(eqx.Module):
    returns: Float[Array, " N"]
    mean: Float[Array, ""]
    variance: Float[Array, ""]
    count: Float[Array, ""]


def check_scale(scale: Any, gamma: Any) -> float:
    """gamma as a float; an error for a scale of another name, or a discount that is none."""
    if scale is not None and scale not in SCALES:
        raise unknown_name("scale", scale, SCALES)
    if not isinstance(gamma, Real) or not 0 <= float(gamma) <= 1:
        raise NdigoError(f"gamma is {gamma!r}, expected a number from 0 to 1")
    return float(gamma)


def start(num_envs: int) -> Scaling:
    # The 0s count: of a single number the variance is 0, and the first pay would be divided by next to nothing.
    return Scaling(jnp.zeros(num_envs), jnp.float32(0), jnp.float32(0), jnp.float32(num_envs))


def scaled(
    scaling: Scaling, r: Float[Array, " N"], is_first: Bool[Array, " N"], is_step: Bool[Array, " N"], gamma: float
) -> tuple[Scaling, Float[Array, " N"]]:
    """One frame of N streams, which a step led to or not (`Ages.is_step`).

    The step that ends an episode counts towards the old one's return.
    """
    returns = jnp.where(is_step, gamma * scaling.returns + r, scaling.returns)
    n = is_step.sum()
    total = scaling.count + n
    mean = jnp.where(is_step, returns, 0.0).sum() / jnp.maximum(n, 1)
    spread = jnp.where(is_step, (returns - mean) ** 2, 0.0).sum()
    off = mean - scaling.mean
    variance = (scaling.variance * scaling.count + spread + off**2 * scaling.count * n / total) / total
    after = Scaling(jnp.where(is_first, 0.0, returns), scaling.mean + off * n / total, variance, total)
    return after, r / jnp.sqrt(variance + LEAST_VARIANCE)
