"""Statistics against examples worked by hand, scipy, and what must hold for any numbers."""

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from interlace.core.errors import DataError
from interlace.scores.examples import (
    Examples,
    approximate_randomization,
    crossed_test,
)
from interlace.scores.statistics import (
    ALPHA,
    DRAWS,
    difference_interval,
    holm,
    mean_interval,
    permutation_test,
    rank_correlation,
    spearman,
)

numbers = st.floats(-1e3, 1e3, allow_nan=False).map(lambda x: round(x, 3))


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def test_mean_interval_of_three_values_and_none_of_one():
    found = mean_interval([1.0, 2.0, 3.0])
    assert (found.value, found.n) == (2.0, 3)
    # t(0.975, 2) times the standard error
    assert found.half_width == pytest.approx(4.302653 / math.sqrt(3), abs=1e-5)
    assert math.isnan(mean_interval([5.0]).low)
    assert math.isnan(difference_interval([5.0], [1.0, 2.0]).half_width)
    constant = difference_interval([2.0, 2.0], [1.0, 1.0])
    assert (constant.low, constant.high, constant.n) == (1.0, 1.0, 2)


def test_p_values_of_the_most_extreme_splits(rng):
    assert permutation_test([4, 5, 6], [1, 2, 3], rng) == 2 / 20
    a, b = rng.normal(1.0, 1.0, 12), rng.normal(0.0, 1.0, 12)  # 2.7 million splits
    expected = scipy.stats.ttest_ind(a, b).pvalue
    assert permutation_test(a, b, rng) == pytest.approx(expected, rel=0.3, abs=0.005)
    assert permutation_test(a + 100, b, rng) == 1 / (1 + DRAWS)


def welch_t(x, y, axis=-1):
    """The absolute value of Welch's t, as its definition says; 0 for equal means, also without variance."""
    errors = x.var(axis, ddof=1) / x.shape[axis] + y.var(axis, ddof=1) / y.shape[axis]
    difference = np.abs(x.mean(axis) - y.mean(axis))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(difference < 1e-9, 0, difference / np.sqrt(errors))


@given(st.permutations(range(8)), st.integers(2, 4))
def test_exact_permutation_test_matches_scipy(values, size):
    x = np.float64(values[:size]) ** 2  # squares: else rounding decides between ties
    y = np.float64(values[size:]) ** 2
    options = {"n_resamples": np.inf, "alternative": "greater"}
    permuted = scipy.stats.permutation_test((x, y), welch_t, **options)
    expected = max(permuted.pvalue, scipy.stats.ttest_ind(x, y, equal_var=False).pvalue)
    assert permutation_test(x, y, np.random.default_rng(0)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("a", "b", "p"),
    [
        ([1, 1, 1], [1, 1, 1], 1.0),
        ([2, 2, 2], [1, 1, 1], 2 / 20),
        ([5], [1, 2, 3], 1 / 4),  # a single run has no variance of its own
        ([2, 2], [2, 2, 2, 2], 1.0),
    ],
)
def test_permutation_test_without_variance(a, b, p, rng):
    assert permutation_test(a, b, rng) == pytest.approx(p)


SIMULATIONS = 1000
SYSTEMS, CONDITIONS, ITEMS = 6, 3, 40


def runs_of_items(rng, difficulty, seeds=5):
    """Runs of one system that are right in items at random: runs, systems and items have effects of their own."""
    own = rng.normal(size=ITEMS)
    effects = (
        difficulty + own + 0.5 * rng.normal(size=(seeds, 1)) + rng.normal(size=(seeds, ITEMS))
    )
    return [Examples((row > 0).astype(float), np.ones(ITEMS)) for row in effects]


def of_runs(rng):
    return permutation_test(*rng.exponential(size=(2, 5)), rng)


def of_examples(rng):
    shared = rng.normal(size=ITEMS // 2).repeat(2)  # pairs of examples of one premise
    a, b = (shared * sign + rng.normal(size=ITEMS) > 0 for sign in (1, -1))
    ones, groups = np.ones(ITEMS), np.arange(ITEMS) // 2
    return approximate_randomization(
        *(Examples(x.astype(float), ones, groups=groups) for x in (a, b)), rng, 199
    )


def of_runs_and_examples(rng):
    difficulty = rng.normal(size=ITEMS)
    return crossed_test(runs_of_items(rng, difficulty), runs_of_items(rng, difficulty))[1]


def of_correlation(rng):
    systems, conditions = rng.normal(size=(2, 1, SYSTEMS)), 3 * rng.normal(size=(CONDITIONS, 1))
    return spearman(*(systems + conditions + rng.normal(size=(2, CONDITIONS, SYSTEMS))), rng).p


@pytest.mark.parametrize("test", [of_runs, of_examples, of_runs_and_examples, of_correlation])
def test_level_without_a_difference(test):
    """At most 6.5 % of 1,000 differences without a cause are significant, and the test is not idle."""
    rng = np.random.default_rng(3)
    share = np.mean([test(rng) < ALPHA for _ in range(SIMULATIONS)])
    assert 0.01 < share <= 0.065


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=4, max_size=12))
def test_spearman_matches_scipy(pairs):
    a, b = zip(*pairs, strict=True)
    found = spearman(a, b, np.random.default_rng(0))
    if len(set(a)) == 1 or len(set(b)) == 1:
        assert math.isnan(found.rho)
    else:
        assert found.rho == pytest.approx(scipy.stats.spearmanr(a, b).statistic)


def test_spearman_within_conditions_by_hand(rng):
    """Differences between conditions do not count, and columns of ranks (-1, 0), (0, -1), (1, 1) stay together."""
    found = spearman([[1, 2, 3], [101, 102, 103]], [[1, 2, 3], [-98, -99, -97]], rng)
    # sums of products of centered ranks, over 2 + 2
    assert found.rho == pytest.approx((2 + 1) / 4)
    # as far from 0 wherever the last column is at an end
    assert (found.p, found.n) == (
        4 / 6,
        3,
    )
    points = {
        "x": {"a": (1, 1), "b": (2, 2), "c": (3, 3), "d": (9, 0)},
        "y": {"a": (1, 1), "b": (2, 2), "c": (3, 3)},
        "alone": {"a": (0, 0)},
    }
    # d has no y
    assert rank_correlation(points, rng) == (
        spearman([[1, 2, 3]] * 2, [[1, 2, 3]] * 2, rng),
        2,
    )


@pytest.mark.parametrize("values", [[], [1.0, math.nan], [[1.0]]])
def test_rejects_values_that_are_no_row_of_numbers(values):
    with pytest.raises(DataError, match="values: expected a row of finite numbers"):
        mean_interval(values)
