"""Bootstrap intervals against what is known of them."""

import numpy as np
import pytest

from ndigo.report.statistics import bootstrap, bootstrap_of, estimates


def test_the_mean_is_the_mean_and_lies_inside():
    values = np.random.default_rng(1).normal(size=(10, 4))
    mean, low, high = bootstrap(values)
    np.testing.assert_allclose(mean, values.mean(axis=0))
    assert (low < mean).all()
    assert (mean < high).all()


def test_the_interval_of_many_normal_values_is_196_standard_errors_wide():
    values = np.random.default_rng(2).normal(3.0, 2.0, size=1000)
    _, low, high = bootstrap(values)
    error = values.std() / np.sqrt(1000)
    assert low == pytest.approx(values.mean() - 1.96 * error, abs=0.15 * error)
    assert high == pytest.approx(values.mean() + 1.96 * error, abs=0.15 * error)


def test_intervals_of_ten_seeds_hold_the_truth_about_as_often_as_they_say():
    """Percentile intervals of 10 values are known to be a little narrow: about 90%."""
    values = np.random.default_rng(3).normal(size=(10, 2000))
    _, low, high = bootstrap(values)
    assert 0.86 < ((low < 0) & (high > 0)).mean() < 0.95


def test_the_same_values_give_the_same_interval():
    values = np.arange(7.0)
    assert bootstrap(values) == bootstrap(values)


def test_equal_values_have_an_interval_of_no_width_and_one_value_has_none():
    assert estimates(np.full((5, 1), 2.0)) == [(2.0, 2.0, 2.0)]
    (only,) = estimates(np.array([[4.0]]))
    assert only.mean == 4.0
    assert np.isnan([only.low, only.high]).all()
    assert estimates(np.zeros((3, 0))) == []


@pytest.mark.parametrize(
    ("draw", "mean", "covers", "misses"), [("normal", 0.0, 0.89, 0.23), ("lognormal", 0.5, 0.80, 0.30)]
)
def test_intervals_of_ten_seeds_are_as_narrow_as_the_docs_say(draw, mean, covers, misses):
    """How often one holds the true mean, and how often an equal cell's mean lies outside it."""
    rng = np.random.default_rng(1)
    ours, theirs = getattr(rng, draw)(size=(2, 10, 4000))
    true_mean = np.exp(mean) if draw == "lognormal" else mean
    _, low, high = bootstrap(ours)
    assert np.mean((low <= true_mean) & (true_mean <= high)) == pytest.approx(covers, abs=0.02)
    outside = (theirs.mean(axis=0) < low) | (theirs.mean(axis=0) > high)
    assert np.mean(outside) == pytest.approx(misses, abs=0.02)


def test_a_resample_without_the_statistic_does_not_count():
    # A ratio of sums of which one unit alone has a part: where it was not drawn, there is no ratio.
    parts = np.zeros((3, 2))
    parts[0] = 6.0, 2.0
    with np.errstate(invalid="ignore"):
        assert bootstrap_of(lambda mean: mean[..., 0] / mean[..., 1], parts) == (3.0, 3.0, 3.0)
