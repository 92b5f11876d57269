"""Bootstrap intervals against enumeration by hand, and against what is known of them."""

from itertools import product
from statistics import NormalDist

import numpy as np
import pytest
from scipy import stats

from ndigo.report.statistics import (
    bootstrap,
    bootstrap_of,
    estimates,
    interval,
    interval_in_words,
    least,
    mean_of,
    most,
    ratio,
    resamples,
)

NORMAL = NormalDist()


def draws(values):
    """The mean of every ordered draw of as many values with replacement, all equally likely."""
    return np.array([np.mean(draw) for draw in product(values, repeat=len(values))])


def by_hand(theta, thetas, samples):
    """The interval from a list of equally likely resampled values; `samples` has each sample's pulls on the value."""
    k2 = sum(sum(u**2 for u in pulls) / len(pulls) / (len(pulls) - 1) for pulls in samples)
    narrow = sum(sum(u**2 for u in pulls) / len(pulls) ** 2 for pulls in samples)
    k3 = sum(sum(u**3 for u in pulls) / len(pulls) / (len(pulls) - 1) / (len(pulls) - 2) for pulls in samples)
    welch = sum((sum(u**2 for u in p) / len(p) / (len(p) - 1)) ** 2 / (len(p) - 1) for p in samples)
    z = stats.t.ppf(0.975, k2**2 / welch) * (k2 / narrow) ** 0.5
    thetas = np.sort(thetas)
    below, equal = np.mean(thetas < theta - 1e-9), np.mean(abs(thetas - theta) < 1e-9)
    z0, a = NORMAL.inv_cdf(below + equal / 2), k3 / 6 / k2**1.5
    levels = [NORMAL.cdf(z0 + (z0 + s) / (1 - a * (z0 + s))) for s in (-z, z)]
    return [theta, *(thetas[min(int(np.ceil(level * len(thetas) - 1e-9)), len(thetas)) - 1] for level in levels)]


def test_resamples_of_ten_are_all_compositions_of_ten_with_their_chances():
    shares, chances = resamples(10)
    assert shares.shape == (92378, 10)
    assert len(np.unique(shares, axis=0)) == 92378
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert chances.sum() == pytest.approx(1)
    # Seven of ten seeds alone: 0.7^10 of the draws.
    assert chances[shares[:, 7:].sum(axis=1) == 0].sum() == pytest.approx(0.7**10)


@pytest.mark.parametrize("values", [[1.0, 2.0, 4.0, 8.0, 9.5], [0.0, 0.0, 0.0, 3.0, 7.0], [5.0, 1.0, 1.5, 2.0, 2.5]])
def test_an_interval_is_that_of_every_ordered_draw(values):
    expected = by_hand(np.mean(values), draws(values), [np.array(values) - np.mean(values)])
    np.testing.assert_allclose(interval(mean_of(np.array(values))), expected)


def test_a_difference_of_two_samples_is_that_of_every_pair_of_draws():
    a, b = np.array([1.0, 2.0, 4.0, 9.0, 3.0]), np.array([0.0, 1.0, 12.0, 2.0, 0.5])  # as skewed
    found = interval(mean_of(a, "a") - mean_of(b, "b"))
    pairs = np.subtract.outer(draws(a), draws(b)).ravel()
    expected = by_hand(a.mean() - b.mean(), pairs, [a - a.mean(), b.mean() - b])
    np.testing.assert_allclose(found, expected, atol=4e-4)  # 20 / 2^16


def test_least_most_and_ratio_are_those_of_every_pair_of_draws():
    a, b = np.array([2.0, 3.0, 5.0, 9.0, 4.0]), np.array([3.0, 3.5, 6.0, 3.2, 4.1])
    x, y = (x.ravel() for x in np.meshgrid(draws(a), draws(b)))
    ours, theirs = mean_of(a, "a"), mean_of(b, "b")
    mean_a, mean_b = a.mean(), b.mean()
    alone = [b - mean_b, np.zeros(5)]
    np.testing.assert_allclose(interval(least(ours, theirs)), by_hand(mean_b, np.minimum(x, y), alone), atol=2e-4)
    np.testing.assert_allclose(
        interval(most(ours, theirs)), by_hand(mean_a, np.maximum(x, y), [a - mean_a, np.zeros(5)]), atol=2e-4
    )
    pulls = [(a - mean_a) / mean_b, -(b - mean_b) * mean_a / mean_b**2]
    expected = by_hand(mean_a / mean_b, x / y, pulls)
    for unit in (0.001, 1, 1000):
        found = np.array(interval(ratio(mean_of(unit * a, "a"), theirs)))
        np.testing.assert_allclose(found / unit, expected, rtol=2e-4)


def test_seven_seeds_of_zero_leave_zero_inside_the_interval():
    """A resample has no other in 2.8% of draws: more than any interval of 95% leaves out on one side."""
    values = np.array([0.0] * 7 + [300.0, 350.0, 400.0])
    assert interval(mean_of(values)).low == 0
    assert interval(mean_of(values, "a") - mean_of(np.full(10, 19.2), "b")).low == pytest.approx(-19.2, abs=1e-2)


