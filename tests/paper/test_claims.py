"""Verdicts on made-up rows: one set in which the paper is right, one in which everything is the other way round."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from made_up_rows import numbers_of
from reference.maps import maze

from ndigo.paper.claims import Part, above, below, decide, judge, less, no_difference
from ndigo.paper.comparisons import half_of_knowing_the_room, known_after, prior
from ndigo.paper.conclusion import part_text
from ndigo.paper.experiments import EXPERIMENTS, Row
from ndigo.paper.experiments.across import all_claims
from ndigo.paper.measured import MeasuredRow
from ndigo.paper.plan import all_rows
from ndigo.report import statistics
from ndigo.report.statistics import Estimate, mean_of

CLAIMS = all_claims()
ROWS = [row for row in all_rows() if row.reward in EXPERIMENTS[row.experiment].rewards]  # no claim is about others
# Rows of numbers: random, pe, pg, icm, then the experiment's NDIGOs.
RIGHT: dict[tuple[str, str, str], tuple[float, ...]] = {
    ("exp1", "discovery_loss", "fixed"): (3.8, 3.85, 3.7, 3.0, 0.8, 0.5, 0.2),
    ("exp1", "visits", "fixed"): (15, 1, 30, 100, 120, 150, 300),
    ("exp1", "visits", "noise"): (25, 158, 40, 40, 19, 7, 1),
    ("exp1", "first_visit", "fixed"): (340, 390, 300, 130, 78, 60, 40),
    ("exp2", "discovery_loss", "fixed"): (4.9, 4.9, 4.8, 1.8, 1.2, 1.2, 1.2),
    ("exp2", "visits", "fixed"): (20, 1, 30, 50, 150, 200, 250),
    ("exp2", "visits", "noise"): (50, 160, 100, 100, 12, 3, 5),
    ("exp2", "first_visit", "fixed"): (330, 390, 310, 300, 80, 100, 120),
    ("exp3", "discovery_loss", "upper"): (3.6, 3.7, 3.6, 3.5, 0.9, 1.0, 1.1),
    ("exp3", "discovery_loss", "lower"): (3.6, 3.7, 3.6, 3.5, 0.9, 1.0, 1.1),
    ("exp3", "visits", "upper"): (20, 1, 20, 80, 40, 108, 198),
    ("exp3", "visits", "lower"): (20, 1, 20, 89, 45, 31, 44),
    ("exp3", "visits", "noise"): (20, 160, 20, 20, 5, 4, 3),
    ("exp3", "first_visit", "upper"): (300, 340, 300, 175, 34, 118, 64),
    ("exp3", "first_visit", "lower"): (300, 390, 300, 128, 39, 312, 320),
    ("exp4", "discovery_loss", "fixed"): (3.5, 3.9, 3.5, 3.8, 3.9, 3.9, 0.3),
    ("exp4", "visits", "brownian"): (17, 357, 60, 358, 356, 350, 0.4),
    ("exp4", "visits", "fixed"): (41, 0.1, 38, 0.5, 0.1, 0.1, 290),
    **{("exp5", "discovery_loss", f"fixed{room}"): (3.0, 3.1, 3.0, 2.9, 1.3, 1.3, 1.36, 1.34) for room in (2, 3, 4)},
    ("exp5", "discovery_loss", "movable"): (3.0, 3.1, 3.0, 2.9, 1.4, 1.4, 1.46, 1.44),
    ("exp5", "visits", "noise"): (60, 160, 60, 60, 5, 5, 5, 5),
    ("exp5", "frequency", "noise"): (1.0,) * 8,
    **{("exp5", "frequency", f"fixed{room}"): (0, 0, 0, 0, 0.7, 0.8, 0.5, 0.6) for room in (2, 3, 4)},
    ("exp5", "frequency", "movable"): (0, 0, 0, 0, 0.7, 0.8, 0, 0),
}  # fmt: skip
ORDER = ("random", "pe", "pg", "icm", "ndigo-1", "ndigo-2", "ndigo-4")
MAZE_ORDER = (*ORDER[:-1], "ndigo-5", "ndigo-10")
MOST = {"exp1": 4.5, "exp2": 5.0, "exp3": 4.5, "exp4": 4.5, "exp5": 4.0}  # nats
# Where the best of several is compared, turning each number round does not turn the order.
WRONG: dict[tuple[str, str, str], tuple[float, ...]] = {
    ("exp3", "visits", "upper"): (100, 100, 100, 100, 1, 1, 1),
    ("exp3", "visits", "lower"): (100, 100, 100, 1, 50, 50, 50),
    ("exp3", "first_visit", "upper"): (50, 50, 50, 50, 390, 390, 390),
    ("exp3", "first_visit", "lower"): (50, 50, 50, 50, 390, 390, 390),
}


def world_of(is_right: bool, spread: float = 0.01) -> dict[Row, object]:
    """The paper's rows; wrong ones have a constant minus each number, so that every order is the other way round."""

    def choose(row: Row, metric: str, name: str) -> float | None:
        if metric == "tracking":
            return 0.05 if is_right else 3.9
        if metric == "reward":  # by channel
            return (2.0 if name == "noise" else 0.1) if is_right else (0.1 if name == "noise" else 2.0)
        numbers = RIGHT.get((row.experiment, metric, name))
        if numbers is None:
            return None
        x = numbers[(MAZE_ORDER if row.experiment == "exp5" else ORDER).index(row.reward)]
        if is_right:
            return x
        if (row.experiment, metric, name) in WRONG:
            return WRONG[row.experiment, metric, name][ORDER.index(row.reward)]
        if metric == "frequency":
            return 0.0 if x else 0.9
        if (row, metric) == (Row("exp2", "ndigo-4"), "discovery_loss"):
            x += 0.5  # one sentence says that variants are alike
        return (MOST[row.experiment] if metric == "discovery_loss" else 400) - x

    # Five seeds have 126 resamples, ten 92,378: rows as clear as these need no more.
    return {row: numbers_of(row, lambda metric, name, row=row: choose(row, metric, name), spread, 5) for row in ROWS}


