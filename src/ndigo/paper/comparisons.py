"""Comparisons of the rows' numbers, each with its interval, by which the paper's sentences are tested.

A `Compare` takes the rows and returns the parts of a verdict (`claims`). Comparisons that several sentences need are
here; one that a single sentence needs stands beside it in `experiments/`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import log
from typing import Any

import numpy as np

from ndigo.paper.claims import Part, above, below, less
from ndigo.paper.experiment import EXPERIMENTS, Row
from ndigo.paper.measured import Rows
from ndigo.report.statistics import Resampled, least, mean_of, ratio
from ndigo.worlds.grid_world import start_cells

BASELINES = ("random", "pe", "pg", "icm")
INFORMED = ("pe", "pg", "icm")  # the baselines that seek information
SHORT, NDIGO = ("ndigo-1", "ndigo-2"), ("ndigo-1", "ndigo-2", "ndigo-4")
REACHED = 1.0  # percent of episodes: an agent that sees a room's object less often does not reach the room
DISCOVERED = 0.5  # of the loss of knowing the room and no more: an object is discovered below it

Compare = Callable[[Rows], list[Part]]


def rows_of(experiment: str, *rewards: str) -> tuple[Row, ...]:
    return tuple(Row(experiment, reward) for reward in rewards)


def prior(experiment: str) -> float | None:
    """The loss of knowing only where each object may start, averaged over the objects of the experiment's curve.

    None in a world without a map.
    """
    found = EXPERIMENTS[experiment]
    grid = found.world.grid
    if grid is None:
        return None
    num_cells = {o.name: len(start_cells(grid.layout, o)) for o in grid.objects}
    return float(np.mean([log(num_cells[name]) for name in found.discovers]))


def half_of_knowing_the_room(experiment: str) -> float:
    level = prior(experiment)
    assert level is not None, f"{experiment} has no map"
    return DISCOVERED * level


def loss(rows: Rows, experiment: str, reward: str) -> Resampled:
    numbers = rows[Row(experiment, reward)]
    return mean_of(numbers.discovery_loss(), numbers.row)


def seen(rows: Rows, experiment: str, reward: str, metric: str, name: str) -> Resampled:
    numbers = rows[Row(experiment, reward)]
    return mean_of(numbers.per_seed(metric, name), numbers.row)


def known_after(rows: Rows, experiment: str, reward: str, name: str, ages: slice) -> Resampled:
    """The loss at steps in this range of ages: how long ago the object was last seen."""
    numbers = rows[Row(experiment, reward)]
    i = numbers.objects.index(name)
    steps = numbers.tracking_steps[:, i, ages]
    per_seed = (numbers.tracking_loss[:, i, ages] * steps).sum(axis=1) / np.maximum(steps.sum(axis=1), 1)
    # A seed that never saw the object has no such step, and counts as knowing only where the object may start.
    level = prior(experiment)
    assert level is not None, f"{experiment} has no map"
    return mean_of(np.where(steps.sum(axis=1) > 0, per_seed, level), numbers.row)


def lower_loss(experiment: str, first: Sequence[str], second: Sequence[str]) -> Compare:
    """Each of the first rewards' agents has a lower loss than each of the second's."""
    return lambda rows: [
        less(
            f"{experiment}: loss of {a} below {b}'s",
            loss(rows, experiment, a),
            loss(rows, experiment, b),
            rows_of(experiment, a, b),
        )
        for a in first
        for b in second
    ]


def ordered(
    experiment: str, metric: str, name: str, low: Sequence[str], high: Sequence[str], *, is_essential: bool = False
) -> Compare:
    """Every one of `low` has less of a metric than every one of `high`."""
    what = {"visits": "visits of", "first_visit": "first visit of"}[metric]
    return lambda rows: [
        less(
            f"{experiment}, {what} {name}: {a} below {b}",
            seen(rows, experiment, a, metric, name),
            seen(rows, experiment, b, metric, name),
            rows_of(experiment, a, b),
            is_essential=is_essential,
        )
        for a in low
        for b in high
    ]


def chain(experiment: str, metric: str, name: str, rewards: Sequence[str]) -> Compare:
    """The metric grows along the rewards."""
    return all_of(*(ordered(experiment, metric, name, [a], [b]) for a, b in pairwise(rewards)))


def all_of(*compares: Compare) -> Compare:
    return lambda rows: [part for compare in compares for part in compare(rows)]


def loss_ratio(rows: Rows, experiment: str, worse: str, better: str) -> tuple[Resampled, dict[str, Any]]:
    """The ratio of two losses, and what a comparison tells about it."""
    a, b = loss(rows, experiment, worse), loss(rows, experiment, better)
    figures = f"{a.value:.3g} over {b.value:.3g}, ratio"
    return ratio(a, b), {"rows": rows_of(experiment, worse, better), "figures": figures}


def under_half_of_icms(experiment: str, rewards: Sequence[str]) -> Compare:
    """Each of the rewards' agents has under half of ICM's loss: our bound of a wide margin, or a large one."""

    def compare(rows: Rows) -> list[Part]:
        ratios = [(reward, *loss_ratio(rows, experiment, "icm", reward)) for reward in rewards]
        return [above(f"loss of icm over {reward}'s: more than 2", x, 2.0, **more) for reward, x, more in ratios]

    return compare


def discovers(experiment: str, reward: str, *, is_said: bool = True, is_essential: bool = False) -> Compare:
    """Whether the loss is below half of knowing the room."""

    def compare(rows: Rows) -> list[Part]:
        bound, quantity = half_of_knowing_the_room(experiment), loss(rows, experiment, reward)
        decide, side = (below, "under") if is_said else (above, "over")
        text = f"{experiment}: loss of {reward} {side} {bound:.2f}, half of knowing the room"
        return [decide(text, quantity, bound, rows_of(experiment, reward), is_essential=is_essential)]

    return compare


def best_beats(experiment: str, rivals: Sequence[str]) -> Compare:
    """The least loss of any NDIGO is below the least of the rivals, the minimum taken anew in every resample."""

    def compare(rows: Rows) -> list[Part]:
        names = [reward for reward in EXPERIMENTS[experiment].rewards if reward.startswith("ndigo")]
        ours = least(*(loss(rows, experiment, reward) for reward in names))
        theirs = least(*(loss(rows, experiment, reward) for reward in rivals))
        text = f"{experiment}: least loss of an NDIGO below the baselines' least"
        return [less(text, ours, theirs, rows_of(experiment, *names, *rivals))]

    return compare


def leaves_alone(experiment: str, distractor: str, rewards: Sequence[str]) -> Compare:
    """Every one of the rewards sees the distractor less often than Random."""
    return ordered(experiment, "visits", distractor, rewards, ["random"])
