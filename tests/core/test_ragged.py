import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.core.ragged import Ragged

ROWS = st.lists(st.lists(st.integers(-5, 5), max_size=4), max_size=6)
SOME = ROWS.filter(bool)


def test_rows_of_different_length_by_hand():
    ragged = Ragged.of([[1, 2], [], [3]])
    assert ragged.values.dtype == np.int32
    assert ragged.offsets.tolist() == [0, 2, 2, 3]
    assert ragged.lengths.tolist() == [2, 0, 1]
    assert ragged.rows().tolist() == [0, 0, 2]
    assert ragged.columns().tolist() == [0, 1, 0]
    assert ragged.padded(-1).tolist() == [[1, 2], [-1, -1], [3, -1]]
    assert ragged.take(np.array([True, False, True])).to_lists() == [[1, 2], [3]]


def test_rows_of_spans_by_hand_and_empty_ones_keep_their_width():
    spans = Ragged.of([[(0, 2), (3, 4)], [(1, 5)]])
    assert spans.padded(-1).tolist() == [[[0, 2], [3, 4]], [[1, 5], [-1, -1]]]
    empty = Ragged.of([[], []], width=2)
    assert empty.padded(0).shape == (2, 0, 2)
    assert Ragged.concatenate([empty, Ragged.of([[(1, 2)]])]).to_lists() == [[], [], [[1, 2]]]


@pytest.mark.parametrize("row", [3, -4, 100])
def test_rows_must_exist(row):
    with pytest.raises(IndexError):
        Ragged.of([[1], [2, 3], [4]])[row]


@given(SOME, st.data())
def test_taking_is_indexing(rows, data):
    index = data.draw(st.lists(st.integers(-len(rows), len(rows) - 1)))
    taken = Ragged.of(rows).take(index)
    assert taken.to_lists() == [rows[row] for row in index]
    assert taken.offsets[-1] == len(taken.values)


@given(ROWS, st.data())
def test_a_slice_behaves_as_its_rows_alone(rows, data):
    start = data.draw(st.integers(0, len(rows)))
    stop = data.draw(st.integers(start, len(rows)))
    part, alone = Ragged.of(rows).slice(start, stop), Ragged.of(rows[start:stop])
    assert part == alone
    for of in (
        lambda rows: rows.flat,
        Ragged.rows,
        Ragged.columns,
        lambda rows: rows.padded(9),
    ):
        assert of(part).tolist() == of(alone).tolist()
    assert Ragged.concatenate([part, part]) == Ragged.concatenate([alone, alone])
    assert part.take(range(len(part))) == alone
