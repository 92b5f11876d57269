"""Experiment 3 of the paper: track what moves out of view."""

from __future__ import annotations

from ndigo.paper.claims import Claim, Part, below, less
from ndigo.paper.comparisons import (
    BASELINES,
    NDIGO,
    all_of,
    half_of_knowing_the_room,
    known_after,
    lower_loss,
    ordered,
    rows_of,
    seen,
    under_half_of_icms,
)
from ndigo.paper.experiment import Experiment, Printed, table
from ndigo.paper.measured import Rows
from ndigo.report.statistics import least, most

NAME = "exp3"
PLACE = "Section 6.4, Experiment 3"
REWARDS = ("random", "pe", "pg", "icm", "ndigo-1", "ndigo-2", "ndigo-4")

PRINTED = Printed(
    place="paper: Table 3, and the appendix; no row for Random and PG",
    tables={
        "visits": table(
            ("upper", "lower"),
            {
                "pe": [(0.6, 0.5), (0.1, 0.2)],
                "icm": [(80.5, 28.3), (89.1, 28.6)],
                "ndigo-1": [(41.0, 8.5), (45.2, 11.6)],
                "ndigo-2": [(108.5, 25.1), (31.3, 20.9)],
                "ndigo-4": [(198.7, 33.4), (44.2, 28.8)],
            },
        ),
        "first_visit": table(
            ("upper", "lower"),
            {
                "pe": [(343.8, 42.6), (390.3, 18.2)],
                "icm": [(174.8, 53.4), (127.8, 51.4)],
                "ndigo-1": [(34.4, 18.7), (38.8, 16.1)],
                "ndigo-2": [(118.3, 50.4), (312.6, 50.6)],
                "ndigo-4": [(64.5, 38.8), (320.8, 47.5)],
            },
        ),
    },
)


def both_are_known(rows: Rows) -> list[Part]:
    bound, parts = half_of_knowing_the_room(NAME), []
    for reward in NDIGO:
        for name in ("upper", "lower"):
            quantity = seen(rows, NAME, reward, "discovery_loss", name)
            parts.append(
                below(f"loss of {reward} for {name} under {bound:.2f}", quantity, bound, rows_of(NAME, reward))
            )
    return parts


def best_visits(rows: Rows) -> list[Part]:
    parts = []
    asked = (("visits", "upper", most), ("first_visit", "upper", least), ("first_visit", "lower", least))
    for metric, name, best in asked:
        ours = best(*(seen(rows, NAME, reward, metric, name) for reward in NDIGO))
        for rival in BASELINES:
            theirs = seen(rows, NAME, rival, metric, name)
            pair = (theirs, ours) if best is most else (ours, theirs)
            text = f"{metric.replace('_', ' ')} of {name}: the best NDIGO better than {rival}"
            parts.append(less(text, *pair, rows_of(NAME, *NDIGO, rival)))
    return parts + ordered(NAME, "visits", "lower", (*NDIGO, "pe"), ["icm"])(rows)


def still_tracked(rows: Rows) -> list[Part]:
    bound = half_of_knowing_the_room(NAME)
    return [
        below(
            f"loss of ndigo-1 10 to 30 steps after {name} was last seen, under {bound:.2f}",
            known_after(rows, NAME, "ndigo-1", name, slice(10, 31)),
            bound,
            rows_of(NAME, "ndigo-1"),
        )
        for name in ("upper", "lower")
    ]


CLAIMS = (
    Claim(
        "exp3 margin",
        "all variants of NDIGO outperforms the baselines by a large margin in terms of the discovery loss of the "
        "bouncing object",
        PLACE,
        "Each NDIGO's discovery loss, the mean of both bouncing objects, is below each baseline's, and under half of "
        "ICM's: our bound of a large margin, as of the wide one of Experiment 5.",
        rows_of(NAME, *REWARDS),
        all_of(lower_loss(NAME, NDIGO, BASELINES), under_half_of_icms(NAME, NDIGO)),
    ),
    Claim(
        "exp3 small",
        "As the discovery loss for both bouncing objects is small, this indicates that NDIGO can encode the dynamics",
        PLACE,
        "Each NDIGO's loss for each bouncing object is under half of knowing its room, ln 48 / 2 (our bound for "
        "'small').",
        rows_of(NAME, *NDIGO),
        both_are_known,
    ),
    Claim(
        "exp3 visits",
        "NDIGO has a superior performance than the baselines both in terms of visit counts and visit time [...] except "
        "for the visit count of the lower object in which ICM produces the best performance",
        PLACE,
        "The best NDIGO beats each baseline in visits of the upper object and in both first visits; ICM has the most "
        "visits of the lower.",
        rows_of(NAME, *REWARDS),
        best_visits,
    ),
    Claim(
        "exp3 tracking",
        "still it can track the dynamics of the green bouncing object with some small error [...] despite the fact "
        "that the green bouncing object is not anymore observed by the agent",
        PLACE,
        "10 to 30 steps after a bouncing object was last seen, NDIGO-1's loss of it is under half of knowing its room.",
        rows_of(NAME, "ndigo-1"),
        still_tracked,
    ),
)

EXPERIMENT = Experiment(
    name=NAME,
    number=3,
    title="Track what moves out of view",
    question="Does the belief keep the dynamics of bouncing objects that are out of sight?",
    world_name="bouncing",
    rewards=REWARDS,
    discovers=("upper", "lower"),
    tracks=True,
    printed=PRINTED,
    claims=CLAIMS,
)
