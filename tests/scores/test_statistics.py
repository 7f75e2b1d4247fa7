"""Statistics against examples worked by hand, scipy, and what must hold for any numbers."""

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from interlace.core.errors import DataError
from interlace.scores.examples import Examples, approximate_randomization
from interlace.scores.statistics import (
    cliffs_delta,
    cohens_d,
    difference_interval,
    holm,
    mean_interval,
    permutation_test,
    sign_flip_test,
    spearman,
)

numbers = st.floats(-1e3, 1e3, allow_nan=False).map(lambda x: round(x, 3))


@pytest.fixture
def rng():
    return np.random.default_rng(7)


# ---- intervals ----


def test_mean_interval_of_three_values():
    found = mean_interval([1.0, 2.0, 3.0])
    assert found.value == 2.0
    assert found.half_width == pytest.approx(4.302653 / math.sqrt(3), abs=1e-5)  # t(0.975, 2) times the standard error
    assert found.n == 3


def test_one_value_has_no_interval():
    assert math.isnan(mean_interval([5.0]).low)
    assert math.isnan(difference_interval([5.0], [1.0, 2.0]).half_width)


@given(st.lists(numbers, min_size=2, max_size=8), st.lists(numbers, min_size=2, max_size=8))
def test_difference_interval_matches_scipy(a, b):
    found = difference_interval(a, b)
    if len(set(a)) > 1 and len(set(b)) > 1:
        expected = scipy.stats.ttest_ind(a, b, equal_var=False).confidence_interval()
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-6, abs=1e-6)
    assert found.value == pytest.approx(np.mean(a) - np.mean(b))


def test_constant_samples_have_an_exact_difference():
    assert difference_interval([2.0, 2.0], [1.0, 1.0]) == type(mean_interval([1.0]))(1.0, 1.0, 1.0, 2)


# ---- tests over runs ----


def test_smallest_p_values_of_exact_tests(rng):
    found = permutation_test([4, 5, 6], [1, 2, 3], rng)
    assert (found.statistic, found.p, found.min_p) == (3.0, 2 / 20, 2 / 20)
    assert permutation_test([6, 7, 8, 9, 10], [1, 2, 3, 4, 5], rng).p == pytest.approx(2 / 252)
    paired = sign_flip_test([1, 2, 3, 4, 5], rng)
    assert paired.p == paired.min_p == 2 / 32


@given(st.lists(numbers, min_size=2, max_size=4), st.lists(numbers, min_size=2, max_size=4))
def test_exact_permutation_test_matches_scipy(a, b):
    def statistic(x, y, axis):
        return np.abs(np.mean(x, axis) - np.mean(y, axis))

    expected = scipy.stats.permutation_test(
        (a, b), statistic, n_resamples=np.inf, alternative="greater", vectorized=True
    )
    assert permutation_test(a, b, np.random.default_rng(0)).p == pytest.approx(expected.pvalue)


def test_sampled_permutation_test_is_near_the_t_test_and_never_zero(rng):
    a, b = rng.normal(1.0, 1.0, 12), rng.normal(0.0, 1.0, 12)  # 2.7 million splits
    assert permutation_test(a, b, rng).p == pytest.approx(scipy.stats.ttest_ind(a, b).pvalue, rel=0.3, abs=0.005)
    far = permutation_test(a + 100, b, rng, draws=999)
    assert far.p == far.min_p == 1 / 1000


def test_sign_flips_of_three_differences_by_hand(rng):
    # sums of +-1 +-2 +-3: as far out as 1 + 2 - 3 = 0 is every one; as far as 1 - 2 + 3 = 2: all but the two zeros
    assert sign_flip_test([1, 2, -3], rng).p == 1.0
    assert sign_flip_test([1, -2, 3], rng).p == 6 / 8


@pytest.mark.parametrize("test", ["permutation", "signs", "examples"])
def test_p_values_are_uniform_without_a_difference(test):
    """The share of p-values below 0.1, 0.3, 0.5 is that share, to within four standard errors."""
    rng, ps = np.random.default_rng(3), []
    for _ in range(400):
        a, b = rng.normal(size=(2, 7))
        if test == "permutation":
            ps.append(permutation_test(a, b, rng).p)
        elif test == "signs":
            ps.append(sign_flip_test(a - b, rng).p)
        else:
            ones = np.ones(40)
            pair = [Examples(rng.normal(size=40), ones) for _ in range(2)]
            ps.append(approximate_randomization(*pair, rng, draws=199).p)
    for level in (0.1, 0.3, 0.5):
        assert np.mean(np.array(ps) <= level) == pytest.approx(level, abs=4 * math.sqrt(level * (1 - level) / 400))


# ---- many tests, effects ----


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_keeps_order_and_is_at_most_bonferroni(ps):
    adjusted = holm(ps)
    assert all(p - 1e-12 <= new <= min(1.0, p * len(ps)) + 1e-12 for p, new in zip(ps, adjusted, strict=True))
    order = np.argsort(ps, kind="stable")
    assert (np.diff(np.array(adjusted)[order]) >= 0).all()


def test_effects_by_hand():
    assert cohens_d([2, 4], [1, 3]) == pytest.approx(1 / math.sqrt(2))
    assert math.isnan(cohens_d([1, 1], [1, 1]))
    assert math.isnan(cohens_d([1], [1, 2]))
    assert cliffs_delta([3, 4], [1, 2]) == 1.0
    assert cliffs_delta([1, 3], [2, 2]) == 0.0
    assert cliffs_delta([1, 2], [2, 3]) == pytest.approx((0 - 3) / 4)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=9), st.lists(st.integers(0, 5), min_size=1, max_size=9))
def test_cliffs_delta_counts_pairs(a, b):
    assert cliffs_delta(a, b) == pytest.approx(np.mean([np.sign(x - y) for x in a for y in b]))
    assert cliffs_delta(a, b) == pytest.approx(-cliffs_delta(b, a))


# ---- rank correlation ----


def test_spearman_of_four_by_hand():
    found = spearman([1, 2, 3, 4], [10, 20, 40, 30])
    assert found.statistic == pytest.approx(0.8)  # 1 - 6 * 2 / (4 * 15)
    assert found.p == pytest.approx(8 / 24)  # orders with a rho of 0.8 or more: 4, and as many below -0.8


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=4, max_size=20))
def test_spearman_matches_scipy(pairs):
    a, b = zip(*pairs, strict=True)
    found = spearman(a, b)
    if len(set(a)) == 1 or len(set(b)) == 1:
        assert math.isnan(found.statistic)
        return
    expected = scipy.stats.spearmanr(a, b)
    assert found.statistic == pytest.approx(expected.statistic)
    if len(a) > 8:
        assert found.p == pytest.approx(expected.pvalue, abs=1e-9)


def test_spearman_rejects_unequal_lengths():
    with pytest.raises(DataError, match="found 2 and 3"):
        spearman([1, 2], [1, 2, 3])


@pytest.mark.parametrize("values", [[], [1.0, math.nan], [[1.0]]])
def test_rejects_values_that_are_no_row_of_numbers(values):
    with pytest.raises(DataError, match="values: expected a row of finite numbers"):
        mean_interval(values)