@pytest.fixture(scope="module")
def right():
    return world_of(is_right=True)


@pytest.fixture(scope="module")
def wrong():
    return world_of(is_right=False)


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_every_claim_holds_where_it_is_true_and_not_where_the_opposite_is(claim, right, wrong):
    true, false = judge(claim, right), judge(claim, wrong)
    assert true.verdict == "holds", [part for part in true.parts if part.status != "supported"]
    assert false.verdict == "does not hold", [part for part in false.parts if part.status != "contradicted"]
    named = {row for part in true.parts for row in part.rows}
    assert named <= set(claim.needs)  # what is compared is what is asked for


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_a_claim_without_a_cell_it_needs_says_which(claim, right):
    gone = claim.needs[-1]
    judged = judge(claim, {row: numbers for row, numbers in right.items() if row != gone})
    assert (judged.verdict, judged.missing, judged.parts) == ("rows missing", (gone,), ())


def part(status: str, is_essential: bool = False) -> Part:
    return Part("", "", Estimate(0, 0, 0), status, (), is_essential)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("statuses", "verdict"),
    [
        ("sss", "holds"),
        ("ssu", "holds in part"),
        ("ssc", "holds in part"),
        ("uuu", "undecided"),
        ("ucu", "does not hold"),
        ("ccc", "does not hold"),
        ("ssC", "does not hold"),  # a capital is essential
        ("ssU", "holds in part"),
    ],
)
def test_verdicts_follow_the_rules(statuses, verdict):
    words = {"s": "supported", "u": "undecided", "c": "contradicted"}
    assert decide([part(words[s.lower()], s.isupper()) for s in statuses]) == verdict


@pytest.mark.parametrize(
    ("statuses", "verdict"),
    [("sscc", "holds in part"), ("sssc", "holds"), ("cccs", "does not hold"), ("uuuu", "undecided")],
)
def test_a_claim_of_most_goes_by_more_than_half(statuses, verdict):
    words = {"s": "supported", "u": "undecided", "c": "contradicted"}
    assert decide([part(words[s]) for s in statuses], is_of_most=True) == verdict


