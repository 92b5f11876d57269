"""The numbers the paper prints: every cell of its tables, as data.

`PAPER[experiment][metric][reward][object]` is a `Printed`, or None where the paper prints a dash ("the
agent never visits the corresponding room"). The metrics:

    visits       steps of an episode with the object in view
    first_visit  the first such step, 400 if none
    frequency    percent of episodes with the object in view at least once (Experiment 5 only)

From the full tables of the appendix (Experiment 1: the main text), which agree with the short ones.
What the paper does not print is not here: Experiment 3 has no Random and no PG row, and no numbers
for its white noise; Experiment 5 has no visit counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

Metric = Literal["visits", "first_visit", "frequency"]


class Printed(NamedTuple):
    """One printed `mean ± spread`.

    The paper calls the spread a standard deviation; some of it fits a standard error better (that
    of Random in Experiment 1 is sd / sqrt(10)), so it is kept as printed and not used as an interval.
    """

    mean: float
    spread: float


Table = dict[str, dict[str, Printed | None]]  # reward -> object -> cell


def _table(objects: tuple[str, ...], rows: Mapping[str, Sequence[tuple[float, float] | None]]) -> Table:
    return {
        reward: {name: Printed(*cell) if cell else None for name, cell in zip(objects, cells, strict=True)}
        for reward, cells in rows.items()
    }


PAPER: dict[str, dict[Metric, Table]] = {
    "exp1": {
        "visits": _table(
            ("fixed", "noise"),
            {
                "random": [(14.1, 14.3), (24.6, 12.6)],
                "pe": [(0.1, 0.2), (158.3, 3.7)],
                "pg": [(27.3, 22.0), (22.5, 10.3)],
                "icm": [(144.8, 37.2), (23.8, 12.4)],
                "ndigo-1": [(120.9, 43.4), (19.1, 9.3)],
                "ndigo-2": [(154.0, 45.5), (7.4, 6.7)],
                "ndigo-4": [(300.4, 22.2), (1.4, 1.2)],
            },
        ),
        "first_visit": _table(
            ("fixed", "noise"),
            {
                "random": [(339.0, 40.5), (225.6, 50.4)],
                "pe": [(392.6, 18.1), (15.5, 4.0)],
                "pg": [(306.4, 49.4), (233.7, 56.6)],
                "icm": [(132.4, 41.2), (238.3, 55.0)],
                "ndigo-1": [(78.4, 28.5), (279.4, 42.9)],
                "ndigo-2": [(112.6, 46.2), (345.8, 36.5)],
                "ndigo-4": [(40.8, 9.7), (330.7, 47.4)],
            },
        ),
    },
    "exp2": {
        "visits": _table(
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
        "first_visit": _table(
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
    "exp3": {
        "visits": _table(
            ("upper", "lower"),
            {
                "pe": [(0.6, 0.5), (0.1, 0.2)],
                "icm": [(80.5, 28.3), (89.1, 28.6)],
                "ndigo-1": [(41.0, 8.5), (45.2, 11.6)],
                "ndigo-2": [(108.5, 25.1), (31.3, 20.9)],
                "ndigo-4": [(198.7, 33.4), (44.2, 28.8)],
            },
        ),
        "first_visit": _table(
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
    "exp4": {
        "visits": _table(
            ("brownian", "fixed"),
            {
                "random": [(16.7, 11.6), (41.1, 24.7)],
                "pe": [(357.3, 4.6), (0.1, 0.3)],
                "pg": [(23.0, 14.0), (38.2, 25.7)],
                "icm": [(358.3, 9.4), (0.5, 0.9)],
                "ndigo-1": [(356.1, 6.9), (0.0, 0.0)],
                "ndigo-2": [(350.7, 5.4), (0.1, 0.3)],
                "ndigo-4": [(0.4, 1.0), (290.5, 31.4)],
            },
        ),
        "first_visit": _table(
            ("brownian", "fixed"),
            {
                "random": [(309.3, 46.0), (244.3, 56.1)],
                "pe": [(15.6, 3.5), (399.2, 8.5)],
                "pg": [(281.7, 52.4), (268.4, 57.2)],
                "icm": [(34.0, 8.3), (385.1, 24.6)],
                "ndigo-1": [(23.4, 6.4), (398.9, 8.9)],
                "ndigo-2": [(21.1, 4.8), (383.9, 25.6)],
                "ndigo-4": [(395.5, 12.4), (68.4, 29.8)],
            },
        ),
    },
    "exp5": {
        "frequency": _table(
            ("noise", "fixed2", "fixed3", "fixed4", "movable"),
            {
                "random": [(100.0, 0.0), (0.9, 5.5), None, None, None],
                "pe": [(100.0, 0.0), None, None, None, None],
                "pg": [(93.6, 14.3), None, None, None, None],
                "icm": [(100.0, 0.0), (26.8, 25.7), (13.8, 20.0), (6.5, 14.3), None],
                "ndigo-1": [(94.7, 12.9), (66.4, 27.4), (71.7, 26.1), (70.4, 26.4), (67.8, 27.1)],
                "ndigo-2": [(100.0, 0.0), (78.3, 23.9), (84.8, 20.9), (83.7, 21.4), (81.5, 22.5)],
                "ndigo-5": [(100.0, 0.0), (49.6, 29.0), (47.4, 28.9), (18.8, 22.6), None],
                "ndigo-10": [(100.0, 0.0), (84.1, 21.4), (95.5, 12.2), (45.5, 29.1), None],
            },
        ),
        "first_visit": _table(
            ("noise", "fixed2", "fixed3", "fixed4", "movable"),
            {
                "random": [(15.1, 18.6), (399.9, 6.9), None, None, None],
                "pe": [(8.6, 4.3), None, None, None, None],
                "pg": [(33.9, 56.3), None, None, None, None],
                "icm": [(4.4, 3.0), (324.7, 79.5), (375.0, 44.0), (391.8, 24.3), None],
                "ndigo-1": [(40.6, 57.2), (203.0, 90.6), (190.5, 86.0), (199.9, 85.2), (212.7, 83.2)],
                "ndigo-2": [(12.9, 10.7), (171.5, 79.5), (159.4, 68.8), (174.5, 68.9), (192.8, 68.9)],
                "ndigo-5": [(6.8, 11.5), (245.1, 94.1), (255.9, 91.4), (344.9, 68.7), None],
                "ndigo-10": [(8.6, 5.9), (128.0, 75.8), (119.1, 53.4), (283.1, 81.4), None],
            },
        ),
    },
}


def printed(experiment: str, metric: Metric, reward: str, object_name: str) -> Printed | None:
    """The paper's cell, or None where it prints a dash or nothing."""
    return PAPER.get(experiment, {}).get(metric, {}).get(reward, {}).get(object_name)
