"""What a sentence of the paper can be asked of the cells: comparisons of their numbers, each with its interval.

A `Compare` takes the cells and gives the parts of a verdict (`claims`); `paper_claims` puts them to the sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import log
from typing import Any

import numpy as np

from ndigo.paper.claims import Part, above, below, less, no_difference
from ndigo.paper.experiments import find_experiment
from ndigo.paper.measured import Cells
from ndigo.paper.plan import Cell
from ndigo.report.statistics import Resampled, least, mean_of, most, ratio
from ndigo.worlds.grid_world import start_cells

BASELINES = ("random", "pe", "pg", "icm")
INFORMED = ("pe", "pg", "icm")  # the baselines that seek information
SHORT, NDIGO = ("ndigo-1", "ndigo-2"), ("ndigo-1", "ndigo-2", "ndigo-4")
MAZE_NDIGO = ("ndigo-1", "ndigo-2", "ndigo-5", "ndigo-10")
ROOMS = ("noise", "fixed2", "fixed3", "fixed4", "movable")  # the objects of the maze's rooms 1 to 5
NOISE = {"exp1": "noise", "exp2": "noise", "exp3": "noise", "exp4": "brownian", "exp5": "noise"}
REACHED = 1.0  # percent of episodes: an agent that sees a room's object less often does not reach the room
DISCOVERED = 0.5  # of the loss of knowing the room and no more: an object is discovered below it

EXPERIMENT = "Section 6.4, Experiment {}"
Compare = Callable[[Cells], list[Part]]


def cells_of(experiment: str, *rewards: str) -> tuple[Cell, ...]:
    return tuple(Cell(experiment, reward) for reward in rewards or find_experiment(experiment).rewards)


def variants(experiment: str) -> tuple[str, ...]:
    return MAZE_NDIGO if experiment == "exp5" else NDIGO


def prior(experiment: str) -> float:
    """The loss of one who knows where every object may start and nothing else, averaged as the experiment's curve."""
    found = find_experiment(experiment)
    grid = found.world.grid
    assert grid is not None
    num_cells = {o.name: len(start_cells(grid.layout, o)) for o in grid.objects}
    return float(np.mean([log(num_cells[name]) for name in found.discovers]))


def loss(c: Cells, experiment: str, reward: str) -> Resampled:
    cell = c[Cell(experiment, reward)]
    return mean_of(cell.discovery_loss(), cell.cell)


def seen(c: Cells, experiment: str, reward: str, metric: str, name: str) -> Resampled:
    cell = c[Cell(experiment, reward)]
    return mean_of(cell.per_seed(metric, name), cell.cell)


def lower_loss(experiment: str, first: Sequence[str], second: Sequence[str]) -> Compare:
    """Every one of the first knows more than every one of the second."""
    return lambda c: [
        less(f"loss of {a} below {b}'s", loss(c, experiment, a), loss(c, experiment, b), cells_of(experiment, a, b))
        for a in first
        for b in second
    ]


def ordered(
    experiment: str, metric: str, name: str, low: Sequence[str], high: Sequence[str], *, is_essential: bool = False
) -> Compare:
    """Every one of `low` has less of a metric than every one of `high`."""
    what = {"visits": "visits of", "first_visit": "first visit of"}[metric]
    return lambda c: [
        less(
            f"{what} {name}: {a} below {b}",
            seen(c, experiment, a, metric, name),
            seen(c, experiment, b, metric, name),
            cells_of(experiment, a, b),
            is_essential=is_essential,
        )
        for a in low
        for b in high
    ]


def chain(experiment: str, metric: str, name: str, rewards: Sequence[str]) -> Compare:
    """The metric grows along the rewards."""
    return every(*(ordered(experiment, metric, name, [a], [b]) for a, b in pairwise(rewards)))


def every(*compares: Compare) -> Compare:
    return lambda c: [part for compare in compares for part in compare(c)]


def loss_ratio(c: Cells, experiment: str, worse: str, better: str) -> tuple[Resampled, dict[str, Any]]:
    a, b = loss(c, experiment, worse), loss(c, experiment, better)
    figures = f"{a.value:.3g} over {b.value:.3g}, ratio"
    return ratio(a, b), {"cells": cells_of(experiment, worse, better), "figures": figures}


def discovers(experiment: str, reward: str, *, is_said: bool = True, is_essential: bool = False) -> Compare:
    """Whether the loss is below half of knowing the room."""

    def compare(c: Cells) -> list[Part]:
        bound, q = DISCOVERED * prior(experiment), loss(c, experiment, reward)
        decide, side = (below, "under") if is_said else (above, "over")
        text = f"{experiment}: loss of {reward} {side} {bound:.2f}, half of knowing the room"
        return [decide(text, q, bound, cells_of(experiment, reward), is_essential=is_essential)]

    return compare


def reaches(reward: str, room: int, *, is_said: bool, is_essential: bool = False) -> Compare:
    """Whether the maze's agent sees the room's object in more than 1% of its episodes."""

    def compare(c: Cells) -> list[Part]:
        q = seen(c, "exp5", reward, "frequency", ROOMS[room - 1])
        decide, verb = (above, "reaches") if is_said else (below, "does not reach")
        text, where = f"{reward} {verb} room {room}", cells_of("exp5", reward)
        return [decide(text, q, REACHED, where, figures="percent of episodes", is_essential=is_essential)]

    return compare