def test_a_coarser_grid_leaves_every_comparison_as_it_is(monkeypatch):
    """Of rows with every kind of seed: some that never see the object, some alike, some far off."""
    rng = np.random.default_rng(0)

    def noisy(row: Row) -> MeasuredRow:
        made = numbers_of(row)
        final = {name: x * rng.lognormal(0, 0.5, x.shape).round(1) for name, x in made.final.items()}
        final["visits"] = 20 * final["first_visit"] * (rng.random(final["visits"].shape) < 0.3)
        return dataclasses.replace(made, final=final)

    rows = {row: noisy(row) for row in ROWS}
    claims = [claim for claim in CLAIMS if claim.name.startswith(("exp1", "exp3"))]
    found = []
    for grid in (statistics.GRID, statistics.GRID // 8):
        monkeypatch.setattr(statistics, "GRID", grid)
        found.append([part.status for claim in claims for part in judge(claim, rows).parts])
    assert found[0] == found[1]
    assert {"contradicted", "undecided"} <= set(found[0])


def test_what_overlaps_is_undecided_and_one_seed_decides_nothing():
    rng = np.random.default_rng(0)
    a, b = mean_of(rng.normal(0, 1, 10), "a"), mean_of(rng.normal(0.1, 1, 10), "b")
    assert less("", a, b, []).status == "undecided"
    assert no_difference("", a, b, []).status == "supported"
    alone, also = mean_of(np.array([3.0]), "a"), mean_of(np.array([3.0]), "b")
    assert above("", alone, 0.0, []).status == "undecided"
    assert no_difference("", alone, also, []).status == "undecided"
    same, other = mean_of(np.full(10, 400.0), "a"), mean_of(np.full(10, 400.0), "b")
    assert less("", same, other, []).status == "contradicted"  # nobody ever saw it: not sooner
    assert [side("", same, 400.0, []).status for side in (above, below)] == ["contradicted"] * 2  # neither holds at 400


def test_a_claim_that_fails_shows_what_was_paid_for(right, wrong):
    (claim,) = [claim for claim in CLAIMS if claim.name == "exp4 only ndigo-4"]
    assert judge(claim, right).evidence == ()
    mixed = {**right, Row("exp4", "ndigo-4"): dataclasses.replace(wrong[Row("exp4", "ndigo-4")])}
    judged = judge(claim, mixed)
    assert judged.verdict == "does not hold"
    assert "exp4-ndigo-4 is paid per step: walls 2.0000, brownian 2.0000, fixed 2.0000" in judged.evidence


def test_knowing_the_room_costs_the_log_of_its_cells():
    levels = [prior(name) for name in ("exp1", "exp2", "exp3", "exp5")]
    # Counted in the maze's drawing: a fixed object avoids the mouths of its room's corridors, a movable one does not.
    drawn = maze()
    num_cells = [len(drawn.rooms[room]) - len(drawn.mouths(room)) for room in ("room2", "room3", "room4")]
    assert num_cells == [28, 18, 18]
    maze_level = np.log([*num_cells, len(drawn.rooms["room5"])]).mean()
    assert levels == pytest.approx([*np.log([48, 144, 48]), maze_level])
    halves = [half_of_knowing_the_room(name) for name in ("exp1", "exp5")]
    assert halves == pytest.approx([np.log(48) / 2, maze_level / 2])


def test_numbers_of_a_row_are_of_the_objects_steps_and_evaluations_that_they_say():
    """By loops over two seeds; the second never sees the lower object."""
    row, rng = Row("exp3", "pe"), np.random.default_rng(0)
    made = numbers_of(row, seeds=2)
    loss, steps = rng.random(made.tracking_loss.shape), rng.integers(1, 9, made.tracking_steps.shape).astype(float)
    lower = made.objects.index("lower")
    steps[1, lower] = 0
    curve, paid = rng.random((3, 2, len(made.objects))), rng.random((3, 2, len(made.channels)))
    curves, tracked = {"discovery_loss": curve}, {"tracking_loss": loss, "tracking_steps": steps}
    numbers = dataclasses.replace(made, reward_c=paid, curves=curves, **tracked)
    weights = [(steps[0, lower, age], loss[0, lower, age]) for age in range(10, 31)]
    known = sum(n * x for n, x in weights) / sum(n for n, _ in weights)
    found = known_after({row: numbers}, "exp3", "pe", "lower", slice(10, 31))
    assert found.value == pytest.approx(np.mean([known, np.log(48)]))
    both = [made.objects.index(name) for name in ("upper", "lower")]
    np.testing.assert_allclose(
        numbers.discovery_curve(), [[(curve[p, s, both]).mean() for p in range(3)] for s in (0, 1)]
    )
    split = numbers.reward_split()
    assert [split[name].mean for name in made.channels] == pytest.approx(paid[2].mean(axis=0))


def test_a_comparison_without_an_interval_is_its_number_alone():
    part = Part("a below b", "1 against 4, difference", Estimate(3.0, np.nan, np.nan), "undecided", ())
    assert part_text(part) == "a below b: 1 against 4, difference 3.00, undecided"
