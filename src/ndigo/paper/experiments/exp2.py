"""Experiment 2 of the paper: search three rooms."""

from __future__ import annotations

from itertools import combinations

from ndigo.paper.claims import Claim, Part, above, below, no_difference
from ndigo.paper.comparisons import (
    BASELINES,
    NDIGO,
    all_of,
    chain,
    known_after,
    leaves_alone,
    loss,
    loss_ratio,
    lower_loss,
    ordered,
    rows_of,
)
from ndigo.paper.experiment import Experiment, Printed, table
from ndigo.paper.measured import Rows

NAME = "exp2"
PLACE = "Section 6.4, Experiment 2"
REWARDS = ("random", "pe", "pg", "icm", "ndigo-1", "ndigo-2", "ndigo-4")

PRINTED = Printed(
    place="paper: Table 2, and the appendix with all baselines",
    tables={
        "visits": table(
            ("fixed", "noise"),
            {
                "random": [(20.8, 16.8), (51.0, 15.8)],
                "pe": [(0.3, 0.8), (161.7, 3.4)],
                "pg": [(32.6, 26.6), (11.7, 7.7)],
                "icm": [(151.7, 33.0), (15.6, 9.0)],
                "ndigo-1": [(180.2, 42.7), (12.8, 6.9)],
                "ndigo-2": [(209.3, 34.9), (3.5, 2.3)],
                "ndigo-4": [(233.7, 41.6), (5.3, 3.7)],
            },
        ),
        "first_visit": table(
            ("fixed", "noise"),
            {
                "random": [(332.3, 42.4), (148.5, 56.9)],
                "pe": [(388.8, 21.0), (11.2, 2.5)],
                "pg": [(309.9, 49.9), (293.2, 50.9)],
                "icm": [(142.1, 40.8), (198.7, 55.1)],
                "ndigo-1": [(101.1, 31.1), (237.2, 49.4)],
                "ndigo-2": [(121.1, 36.5), (306.4, 43.4)],
                "ndigo-4": [(126.7, 43.3), (268.2, 53.1)],
            },
        ),
    },
)


def less_than_twice(rows: Rows) -> list[Part]:
    quantity, more = loss_ratio(rows, NAME, "icm", "ndigo-4")
    return [
        above("loss of icm over ndigo-4's: more than 1", quantity, 1.0, is_essential=True, **more),
        below("loss of icm over ndigo-4's: less than 2", quantity, 2.0, is_essential=True, **more),
    ]


def no_variant_differs(rows: Rows) -> list[Part]:
    return [
        no_difference(f"losses of {a} and {b} alike", loss(rows, NAME, a), loss(rows, NAME, b), rows_of(NAME, a, b))
        for a, b in combinations(NDIGO, 2)
    ]


def uncertainty_vanishes(rows: Rows) -> list[Part]:
    quantity = known_after(rows, NAME, "ndigo-2", "fixed", slice(0, 1))
    return [below("loss of ndigo-2 with the object in view under 0.1", quantity, 0.1, rows_of(NAME, "ndigo-2"))]


CLAIMS = (
    Claim(
        "exp2 margin",
        "all variants of NDIGO perform better than the baselines by a clear margin",
        PLACE,
        "Each NDIGO's discovery loss is below each baseline's. Any difference is a clear margin here, and a wide one "
        "in Experiment 5 is a factor of two.",
        rows_of(NAME, *REWARDS),
        lower_loss(NAME, NDIGO, BASELINES),
    ),
    Claim(
        "exp2 icm",
        "ICM performance is not far behind NDIGO (less than two times worse than NDIGO-4)",
        PLACE,
        "ICM's discovery loss is between one and two times NDIGO-4's.",
        rows_of(NAME, "icm", "ndigo-4"),
        less_than_twice,
    ),
    Claim(
        "exp2 variants",
        "no significant difference between the different variants of NDIGO in this case",
        PLACE,
        "The interval of every difference between two variants' discovery losses holds zero.",
        rows_of(NAME, *NDIGO),
        no_variant_differs,
    ),
    Claim(
        "exp2 visits",
        "NDIGO again demonstrates a superior performance to the baselines",
        PLACE,
        "Each NDIGO sees the fixed object earlier and more often than each baseline.",
        rows_of(NAME, *REWARDS),
        all_of(
            ordered(NAME, "first_visit", "fixed", NDIGO, BASELINES),
            ordered(NAME, "visits", "fixed", BASELINES, NDIGO),
        ),
    ),
    Claim(
        "exp2 noise",
        "NDIGO in most case is not attracted towards the white noise object",
        PLACE,
        "Most NDIGOs see the noise less often than Random.",
        rows_of(NAME, "random", *NDIGO),
        leaves_alone(NAME, "noise", NDIGO),
        is_of_most=True,
    ),
    Claim(
        "exp2 horizon",
        "as we increase the horizon of prediction in NDIGO, it takes more time for the agent to find the fixed object "
        "but at the same time the visit counts increases as well",
        PLACE,
        "From NDIGO-1 to 2 to 4 the first visit of the fixed object comes later, and its visits grow.",
        rows_of(NAME, *NDIGO),
        all_of(chain(NAME, "first_visit", "fixed", NDIGO), chain(NAME, "visits", "fixed", NDIGO)),
    ),
    Claim(
        "exp2 certainty",
        "as soon as the agent finds the fixed object the uncertainty about the location of fixed object completely "
        "vanishes",
        PLACE,
        "With the object in view, NDIGO-2's discovery loss of it is under 0.1 nats (our bound for 'completely').",
        rows_of(NAME, "ndigo-2"),
        uncertainty_vanishes,
        note="Said of a snapshot of NDIGO-2 in the text, of NDIGO-4 in its caption.",
    ),
)

EXPERIMENT = Experiment(
    name=NAME,
    number=2,
    title="Search three rooms",
    question="Does the agent look for an object that may be in any of three rooms?",
    world_name="fixed_anywhere",
    rewards=REWARDS,
    discovers=("fixed",),
    printed=PRINTED,
    claims=CLAIMS,
)
