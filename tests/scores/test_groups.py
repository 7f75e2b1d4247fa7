"""Examples that hang together, such as the questions of one passage, are drawn and exchanged together."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from interlace.scores.examples import Examples, approximate_randomization, bootstrap, paired_bootstrap

OFTEN = 20  # examples of a group, which are all right or all wrong


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def alike(right):
    """Groups of examples that are as right as one example would be."""
    score = np.repeat(np.asarray(right, np.float64), OFTEN)
    return Examples(score, np.ones(len(score)), groups=np.repeat(np.arange(len(right)), OFTEN))


def test_examples_that_only_repeat_each_other_tell_no_more_than_one_of_them(rng):
    right = rng.integers(0, 2, 50).astype(np.float64)
    one = bootstrap(Examples(right, np.ones(50)), np.random.default_rng(0))
    many = bootstrap(alike(right), np.random.default_rng(0))
    assert (many.value, many.low, many.high) == pytest.approx((one.value, one.low, one.high))
    assert (one.n, many.n) == (50, 1000)
    apart = bootstrap(replace(alike(right), groups=None), np.random.default_rng(0))
    assert apart.high - apart.low < 0.4 * (many.high - many.low)


def test_comparisons_draw_and_exchange_groups(rng):
    sides = [rng.integers(0, 2, 30).astype(np.float64) for _ in range(2)]
    plain, grouped = [Examples(side, np.ones(30)) for side in sides], [alike(side) for side in sides]
    for test in (paired_bootstrap, approximate_randomization):
        one, many = (test(*pair, np.random.default_rng(0)) for pair in (plain, grouped))
        assert one.n <= 30 < many.n
        told = [value for name, value in vars(one).items() if name != "n"]
        assert [value for name, value in vars(many).items() if name != "n"] == pytest.approx(told)


def test_groups_need_not_stand_together(rng):
    score, order = rng.random(12), rng.permutation(12)
    some = Examples(score, np.ones(12), groups=np.arange(12) // 3)
    mixed = Examples(score[order], np.ones(12), groups=(np.arange(12) // 3)[order])
    first, second = (bootstrap(one, np.random.default_rng(0)) for one in (some, mixed))
    assert (first.low, first.high) == pytest.approx((second.low, second.high))


def test_one_group_has_no_interval(rng):
    assert math.isnan(bootstrap(alike([1.0]), rng).low)
