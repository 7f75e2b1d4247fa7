"""Scores as sums over test examples: measures, bootstrap intervals and paired tests; sacreBLEU is the reference."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

from interlace.core.errors import DataError
from interlace.scores.examples import (
    Examples,
    approximate_randomization,
    bleu,
    bootstrap,
    crossed_test,
    mean_over_sets,
    paired_bootstrap,
)
from interlace.scores.statistics import difference_interval

OFTEN = 20  # examples of a group, which are all right or all wrong


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def right(flags):
    return Examples(np.array(flags, float), np.ones(len(flags)))


@st.composite
def counts(draw):
    """Lengths and n-grams as sentences have them: each order has no more than the one before."""
    length, reference = draw(st.integers(0, 12)), draw(st.integers(1, 12))
    total = [max(0, length - order) for order in range(4)]
    correct = [draw(st.integers(0, number)) for number in total]
    return [length, reference, *correct, *total]


@given(counts())
def test_bleu_matches_sacrebleu(sums):
    theirs = BLEU.compute_bleu(sums[2:6], sums[6:], sums[0], sums[1], smooth_method="exp").score
    assert bleu(np.array(sums, float)) == pytest.approx(theirs, abs=1e-9)


def system(share, seed):
    """40 sentences of 10 words, of which a share of the n-grams match."""
    rng = np.random.default_rng(seed)
    total = np.tile([10.0, 9.0, 8.0, 7.0], (40, 1))
    correct = rng.binomial(total.astype(int), share)
    length = np.full((40, 2), 10.0)
    return Examples(
        np.zeros(40), np.ones(40), "these", np.hstack([length, correct, total]), "bleu"
    )


def test_bootstrap_interval_of_a_share_is_near_the_binomial_one(rng):
    found = bootstrap(right([1] * 300 + [0] * 100), rng, draws=4000)
    assert (found.value, found.n) == (0.75, 400)
    assert found.half_width == pytest.approx(1.96 * math.sqrt(0.75 * 0.25 / 400), rel=0.1)
    assert found.low < 0.75 < found.high


def test_examples_without_weight_do_not_count(rng):
    """A sparse dictionary tests few of the words that it lists."""
    flags = np.repeat([1.0, 0.0], [80, 20])
    padded = Examples(np.append(flags, np.zeros(900)), np.repeat([1.0, 0.0], [100, 900]))
    padded_interval = bootstrap(padded, rng, draws=2000)
    plain = bootstrap(right(flags), rng, draws=2000)
    assert padded_interval.n == plain.n == 100
    assert padded_interval.half_width == pytest.approx(plain.half_width, rel=0.15)
    longer = replace(padded, weight=np.repeat([1.0, 0.0], [150, 850]))
    # those that count for either
    assert paired_bootstrap(padded, longer, rng, draws=99).n == 150
    lone_group = Examples(np.array([1.0, 0.0]), np.ones(2), groups=np.zeros(2, np.int64))
    for single in (right([1]), lone_group):
        assert math.isnan(bootstrap(single, rng).low)
        assert math.isnan(paired_bootstrap(single, single, rng).low)


def test_approximate_randomization_of_few_examples_by_hand(rng):
    """Of four differences 1, 1, 1, -1, the sum is as far from 0 as theirs, 2, unless two of them are swapped."""
    a, b = right([1, 1, 1, 1, 1, 0]), right([0, 0, 0, 1, 1, 1])
    exact = 1 - 6 / 16
    assert approximate_randomization(a, b, rng, draws=20_000) == pytest.approx(exact, abs=0.015)


@pytest.mark.parametrize("test", [paired_bootstrap, approximate_randomization])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"score": np.ones(2), "weight": np.ones(2)}, r"examples \(3 and 2\)"),
        ({"identity": "last 3"}, "different test examples"),
    ],
)
def test_rejects_examples_that_do_not_pair(rng, test, changes, message):
    examples = Examples(np.ones(3), np.ones(3), "first 3")
    with pytest.raises(DataError, match=message):
        test(examples, replace(examples, **changes), rng)


def grouped(flags):
    """Groups of examples that are as right as one example would be."""
    score = np.repeat(np.asarray(flags, np.float64), OFTEN)
    return Examples(score, np.ones(len(score)), groups=np.repeat(np.arange(len(flags)), OFTEN))


def test_groups_are_resampled_together(rng):
    a, b = rng.integers(0, 2, (2, 50))

    def interval_and_p(example_of):
        generator = np.random.default_rng(0)
        intervals = [
            bootstrap(example_of(a), generator),
            paired_bootstrap(example_of(a), example_of(b), generator),
        ]
        p = approximate_randomization(example_of(a), example_of(b), generator)
        return [(found.value, found.low, found.high) for found in intervals], p

    intervals, p = interval_and_p(grouped)
    expected_intervals, expected_p = interval_and_p(right)
    assert np.allclose(intervals, expected_intervals)
    assert p == pytest.approx(expected_p)


def test_mean_over_sets_draws_parallel_examples_together(rng):
    """Copies of one set in three languages say no more than the set itself; independent sets do."""
    flags = rng.integers(0, 2, (4, 60)).astype(float)
    one = bootstrap(right(flags[0]), np.random.default_rng(0))
    copies = bootstrap(mean_over_sets([right(flags[0])] * 3), np.random.default_rng(0))
    assert (one.low, one.high, one.n) == pytest.approx((copies.low, copies.high, copies.n))
    others = bootstrap(mean_over_sets([right(row) for row in flags]), rng)
    assert others.value == pytest.approx(flags.mean())
    assert others.half_width == pytest.approx(one.half_width / 2, rel=0.15)


def test_mean_of_corpus_scores_is_the_mean_of_the_scores_of_each_set():
    first, second = system(0.7, 0), system(0.4, 1)
    whole = mean_over_sets([first, second])
    assert whole.total == pytest.approx((first.total + second.total) / 2)


def test_sets_of_equal_size_have_the_groups_of_the_first():
    parts = [right([1] * 3), replace(right([1] * 2), groups=np.zeros(2, np.int64))]
    other_groups = replace(right([1] * 2), groups=np.arange(2))
    assert mean_over_sets([*parts, other_groups]).groups.tolist() == [0, 1, 2, 3, 3]


def test_crossed_test_by_hand():
    """Two runs a side over four examples; the variance of runs is that which runs and examples share."""
    a, b = [right([1, 1, 1, 0]), right([1, 1, 0, 0])], [right([1, 0, 0, 0])] * 2
    interval, _ = crossed_test(a, b)
    assert interval.value == pytest.approx(0.375)
    variance = np.array([0, 1, 0.5, 0]).var(ddof=1) / 4  # of the mean differences
    run_variance = np.var([0.75, 0.5], ddof=1) / 2
    freedom = variance**2 / (run_variance**2 + variance**2 / 3)
    half_width = scipy.stats.t.ppf(0.975, freedom) * math.sqrt(variance)
    assert interval.half_width == pytest.approx(half_width)


def test_crossed_test_is_welchs_or_the_paired_t_test_where_only_one_thing_varies(rng):
    a, b = rng.random((2, 5))
    runs = [[Examples(np.full(7, score), np.ones(7)) for score in side] for side in (a, b)]
    expected = difference_interval(a, b)
    found, _ = crossed_test(*runs)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    a, b = rng.random((2, 30))
    expected = scipy.stats.ttest_rel(a, b).pvalue
    assert crossed_test([right(a)] * 5, [right(b)] * 5)[1] == pytest.approx(expected)
    assert crossed_test([right(a)] * 5, [right(a)] * 5)[1] == 1.0
    assert crossed_test([grouped(a)] * 5, [grouped(b)] * 5)[1] == pytest.approx(expected)
