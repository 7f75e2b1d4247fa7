"""The arithmetic of `diagonal` against slow references."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import digamma

from interlace.aligners.diagonal import kernels
from interlace.aligners.diagonal.cooccurrence import (
    EMPTY,
    add_atomically,
    cooccurrence,
    entries_of,
    place_in_row,
    table_of,
)
from interlace.core.ragged import Ragged

NOTHING = np.zeros((0, 2), np.int32)


@given(st.floats(1e-3, 1e7))
def test_exp_digamma_equals_scipy(x):
    assert kernels.exp_digamma(x) == pytest.approx(np.exp(digamma(x)), rel=1e-8)


@given(st.integers(1, 60), st.integers(1, 60), st.floats(0.1, 14))
def test_the_mean_distance_in_closed_form_is_the_plain_sum(explained, explaining, tension):
    distance = abs(np.arange(1, explained + 1)[:, None] / explained - np.arange(1, explaining + 1) / explaining)
    weight = np.exp(-tension * distance)
    plain = ((weight * distance).sum(1) / weight.sum(1)).sum()
    found = kernels.mean_distances(np.array([explained]), np.array([explaining]), tension)
    assert found == pytest.approx(plain, rel=1e-9, abs=1e-12)


@given(st.integers(1, 30), st.integers(1, 30), st.floats(0.1, 14))
def test_nearness_falls_off_exponentially_from_the_diagonal(m, n, tension):
    ends = kernels.curves(m, n)
    kernels.fill_curves(ends, m, n, np.array([tension, 1.0]))
    for i, j in ((0, 0), (m - 1, 0), (m // 2, n // 2), (m - 1, n - 1)):
        distance = abs((i + 1) / m - (j + 1) / n)
        assert kernels.nearness(ends, 0, i, j) == pytest.approx(np.exp(-tension * distance), rel=1e-9)
        assert kernels.nearness(ends, 1, i, j) == pytest.approx(np.exp(-distance), rel=1e-9)


def test_atomic_addition_from_threads():
    from numba import njit

    add = add_atomically

    @njit(nogil=True)
    def work(array, times):
        for _ in range(times):
            add(array, 3, 2)

    array = np.zeros(5, np.int64)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: work(array, 100_000), range(4)))
    assert array.tolist() == [0, 0, 0, 800_000, 0]


def collected(rows, types, threads=2):
    sides = [Ragged.of([row[side] for row in rows]) for side in (0, 1)]
    with ThreadPoolExecutor(threads) as pool:
        return cooccurrence([tuple(sides)], types, NOTHING, [("count", np.int64)], pool)


words = st.lists(st.integers(0, 40), min_size=1, max_size=8)


@settings(max_examples=50)
@given(st.lists(st.tuples(words, words), min_size=1, max_size=10))
def test_the_table_holds_the_type_pairs_that_meet(rows):
    table = collected(rows, 41)
    entries, slots = entries_of(table.starts, table.targets)
    met = sorted({(e, f) for source, target in rows for e in source for f in target})
    assert list(map(tuple, entries.tolist())) == met
    assert table.find(entries).tolist() == slots.tolist()
    assert table.slots["count"].sum() == 0


def test_packs_known_pairs_like_those_of_a_text():
    table = collected([([0, 2], [5, 3]), ([2], [9])], 3)
    entries, _ = entries_of(table.starts, table.targets)
    again = table_of(entries, 3, [])
    assert again.starts.tolist() == table.starts.tolist()
    assert entries_of(again.starts, again.targets)[0].tolist() == entries.tolist()


def test_unseen_pairs_have_an_empty_slot():
    table = collected([([0, 2], [5, 3])], 3)
    for source, target in ((0, 9), (1, 5), (2, 0)):
        slot = place_in_row(table.starts, table.targets, source, target)
        assert table.targets[slot] == EMPTY
        assert table.starts[source] <= slot < table.starts[source + 1]
