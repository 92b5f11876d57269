"""Means with 95% bootstrap intervals.

The paper prints a mean and a spread over a handful of runs. Ours: the mean over seeds, and the
percentile interval of the means of resampled seeds, which assumes nothing about their distribution.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

RESAMPLES = 2000
LEVEL = 0.95


class Estimate(NamedTuple):
    """A mean and its interval; the ends are NaN where one unit gives no interval."""

    mean: float
    low: float
    high: float


def bootstrap(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, low and high over the first axis, for each of the others; the same resamples every time."""
    return bootstrap_of(lambda mean: mean, values)


def bootstrap_of(
    statistic: Callable[[np.ndarray], np.ndarray], values: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same for a function of the mean, such as a ratio of its parts; `statistic` keeps leading axes.

    Resamples in which it is not a number do not count.
    """
    values = np.asarray(values, float)
    mean = statistic(values.mean(axis=0))
    if len(values) < 2:
        return mean, np.full_like(mean, np.nan), np.full_like(mean, np.nan)
    draws = np.random.default_rng(0).integers(0, len(values), size=(RESAMPLES, len(values)))
    # How often each unit was drawn, so that every resample's mean is one row of one product.
    weights = np.stack([np.bincount(draw, minlength=len(values)) for draw in draws]) / len(values)
    means = statistic(np.tensordot(weights, values, axes=1))
    quantile = np.nanquantile if np.isnan(means).any() else np.quantile
    low, high = quantile(means, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return mean, low, high


def estimates(values: np.ndarray) -> list[Estimate]:
    """One estimate for each column of [units, N]."""
    return [Estimate(*map(float, column)) for column in zip(*bootstrap(values), strict=True)]
