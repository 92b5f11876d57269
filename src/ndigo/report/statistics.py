"""Means over seeds, differences of such means, and their 95% intervals by the exact bootstrap.

A resample of n units draws each with chance 1/n, n times. Its mean depends only on how often each unit was drawn, so
all resamples together are the C(2n-1, n) compositions of n, each with its multinomial chance: 92,378 for ten seeds.
They are listed, not sampled: an interval depends on the seeds and on nothing else. Two rows of a table are resampled
apart, and the law of their difference is the convolution of both laws, on a grid of 2^16 steps over its range.

The interval is the BCa interval (Efron 1987) at expanded levels (Hesterberg 2015). With Phi the normal distribution,

    z0     = Phi^-1(P(x* < x) + P(x* = x) / 2)                  the bias of the median
    a      = k3 / (6 k2^(3/2))                                  the skew: unbiased cumulants of the units' pulls
    z      = t_{0.975, nu} sqrt(n / (n-1))                      Student's quantile in place of 1.96
    levels = Phi(z0 + (z0 -+ z) / (1 - a (z0 -+ z)))

Chosen by measurement, in percent of the intervals of ten seeds that hold the true mean (normal, lognormal): percentile
89, 82; BCa 90, 82; this one 95, 89; studentised 94, 92. The studentised interval is infinitely long where equal
seeds make a resample without spread, as seeds that never see an object do; this one ends at the extreme seeds.
Of fewer than five units every interval does, and of two, three and four normal seeds holds the true mean in 50, 75 and
87%: it is not called one of 95%.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy import special

LEVEL = 0.95
FEWEST = 5  # units that have an interval of 95%
MOST_LISTED = 10  # units; of more, random resamples stand for all
RANDOM_RESAMPLES, RANDOM_DRAWS = 20_000, 4_000_000  # fewer resamples of very many units: they fill the memory
GRID, NUM_BINS = 2**16, 2**12
TINY = 1e-9  # the least that has a logarithm
ROUNDING = 1e-12  # relative; resampled means of equal numbers differ by less


class Estimate(NamedTuple):
    """A mean and its interval; the ends are NaN where one unit gives no interval."""

    mean: float
    low: float
    high: float


def interval_in_words(num_units: int) -> str:
    return "95% bootstrap interval" if num_units >= FEWEST else "the lowest to the highest (too few for 95%)"


@dataclass(frozen=True)
class Resampled:
    """A quantity: its value, and the law of what it is in a resample."""

    value: float
    points: np.ndarray
    chances: np.ndarray
    pulls: Mapping[Any, np.ndarray]  # for each sample that it comes from, by name: how far each unit pulls it
    step: float = 0.0  # of the grid that the points lie on

    def __neg__(self) -> Resampled:
        pulls = {name: -u for name, u in self.pulls.items()}
        return Resampled(-self.value, -self.points, self.chances, pulls, self.step)

    def __sub__(self, other: Resampled) -> Resampled:
        """The difference of two quantities that come from different samples."""
        pulls = _joined(self, -other)
        step = _step(np.ptp(self.points) + np.ptp(other.points), self, other)
        if step == 0:
            return Resampled(self.value - other.value, self.points[:1] - other.points[:1], np.ones(1), pulls)
        (our_first, ours), (their_first, theirs) = _on_grid(self, step), _on_grid(-other, step)
        size = len(ours) + len(theirs) - 1
        padded = 2 ** (size - 1).bit_length()  # a power of two is fastest
        chances = np.fft.irfft(np.fft.rfft(ours, padded) * np.fft.rfft(theirs, padded), padded)[:size]
        points = step * (our_first + their_first + np.arange(size))
        return Resampled(self.value - other.value, points, np.maximum(chances, 0.0), pulls, step)


@lru_cache(maxsize=4)
def resamples(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Every resample of n units: the share of each unit in it [M, n], and its chance [M]."""
    if n > MOST_LISTED:
        number = min(RANDOM_RESAMPLES, max(2_000, RANDOM_DRAWS // n))
        shares = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=number) / n
        return shares, np.full(number, 1 / number)
    # A composition of n into n parts is a choice of n-1 bars among 2n-1 places; the parts lie between bars.
    bars = np.array(list(combinations(range(2 * n - 1), n - 1)), int)
    edges = np.pad(bars, ((0, 0), (1, 1)), constant_values=((0, 0), (-1, 2 * n - 1)))
    counts = np.diff(edges, axis=1) - 1
    chances = np.exp(special.gammaln(n + 1) - special.gammaln(counts + 1).sum(axis=1) - n * np.log(n))
    return counts / n, chances


def mean_of(per_unit: np.ndarray, sample: Any = None) -> Resampled:
    """The mean over units; quantities of different samples are resampled apart."""
    return _mean_of(tuple(np.asarray(per_unit, float).tolist()), sample)


@lru_cache(maxsize=64)  # claims compare one mean with many; a law of ten seeds has 0.7 MB
def _mean_of(per_unit: tuple[float, ...], sample: Any) -> Resampled:
    shares, chances = resamples(len(per_unit))
    value = float(np.mean(per_unit))
    return Resampled(value, shares @ per_unit, chances, {sample: np.subtract(per_unit, value)})


def least(*quantities: Resampled) -> Resampled:
    """The least of several, taken anew in every resample; they come from different samples."""
    first = min(quantities, key=lambda quantity: quantity.value)
    pulls = {name: np.zeros_like(u) for name, u in _joined(*quantities).items()} | dict(first.pulls)
    step = _step(max(np.ptp(quantity.points) for quantity in quantities), *quantities)
    if step == 0:
        return Resampled(first.value, first.points[:1], np.ones(1), pulls)
    laws = [_on_grid(quantity, step) for quantity in quantities]
    start, end = min(at for at, _ in laws), max(at + len(law) for at, law in laws)
    beyond = np.ones(end - start)  # P(every one > point)
    for at, law in laws:
        beyond *= 1 - np.cumsum(np.pad(law, (at - start, end - at - len(law))))
    chances = np.maximum(-np.diff(beyond, prepend=1.0), 0.0)
    return Resampled(first.value, step * np.arange(start, end), chances, pulls, step)


def most(*quantities: Resampled) -> Resampled:
    return -least(*(-quantity for quantity in quantities))


def ratio(above: Resampled, below: Resampled) -> Resampled:
    """above / below, both positive: e to the difference of their logarithms."""
    logs = [
        Resampled(np.log(quantity.value), np.log(np.maximum(quantity.points, TINY)), quantity.chances, {})
        for quantity in (above, below)
    ]
    law = logs[0] - logs[1]
    value = above.value / below.value
    theirs = {name: -u * value / below.value for name, u in below.pulls.items()}
    pulls = {name: u / below.value for name, u in above.pulls.items()} | theirs
    return Resampled(value, np.exp(law.points), law.chances, pulls, law.step * value)


def interval(quantity: Resampled) -> Estimate:
    """The estimate, by the formulas at the head of this file."""
    n, squares, cubes = np.array([(len(u), np.sum(u**2), np.sum(u**3)) for u in quantity.pulls.values()]).T
    if n.min() < 2:
        return Estimate(quantity.value, np.nan, np.nan)
    first, last = float(quantity.points.min()), float(quantity.points.max())
    if first == last or not squares.any() or n.min() < FEWEST:
        return Estimate(quantity.value, first, last)
    # The resamples' variance, and without its bias; degrees of freedom of several samples are pooled as Welch's.
    narrow, variances = np.sum(squares / n**2), squares / (n * (n - 1))
    freedom = variances.sum() ** 2 / np.sum(variances**2 / (n - 1))
    z = special.stdtrit(freedom, (1 + LEVEL) / 2) * np.sqrt(variances.sum() / narrow)
    third = np.sum(cubes / (n * (n - 1) * (n - 2)))  # cumulant
    a = third / (6 * variances.sum() ** 1.5)
    slack = max(quantity.step, 1e-9 * (last - first))  # both parts of a difference are rounded, by half a step each
    below, up_to = (quantity.chances[quantity.points < quantity.value + side].sum() for side in (-slack, slack))
    z0 = special.ndtri(np.clip((below + up_to) / 2, 1e-9, 1 - 1e-9))
    ends = z0 + np.array([-z, z])
    levels = special.ndtr(z0 + ends / np.maximum(1 - a * ends, 1e-9))
    low, high = _quantiles(quantity, levels)
    return Estimate(quantity.value, low, high)


def bootstrap(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, low and high over the first axis, for each of the others."""
    return bootstrap_of(lambda mean: mean, values)


def bootstrap_of(
    statistic: Callable[[np.ndarray], np.ndarray], values: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same for a function of the mean, such as a ratio of its parts; `statistic` keeps leading axes.

    Resamples in which it is not a number do not count.
    """
    values = np.asarray(values, float)
    n, mean = len(values), values.mean(axis=0)
    value = np.asarray(statistic(mean))
    shares, chances = resamples(n)
    points = statistic(np.tensordot(shares, values, axes=1)).reshape(len(shares), -1)
    pulls = np.zeros((n, points.shape[1]))
    if n > 1:
        without = statistic((n * mean - values) / (n - 1)).reshape(n, -1)  # each unit left out in turn
        pulls = np.nan_to_num((n - 1) * (np.nanmean(without, axis=0) - without))
    found = []
    for x, column, u in zip(value.ravel().tolist(), np.ascontiguousarray(points.T), pulls.T, strict=True):
        quantity = Resampled(x, column, chances, {None: u})
        if (is_nan := np.isnan(column)).any():
            there = chances[~is_nan]
            quantity = Resampled(x, column[~is_nan], there / there.sum(), {None: u})
        found.append(interval(quantity))
    mean, low, high = np.array(found).reshape(-1, 3).T.reshape(3, *value.shape)
    return mean, low, high


def estimates(values: np.ndarray) -> list[Estimate]:
    """One estimate for each column of [units, N]."""
    return [_estimate(tuple(column)) for column in np.asarray(values, float).T.tolist()]


@lru_cache(maxsize=4096)  # tables, claims and pages ask for the same ones
def _estimate(per_unit: tuple[float, ...]) -> Estimate:
    return Estimate(*map(float, bootstrap(np.array(per_unit))))


def _quantiles(quantity: Resampled, levels: np.ndarray) -> list[float]:
    """For each level the least point that reaches it. Sorting only the bin that holds it is several times faster."""
    first = quantity.points.min()
    bins = ((quantity.points - first) * (NUM_BINS / np.ptp(quantity.points))).astype(int)
    reached = np.cumsum(np.bincount(bins, quantity.chances))
    found = []
    for level in np.minimum(levels, reached[-1]):
        at = np.searchsorted(reached, level)
        inside = np.flatnonzero(bins == at)
        inside = inside[np.argsort(quantity.points[inside])]
        missing = level - (reached[at - 1] if at else 0.0)
        i = np.searchsorted(np.cumsum(quantity.chances[inside]), missing)
        found.append(float(quantity.points[inside[min(i, len(inside) - 1)]]))
    return found


def _step(spread: float, *quantities: Resampled) -> float:
    """Of a grid over the spread; 0 where the points differ by their rounding alone."""
    largest = max(np.abs(quantity.points).max() for quantity in quantities)
    return 0.0 if spread <= ROUNDING * largest else spread / GRID


def _on_grid(quantity: Resampled, step: float) -> tuple[int, np.ndarray]:
    """The first multiple of `step` that has a chance, and the chances of all from there on."""
    at = np.rint(quantity.points / step).astype(np.int64)
    first = int(at.min())
    return first, np.bincount(at - first, quantity.chances)


def _joined(*quantities: Resampled) -> dict[Any, np.ndarray]:
    pulls = {name: u for quantity in quantities for name, u in quantity.pulls.items()}
    if len(pulls) < sum(len(quantity.pulls) for quantity in quantities):
        raise ValueError(f"quantities of {', '.join(map(str, pulls))} share a sample: join them unit by unit first")
    return pulls
