"""What the paper claims of all its experiments together, and every claim in its order.

Left out of all claims: sentences about method and motivation, and what single snapshots and videos show (except where
a number over many episodes can say the same).
"""

from __future__ import annotations

from dataclasses import replace

from ndigo.paper.claims import Claim, Part
from ndigo.paper.comparisons import (
    BASELINES,
    INFORMED,
    Compare,
    all_of,
    best_beats,
    discovers,
    leaves_alone,
    ordered,
    rows_of,
)
from ndigo.paper.experiments import EXPERIMENTS, exp1, exp2, exp3, exp4, exp5
from ndigo.paper.measured import Rows

FIVE = tuple(module.NAME for module in (exp1, exp2, exp3, exp4, exp5))  # the paper's, whatever others there are
REWARDS = {module.NAME: module.REWARDS for module in (exp1, exp2, exp3, exp4, exp5)}
NOISES = {"exp1": "noise", "exp2": "noise", "exp4": "brownian"}
BEST = {name: "ndigo-1" if name == "exp5" else "ndigo-4" for name in FIVE}


def fails_beside_noise(experiment: str, reward: str) -> Compare:
    """One comparison of two: supported where both are, contradicted where one is. Its figures are the visits'."""
    noise = NOISES.get(experiment, "noise")

    def compare(rows: Rows) -> list[Part]:
        (fails,) = discovers(experiment, reward, is_said=False)(rows)
        (follows,) = ordered(experiment, "visits", noise, ["random"], [reward])(rows)
        both = {fails.status, follows.status}
        status = "contradicted" if "contradicted" in both else "undecided" if "undecided" in both else "supported"
        return [replace(follows, text=f"{fails.text}; {follows.text}", status=status)]

    return compare


ABSTRACT = (
    Claim(
        "quality",
        "NDIGO outperforms state-of-the-art information-seeking methods in terms of the quality of the learned "
        "representation",
        "Abstract",
        "In each experiment the least discovery loss of an NDIGO is below the least of PE, PG and ICM.",
        tuple(row for e, rewards in REWARDS.items() for row in rows_of(e, *rewards)),
        all_of(*(best_beats(name, INFORMED) for name in FIVE)),
    ),
    Claim(
        "others follow noise",
        "other information-seeking methods follow the noise instead of discovering their world",
        "Abstract",
        "PE, PG and ICM see the white noise (Experiments 1, 2) and the Brownian object (4) more often than Random "
        "does.",
        tuple(row for e in NOISES for row in rows_of(e, *BASELINES)),
        all_of(*(ordered(e, "visits", name, ["random"], INFORMED) for e, name in NOISES.items())),
        note="The paper's own tables have ICM near Random in Experiments 1 and 2, and PG near Random in all three.",
    ),
)

CONCLUSION = (
    Claim(
        "conclusion: ndigo",
        "in all these tasks NDIGO produces an effective information seeking strategy capable of discovering the hidden "
        "objects without being distracted by the white noise",
        "Section 7",
        "In every experiment an NDIGO's discovery loss is under half of knowing the room (NDIGO-4; NDIGO-1 in the "
        "maze), and it sees white noise less often than Random.",
        tuple(row for e in FIVE for row in rows_of(e, "random", BEST[e])),
        all_of(
            *(discovers(e, BEST[e]) for e in FIVE),
            *(leaves_alone(e, "noise", [BEST[e]]) for e in FIVE if e != "exp4"),
        ),
    ),
    Claim(
        "conclusion: baselines",
        "the baseline information seeking methods in most cases failed to discover the objects due to the presence of "
        "noise",
        "Section 7",
        "In most of the 15 cases of PE, PG and ICM the loss is over half of knowing the room, and the noise (the "
        "Brownian object in 4) is seen more often than Random sees it.",
        tuple(row for e in FIVE for row in rows_of(e, *BASELINES)),
        all_of(*(fails_beside_noise(e, reward) for e in FIVE for reward in INFORMED)),
        is_of_most=True,
    ),
)


def all_claims() -> tuple[Claim, ...]:
    """In the paper's order; those of an experiment that is not the paper's follow its fifth."""
    return (*ABSTRACT, *(claim for e in EXPERIMENTS.values() for claim in e.claims), *CONCLUSION)