def test_two_samples_of_equal_values_are_resampled_apart():
    values = np.array([1.0, 2.0, 4.0])
    apart = interval(mean_of(values, "a") - mean_of(values, "b"))
    assert apart.low < -0.5
    assert apart.high > 0.5
    with pytest.raises(ValueError, match="share a sample"):
        _ = mean_of(values, "a") - mean_of(values, "a")


def test_the_interval_of_many_normal_values_is_196_standard_errors_wide():
    values = np.random.default_rng(2).normal(3.0, 2.0, size=1000)
    mean, low, high = bootstrap(values)
    error = values.std() / np.sqrt(1000)
    assert mean == values.mean()
    assert low == pytest.approx(values.mean() - 1.96 * error, abs=0.1 * error)
    assert high == pytest.approx(values.mean() + 1.96 * error, abs=0.1 * error)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draw", "mean", "covers", "misses"), [("normal", 0.0, 0.93, 0.15), ("lognormal", 0.5, 0.88, 0.21)]
)
def test_intervals_of_ten_seeds_hold_the_truth_as_often_as_the_docs_say(draw, mean, covers, misses):
    """How often one holds the true mean, and how often an equal row's mean lies outside it."""
    rng = np.random.default_rng(3)
    true_mean = np.exp(mean) if draw == "lognormal" else mean
    holds, outside = [], []
    for _ in range(20):  # some at a time: every resample of every column takes memory
        ours, theirs = getattr(rng, draw)(size=(2, 10, 40))
        _, low, high = bootstrap(ours)
        holds.append((low <= true_mean) & (true_mean <= high))
        outside.append((theirs.mean(axis=0) < low) | (theirs.mean(axis=0) > high))
    assert np.mean(holds) >= covers
    assert np.mean(outside) == pytest.approx(misses, abs=0.03)


def test_of_fewer_than_five_the_interval_is_the_lowest_to_the_highest():
    rng = np.random.default_rng(4)
    for n in (2, 3, 4):
        values = rng.normal(size=(n, 50))
        np.testing.assert_array_equal(bootstrap(values)[1:], [values.min(axis=0), values.max(axis=0)])
        assert "too few" in interval_in_words(n)
    values = rng.normal(size=(5, 50))
    _, low, high = bootstrap(values)
    assert (low > values.min(axis=0)).any()
    assert (high < values.max(axis=0)).any()
    assert interval_in_words(5) == "95% bootstrap interval"


def test_equal_values_have_an_interval_of_no_width_and_one_value_has_none():
    assert estimates(np.full((5, 1), 2.0)) == [(2.0, 2.0, 2.0)]
    (only,) = estimates(np.array([[4.0]]))
    assert only.mean == 4.0
    assert np.isnan([only.low, only.high]).all()
    assert np.isnan(interval(mean_of(np.array([4.0]), "a") - mean_of(np.arange(10.0), "b"))[1:]).all()
    assert estimates(np.zeros((3, 0))) == []


@pytest.mark.parametrize(("a", "b"), [(0.9, 0.1), (0.1, 0.3), (1 / 3, 1e6)])
def test_samples_whose_values_differ_by_rounding_alone_are_compared(a, b):
    """A mean of five times 0.9 is now and then 0.9 and one bit: such a spread is too small for a grid."""
    ours, theirs = (mean_of(np.full(5, x), name) for name, x in (("ours", a), ("theirs", b)))
    assert ours.points.min() < ours.points.max() or theirs.points.min() < theirs.points.max()
    for quantity, expected in (
        (ours - theirs, a - b),
        (least(ours, theirs), min(a, b)),
        (most(ours, theirs), max(a, b)),
    ):
        np.testing.assert_allclose(interval(quantity), expected, rtol=1e-9)


def test_every_column_is_a_mean_of_its_own():
    values = np.random.default_rng(1).normal(size=(10, 2, 3))
    found = np.array(bootstrap(values))
    for i, j in product(range(2), range(3)):
        np.testing.assert_allclose(found[:, i, j], interval(mean_of(values[:, i, j])))


def test_a_resample_without_the_statistic_does_not_count():
    # A ratio of sums of which one unit alone has a part: where it was not drawn, there is no ratio.
    parts = np.zeros((3, 2))
    parts[0] = 6.0, 2.0
    with np.errstate(invalid="ignore"):
        assert bootstrap_of(lambda mean: mean[..., 0] / mean[..., 1], parts) == (3.0, 3.0, 3.0)


def test_an_interval_rests_on_the_resamples_that_have_the_statistic_alone():
    """A mean that is none where neither of the first two of six units was drawn: 4^6 of 6^6 draws."""
    values = np.array([1.0, 2.0, 4.0, 8.0, 9.5, 5.0])
    drawn = np.array(list(product(range(6), repeat=6)))
    kept = values[drawn[(drawn < 2).any(axis=1)]].mean(axis=1)
    assert 6**6 - len(kept) == 4**6
    found = bootstrap_of(
        lambda mean: np.where(mean[..., 1] > 0, mean[..., 0], np.nan), np.stack([values, np.arange(6) < 2], axis=1)
    )
    np.testing.assert_allclose(found, by_hand(values.mean(), kept, [values - values.mean()]))
