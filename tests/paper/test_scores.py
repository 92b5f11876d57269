"""Normalised scores from made-up rows and reference agents."""

from __future__ import annotations

import dataclasses
import json
from itertools import product

import numpy as np
import pytest
from made_up_rows import numbers_of

from ndigo.paper.experiments import EXPERIMENTS, Row
from ndigo.paper.scores import aggregate, as_json, bounds, interquartile_mean, profile, scores, scores_figure
from ndigo.report.statistics import Estimate
from ndigo.report.tables import Line


def reference(label: str, loss: float | None, first: float) -> Line:
    values = {"first_visit": {"fixed": Estimate(first, first, first)}}
    if loss is not None:
        values["discovery_loss"] = {"fixed": Estimate(loss, loss, loss)}
    return Line(label, "", values)


@pytest.fixture
def references(monkeypatch):
    """A walker at 3 nats and 300 steps; of the others one knows most and another is first."""
    lines = [reference("random", 3.0, 300.0), reference("search", None, 10.0), reference("planner", 0.5, 20.0)]
    monkeypatch.setattr(
        "ndigo.paper.scores.reference_lines", lambda experiment: lines if experiment.name in ("exp1", "exp2") else []
    )


def numbers(experiment: str, reward: str, loss, first):
    made = numbers_of(Row(experiment, reward))
    final = {name: x.copy() for name, x in made.final.items()}
    final["discovery_loss"][:, 0], final["first_visit"][:, 0] = loss, first
    return dataclasses.replace(made, final=final)


def test_a_random_walk_scores_0_and_the_best_known_path_1(references):
    assert bounds(EXPERIMENTS["exp1"]) == {
        ("discovery_loss", "fixed"): (3.0, 0.5),
        ("first_visit", "fixed"): (300.0, 10.0),
    }
    loss = np.linspace(3.0, 0.5, 10)  # from the walker's to the best
    found = scores(
        {Row("exp1", "pe"): numbers("exp1", "pe", loss, 155.0), Row("exp3", "pe"): numbers_of(Row("exp3", "pe"))}
    )
    # Half of each seed's score is the first visit's, half way between 300 and 10.
    np.testing.assert_allclose(found["pe"]["exp1"], 0.5 * np.linspace(0, 1, 10) + 0.25)
    assert list(found["pe"]) == ["exp1"]  # where nothing is known of reference agents, there is no score


def test_the_interquartile_mean_leaves_out_a_quarter_at_each_end():
    np.testing.assert_allclose(interquartile_mean(np.array([-99.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 99.0])), 3.5)
    by_experiment = {"exp1": np.zeros(10), "exp2": np.ones(10)}
    # 20 numbers less 5 at each end: five 0s and five 1s, whichever seeds are drawn.
    assert aggregate(by_experiment) == (0.5, 0.5, 0.5)
    # Every draw of three seeds of each: six numbers less the least and the greatest.
    one, two = (0.0, 1.0, 2.0), (1.0, 4.0, 9.0)
    drawn = [sorted((*x, *y))[1:-1] for x in product(one, repeat=3) for y in product(two, repeat=3)]
    expected = (2.0, *np.quantile(np.mean(drawn, axis=1), [0.025, 0.975]))
    assert aggregate({"exp1": np.array(one), "exp2": np.array(two)}) == pytest.approx(expected)


def test_a_profile_is_the_share_of_seeds_above_tau():
    by_experiment = {"exp1": np.array([0.1, 0.9]), "exp2": np.array([0.5])}
    np.testing.assert_allclose(profile(by_experiment, np.array([0.0, 0.3, 0.5, 0.95])), [1.0, 0.75, 0.25, 0.0])


def test_the_file_has_a_table_of_seeds_and_experiments_for_every_reward(references):
    rows = {
        Row(e, r): numbers(e, r, 0.5, first) for e in ("exp2", "exp1") for r, first in (("icm", 10.0), ("pe", 300.0))
    }
    found = scores(rows)
    loaded = json.loads(as_json(found))
    assert loaded["tasks"] == {"pe": ["exp1", "exp2"], "icm": ["exp1", "exp2"]}  # in the experiments' order
    tables = {name: np.array(x) for name, x in loaded["scores"].items()}
    np.testing.assert_allclose(tables["icm"], np.ones((10, 2)))
    np.testing.assert_allclose(tables["pe"], np.full((10, 2), 0.5))
    figure = scores_figure(found)
    assert figure is not None
    left, right = figure.axes
    assert [text.get_text() for text in left.get_yticklabels()] == ["pe (2)", "icm (2)"]
    icm = next(line for line in right.get_lines() if line.get_label() == "icm")
    taus, share = np.asarray(icm.get_xdata()), np.asarray(icm.get_ydata())
    np.testing.assert_array_equal(share, taus < 1 - 1e-9)
    assert scores_figure({}) is None
