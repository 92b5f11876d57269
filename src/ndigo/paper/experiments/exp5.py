"""Experiment 5 of the paper: the maze."""

from __future__ import annotations

import numpy as np

from ndigo.paper.claims import Claim, Part, above, below, less
from ndigo.paper.comparisons import (
    BASELINES,
    REACHED,
    SHORT,
    Compare,
    all_of,
    loss,
    lower_loss,
    rows_of,
    seen,
    under_half_of_icms,
)
from ndigo.paper.experiment import Experiment, Printed, Row, table
from ndigo.paper.measured import Rows
from ndigo.report.statistics import mean_of

NAME = "exp5"
PLACE = "Section 6.4, Experiment 5"
REWARDS = ("random", "pe", "pg", "icm", "ndigo-1", "ndigo-2", "ndigo-5", "ndigo-10")

PRINTED = Printed(
    place="paper: Tables 5 and 6, and the appendix with all baselines",
    tables={
        "frequency": table(
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
        "first_visit": table(
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
)

FIXED = ("fixed2", "fixed3", "fixed4")
ROOMS = ("noise", *FIXED, "movable")  # the objects of rooms 1 to 5
VARIANTS = ("ndigo-1", "ndigo-2", "ndigo-5", "ndigo-10")


def reaches(reward: str, room: int, *, is_said: bool, is_essential: bool = False) -> Compare:
    """Whether the agent sees the room's object in more than 1% of its episodes."""

    def compare(rows: Rows) -> list[Part]:
        quantity = seen(rows, NAME, reward, "frequency", ROOMS[room - 1])
        decide, verb = (above, "reaches") if is_said else (below, "does not reach")
        text, where = f"{reward} {verb} room {room}", rows_of(NAME, reward)
        return [decide(text, quantity, REACHED, where, figures="percent of episodes", is_essential=is_essential)]

    return compare


def higher_than_before(rows: Rows) -> list[Part]:
    return [
        less(
            f"loss of {reward}: {before} below {NAME}",
            loss(rows, before, reward),
            loss(rows, NAME, reward),
            (Row(before, reward), Row(NAME, reward)),
        )
        for reward in SHORT
        for before in ("exp1", "exp2")
    ]


def higher_for_the_movable_object(rows: Rows) -> list[Part]:
    parts = []
    for row in rows_of(NAME, *SHORT):
        fixed = np.mean([rows[row].per_seed("discovery_loss", name) for name in FIXED], axis=0)
        apart = mean_of(rows[row].per_seed("discovery_loss", "movable") - fixed, row)
        parts.append(above(f"loss of {row.reward}: fixed objects' mean below the movable one's", apart, 0.0, [row]))
    return parts


CLAIMS = (
    Claim(
        "exp5 margin",
        "different variants of NDIGO outperform the baselines by a wide margin in terms of discovery loss",
        PLACE,
        "Each NDIGO's discovery loss, the mean of fixed and movable objects, is below each baseline's, and under half "
        "of ICM's. Half is our bound of a wide margin; the clear margin of Experiment 2 is any difference.",
        rows_of(NAME, *REWARDS),
        all_of(lower_loss(NAME, VARIANTS, BASELINES), under_half_of_icms(NAME, VARIANTS)),
    ),
    Claim(
        "exp5 short horizons",
        "NDIGO-1 and NDIGO-2 outperforming NDIGO-5",
        PLACE,
        "NDIGO-1's and NDIGO-2's discovery losses are below NDIGO-5's.",
        rows_of(NAME, "ndigo-1", "ndigo-2", "ndigo-5"),
        lower_loss(NAME, SHORT, ["ndigo-5"]),
    ),
    Claim(
        "exp5 higher loss",
        "due to the presence of movable object [...] the average loss in this experiment is higher than the prior "
        "fixed object experiments",
        PLACE,
        "NDIGO-1's and NDIGO-2's discovery losses are higher than in Experiments 1 and 2, and higher for the movable "
        "object than for the fixed ones.",
        tuple(Row(e, reward) for e in ("exp1", "exp2", NAME) for reward in SHORT),
        all_of(higher_than_before, higher_for_the_movable_object),
    ),
    Claim(
        "exp5 last room",
        "NDIGO-1 and NDIGO-2 appear as the only agents capable of reaching the final room",
        PLACE,
        "They see the movable object of room 5 in more than 1% of episodes (our bound), and no other agent does.",
        rows_of(NAME, *REWARDS),
        all_of(
            *(reaches(reward, 5, is_said=True, is_essential=True) for reward in SHORT),
            *(reaches(reward, 5, is_said=False) for reward in (*BASELINES, "ndigo-5", "ndigo-10")),
        ),
    ),
    Claim(
        "exp5 four rooms",
        "whereas NDIGO-4 explores 4 out of 5",
        PLACE,
        "NDIGO-5 sees the objects of rooms 1 to 4 in more than 1% of episodes, and not that of room 5.",
        rows_of(NAME, "ndigo-5"),
        all_of(
            *(reaches("ndigo-5", room, is_said=True, is_essential=True) for room in (1, 2, 3, 4)),
            reaches("ndigo-5", 5, is_said=False),
        ),
        note="The text says NDIGO-4; the experiment's tables have NDIGO-5 and NDIGO-10 instead.",
    ),
    Claim(
        "exp5 the rest",
        "The rest can not go beyond the white noise object",
        PLACE,
        "No baseline sees the object of room 2 in more than 1% of episodes.",
        rows_of(NAME, *BASELINES),
        all_of(*(reaches(reward, 2, is_said=False) for reward in BASELINES)),
        note="The paper's own table has ICM there in 26.8% of episodes.",
    ),
)

EXPERIMENT = Experiment(
    name=NAME,
    number=5,
    title="The maze",
    question="How far into a chain of rooms does curiosity alone lead?",
    world_name="maze",
    rewards=REWARDS,
    discovers=("fixed2", "fixed3", "fixed4", "movable"),
    printed=PRINTED,
    claims=CLAIMS,
)
