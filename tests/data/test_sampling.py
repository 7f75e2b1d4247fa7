"""Language sampling, and epochs as numbered batches."""

import tracemalloc
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.data._permutation_kernels import permuted, permuted_within
from interlace.data.sampling import (
    BucketPlan,
    PackedPlan,
    StreamPlan,
    batches_by_length,
    temperature,
)

LENGTHS = st.lists(st.integers(0, 40), min_size=1, max_size=60).map(np.array)
KEYS = st.integers(0, 2**62 - 1)


@pytest.mark.parametrize(
    ("counts", "alpha", "shares"),
    [
        ([900, 100], 0.5, [0.75, 0.25]),
        ([900, 100], 0.0, [0.5, 0.5]),
        ([0, 0], 0.7, [0, 0]),
    ],
)
def test_temperature_lifts_small_languages(counts, alpha, shares):
    assert temperature(np.array(counts), alpha).tolist() == pytest.approx(shares)


@given(LENGTHS, st.integers(1, 200), st.integers(0, 4), st.integers(5, 50))
def test_each_row_is_in_one_batch_per_epoch_within_the_budget(
    lengths, budget, overhead, longest
):
    plan = BucketPlan(lengths, budget, seed=3, corpus=1, overhead=overhead, max_length=longest)
    for epoch in range(2):
        batches = [plan.batch(epoch * len(plan) + number) for number in range(len(plan))]
        assert {batch_epoch for _, batch_epoch in batches} == {epoch}
        rows = np.concatenate([rows for rows, _ in batches])
        assert sorted(rows.tolist()) == list(range(len(lengths)))
        for rows, _ in batches:
            costs = np.minimum(lengths[rows] + overhead, longest)
            assert len(rows) == 1 or costs.max() * len(rows) <= budget


@given(LENGTHS, st.integers(1, 200))
def test_packed_batches_hold_each_row_once_within_the_budget(lengths, budget):
    plan = PackedPlan(lengths, budget, seed=3, corpus=1)
    for epoch in range(2):
        batches = [plan.batch(epoch * len(plan) + number)[0] for number in range(len(plan))]
        assert sorted(np.concatenate(batches).tolist()) == list(range(len(lengths)))
        assert all(lengths[rows].sum() <= max(budget, lengths.max()) for rows in batches)


def test_packed_batches_are_even():
    """All have nearly as many tokens and rows, of all lengths, and the rows of a length change places."""
    lengths = np.random.default_rng(0).gamma(4.0, 8, 5000).astype(int) + 3
    plan = PackedPlan(lengths, 4096)
    batches = [plan.batch(number)[0] for number in range(len(plan))]
    tokens = [int(lengths[rows].sum()) for rows in batches]
    assert len(plan) == -(-lengths.sum() // 4096)  # as few as possible
    assert max(tokens) - min(tokens) <= lengths.max()
    assert len({len(rows) for rows in batches}) <= 2
    assert {tuple(sorted(rows.tolist())) for rows in batches}.isdisjoint(
        tuple(sorted(plan.batch(len(plan) + number)[0].tolist())) for number in range(len(plan))
    )


def test_packed_batches_are_dealt_by_length():
    """The rows 2 | 3 4 5 | 6 7 8 go to three batches in turn, and back."""
    plan = PackedPlan(np.array([2, 3, 4, 5, 6, 7, 8]), 14)
    batches = [sorted(plan.batch(number)[0].tolist()) for number in range(3)]
    assert sorted(batches) == [[0, 1, 6], [2, 5], [3, 4]]


def test_batches_are_a_function_of_the_key_alone():
    lengths = np.random.default_rng(0).integers(1, 30, 200)

    def batch(index, seed=5, corpus=2):
        plan = BucketPlan(lengths, 100, seed=seed, corpus=corpus)
        return plan.batch(index)[0].tolist()

    plan = BucketPlan(lengths, 100, seed=5, corpus=2)
    for index in [299, 0, 150, 7, 298, 44]:
        assert plan.batch(index)[0].tolist() == batch(index)
    assert batch(0) not in [batch(0, seed=6), batch(0, corpus=3), batch(len(plan))]


@given(st.integers(1, 50), st.integers(1, 300), st.integers(1, 64))
def test_streams_read_every_row_once_an_epoch(rows, tokens, length):
    plan = StreamPlan(rows, tokens, length, seed=1, corpus=0)
    for epoch in range(2):
        batches = [plan.batch(epoch * len(plan) + number)[0] for number in range(len(plan))]
        assert sorted(np.concatenate(batches).tolist()) == list(range(rows))
        assert all(len(batch) == max(1, tokens // length) for batch in batches[:-1])
        assert 0 <= plan.shift(epoch) < length
    plan = StreamPlan(rows, 512, 256, seed=rows)
    assert len({plan.shift(epoch) for epoch in range(20)}) > 15


@given(st.integers(1, 3000), KEYS)
def test_a_key_names_a_permutation(size, key):
    images = permuted(0, size, size, key)
    assert sorted(images.tolist()) == list(range(size))
    assert permuted(size // 2, size, size, key).tolist() == images[size // 2 :].tolist()


@given(st.lists(st.integers(1, 300), min_size=1, max_size=8), KEYS)
def test_groups_keep_their_numbers(sizes, key):
    starts = np.concatenate([[0], np.cumsum(sizes)])
    images = permuted_within(np.arange(starts[-1]), starts, key)
    for start, end in pairwise(starts.tolist()):
        assert sorted(images[start:end].tolist()) == list(range(start, end))
    some = np.arange(len(images))[::3]
    assert permuted_within(some, starts, key).tolist() == images[some].tolist()
    assert permuted_within(some[:0], starts, key).tolist() == []


def test_all_permutations_are_equally_frequent():
    counts = Counter(tuple(permuted(0, 4, 4, key).tolist()) for key in range(24_000))
    assert len(counts) == 24
    statistic = sum((count - 1000) ** 2 / 1000 for count in counts.values())
    assert statistic < 44.2  # the 0.995 quantile of chi-square with 23 degrees of freedom


def test_a_billion_rows_need_no_memory():
    tracemalloc.start()
    plan = StreamPlan(10**9, 16_384, 256, seed=1)
    rows, epoch = plan.batch(3 * len(plan) - 1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (len(plan), len(set(rows.tolist())), epoch) == (15_625_000, 64, 2)
    assert peak < 10_000_000


def test_batches_hold_rows_of_like_length_within_their_budget():
    lengths = np.array([5, 1, 9, 9, 2, 40, 3])
    found = [rows.tolist() for rows in batches_by_length(lengths, 22, 3)]
    assert found == [[5], [2, 3], [0, 6, 4], [1]]
    assert [rows.tolist() for rows in batches_by_length(np.array([], np.int64), 22, 3)] == []