def best_beats(experiment: str, rivals: Sequence[str]) -> Compare:
    """The least loss of any NDIGO is below the least of the rivals, the minimum taken anew in every resample."""

    def compare(c: Cells) -> list[Part]:
        names = variants(experiment)
        ours = least(*(loss(c, experiment, reward) for reward in names))
        theirs = least(*(loss(c, experiment, reward) for reward in rivals))
        text = f"{experiment}: least loss of an NDIGO below the baselines' least"
        return [less(text, ours, theirs, cells_of(experiment, *names, *rivals))]

    return compare


def leaves_noise(experiment: str, rewards: Sequence[str]) -> Compare:
    return ordered(experiment, "visits", NOISE[experiment], rewards, ["random"])


def pe_is_paid_by_noise(c: Cells) -> list[Part]:
    cell = c[Cell("exp1", "pe")]
    paid = {name: cell.reward_c[-1][:, i] for i, name in enumerate(cell.channels)}
    parts = []
    for name in ("walls", "fixed"):
        # Both of one seed: resampled together.
        q = mean_of(paid["noise"] - paid[name], cell.cell)
        figures = f"{paid[name].mean():.3g} against {paid['noise'].mean():.3g}, difference"
        parts.append(above(f"pe is paid less for {name} than for the noise", q, 0.0, [cell.cell], figures=figures))
    return parts


def order_of_magnitude(c: Cells) -> list[Part]:
    q, more = loss_ratio(c, "exp1", "icm", "ndigo-4")
    return [above("loss of icm over ndigo-4's: more than 10", q, 10.0, **more)]


def less_than_twice(c: Cells) -> list[Part]:
    q, more = loss_ratio(c, "exp2", "icm", "ndigo-4")
    return [
        above("loss of icm over ndigo-4's: more than 1", q, 1.0, is_essential=True, **more),
        below("loss of icm over ndigo-4's: less than 2", q, 2.0, is_essential=True, **more),
    ]


def no_variant_differs(c: Cells) -> list[Part]:
    pairs = (("ndigo-1", "ndigo-2"), ("ndigo-1", "ndigo-4"), ("ndigo-2", "ndigo-4"))
    return [
        no_difference(f"losses of {a} and {b} alike", loss(c, "exp2", a), loss(c, "exp2", b), cells_of("exp2", a, b))
        for a, b in pairs
    ]


def known_after(c: Cells, experiment: str, reward: str, name: str, ages: slice) -> Resampled:
    """The loss at steps that come so long after the object was last seen."""
    cell = c[Cell(experiment, reward)]
    i = cell.objects.index(name)
    steps = cell.tracking_steps[:, i, ages]
    per_seed = (cell.tracking_loss[:, i, ages] * steps).sum(axis=1) / np.maximum(steps.sum(axis=1), 1)
    # A seed that never saw the object has no such step; it knows what one knows who never looked.
    return mean_of(np.where(steps.sum(axis=1) > 0, per_seed, prior(experiment)), cell.cell)


def uncertainty_vanishes(c: Cells) -> list[Part]:
    q = known_after(c, "exp2", "ndigo-2", "fixed", slice(0, 1))
    return [below("loss of ndigo-2 with the object in view under 0.1", q, 0.1, cells_of("exp2", "ndigo-2"))]


def still_tracked(c: Cells) -> list[Part]:
    bound = DISCOVERED * prior("exp3")
    return [
        below(
            f"loss of ndigo-1 10 to 30 steps after {name} was last seen, under {bound:.2f}",
            known_after(c, "exp3", "ndigo-1", name, slice(10, 31)),
            bound,
            cells_of("exp3", "ndigo-1"),
        )
        for name in ("upper", "lower")
    ]


def best_visits_in_exp3(c: Cells) -> list[Part]:
    parts = []
    asked = (("visits", "upper", most), ("first_visit", "upper", least), ("first_visit", "lower", least))
    for metric, name, best in asked:
        ours = best(*(seen(c, "exp3", reward, metric, name) for reward in NDIGO))
        for rival in BASELINES:
            theirs = seen(c, "exp3", rival, metric, name)
            pair = (theirs, ours) if best is most else (ours, theirs)
            text = f"{metric.replace('_', ' ')} of {name}: the best NDIGO better than {rival}"
            parts.append(less(text, *pair, cells_of("exp3", *NDIGO, rival)))
    return parts + ordered("exp3", "visits", "lower", [r for r in (*NDIGO, "pe") if r != "icm"], ["icm"])(c)


def small_in_exp3(c: Cells) -> list[Part]:
    bound, parts = DISCOVERED * prior("exp3"), []
    for reward in NDIGO:
        for name in ("upper", "lower"):
            q = seen(c, "exp3", reward, "discovery_loss", name)
            parts.append(below(f"loss of {reward} for {name} under {bound:.2f}", q, bound, cells_of("exp3", reward)))
    return parts


def higher_in_the_maze(c: Cells) -> list[Part]:
    return [
        less(
            f"loss of {reward}: {before} below exp5",
            loss(c, before, reward),
            loss(c, "exp5", reward),
            (Cell(before, reward), Cell("exp5", reward)),
        )
        for reward in SHORT
        for before in ("exp1", "exp2")
    ]
