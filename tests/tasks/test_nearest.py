from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from interlace.ragged import Ragged
from interlace.tasks import _nearest
from interlace.tasks._nearest import hits, numbered, unit

EAST, NORTH, WEST = [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]


def gold(*rows):
    return Ragged.of(rows, np.int64)


def test_the_nearest_by_angle_not_by_length():
    candidates = unit(np.array([[9.0, 9.0], [0.1, 0.0]]))
    assert hits(unit(np.array([EAST])), candidates, gold([1])).tolist() == [True]


def test_any_right_candidate_will_do():
    queries, candidates = unit(np.array([EAST, NORTH])), unit(np.array([EAST, NORTH, WEST]))
    assert hits(queries, candidates, gold([2, 0], [2, 0])).tolist() == [True, False]


def test_a_tie_with_a_wrong_candidate_is_no_hit():
    candidates = unit(np.array([EAST, EAST, WEST]))
    assert hits(unit(np.array([EAST])), candidates, gold([0])).tolist() == [False]
    assert hits(unit(np.array([EAST])), candidates, gold([0, 1])).tolist() == [True]
    assert hits(unit(np.array([EAST])), candidates, gold([0]), gold([1])).tolist() == [True]


def test_nothing_is_like_zeros():
    candidates = unit(np.array([EAST, NORTH]))
    assert hits(unit(np.zeros((1, 2))), candidates, gold([0])).tolist() == [False]


def test_the_only_candidate_is_the_nearest():
    assert hits(unit(np.array([EAST])), unit(np.array([WEST])), gold([0])).tolist() == [True]


@given(arrays.arrays(np.int8, st.tuples(st.integers(1, 12), st.just(3))), st.integers(1, 40))
def test_blocks_change_nothing(vectors, cells):
    queries = unit(vectors)
    right = gold(*([row] for row in range(len(queries))))
    whole = hits(queries, queries, right)
    kept = _nearest.CELLS
    _nearest.CELLS = cells
    try:
        assert hits(queries, queries, right).tolist() == whole.tolist()
    finally:
        _nearest.CELLS = kept


def test_equal_rows_share_a_number():
    numbers, first = numbered(gold([5], [1, 2], [5], [], [1, 2], [1]))
    assert numbers.tolist() == [0, 1, 0, 2, 1, 3]
    assert first.tolist() == [0, 1, 3, 5]
