"""The paper's numbers: some read off the page by hand, and the shape of every table."""

import pytest

from ndigo.paper.experiment import Mean
from ndigo.paper.experiments import EXPERIMENTS

PAPER = {name: experiment.printed.tables for name, experiment in EXPERIMENTS.items()}


@pytest.mark.parametrize(
    ("experiment", "metric", "reward", "name", "number"),
    [
        ("exp1", "visits", "random", "fixed", (14.1, 14.3)),
        ("exp1", "visits", "pe", "noise", (158.3, 3.7)),
        ("exp1", "first_visit", "ndigo-4", "fixed", (40.8, 9.7)),
        ("exp2", "first_visit", "ndigo-1", "fixed", (101.1, 31.1)),
        ("exp2", "visits", "random", "noise", (51.0, 15.8)),
        ("exp3", "visits", "icm", "lower", (89.1, 28.6)),
        ("exp4", "first_visit", "ndigo-4", "fixed", (68.4, 29.8)),
        ("exp4", "visits", "pg", "brownian", (23.0, 14.0)),
        ("exp5", "frequency", "icm", "fixed2", (26.8, 25.7)),
        ("exp5", "first_visit", "random", "noise", (15.1, 18.6)),
        ("exp5", "frequency", "ndigo-2", "movable", (81.5, 22.5)),
    ],
)
def test_numbers_are_as_printed(experiment, metric, reward, name, number):
    assert EXPERIMENTS[experiment].printed.mean(metric, reward, name) == number


def test_a_dash_and_a_missing_row_are_both_none():
    assert PAPER["exp5"]["frequency"]["pe"]["fixed2"] is None
    assert "random" not in PAPER["exp3"]["visits"]
    printed = EXPERIMENTS["exp3"].printed
    assert printed.mean("visits", "random", "upper") is None
    assert printed.text("visits", "random", "upper") == ""
    assert EXPERIMENTS["exp5"].printed.text("frequency", "pe", "fixed2") == "-"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_table_has_the_experiments_rewards_and_objects(name):
    experiment = EXPERIMENTS[name]
    rewards = [r for r in experiment.rewards if not (name == "exp3" and r in ("random", "pg"))]
    objects = [o for o in experiment.world.objects if not (name == "exp3" and o == "noise")]
    assert list(PAPER[name]) == (["frequency", "first_visit"] if name == "exp5" else ["visits", "first_visit"])
    for table in PAPER[name].values():
        assert list(table) == rewards
        assert all(list(row) == objects for row in table.values())


def test_every_number_lies_in_its_metrics_range():
    top = {"visits": 400, "first_visit": 400, "frequency": 100}
    numbers = [
        (m, number)
        for tables in PAPER.values()
        for m, t in tables.items()
        for row in t.values()
        for number in row.values()
    ]
    printed_numbers = [(metric, number) for metric, number in numbers if number is not None]
    assert len(numbers) == 2 * (3 * 7 * 2 + 5 * 2) + 2 * 8 * 5
    assert all(isinstance(number, Mean) and 0 <= number.mean <= top[metric] for metric, number in printed_numbers)
    assert all(number.spread >= 0 for _, number in printed_numbers)
