"""Rows filled with whole sentences and whole pairs, against a loop that fills them one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.core.ragged import Ragged
from interlace.data import Pairs, Sentences
from interlace.data.packing import PackedSentences

END = 9


def _sentences(rows, words=None, language="en"):
    words = [list(range(len(row))) for row in rows] if words is None else words
    return Sentences(Ragged.of(rows), Ragged.of(words), language)


def _rows(sentences):
    return [row.tolist() for row in sentences.ids], [row.tolist() for row in sentences.words]


def test_the_example_of_the_docstring():
    text = _sentences([[1, 2, 3], [4, 5], [6, 7, 8, 1]], [[0, 1, 2], [0, 1], [0, 1, 2, 3]])
    filled = PackedSentences(text, 6, END)
    assert filled.lengths.tolist() == [6, 4]
    assert _rows(filled.take([0, 1])) == (
        [[1, 2, 3, END, 4, 5], [6, 7, 8, 1]],
        [[0, 1, 2, -1, 3, 4], [0, 1, 2, 3]],
    )


def test_both_sides_hold_the_same_pairs():
    source = _sentences([[1], [2], [3], [4]])
    target = _sentences([[5, 5], [6, 6, 6], [7], [8]], language="de")
    filled = PackedSentences(Pairs(source, target), 5, END)
    pairs = filled.take([0, 1])
    assert _rows(pairs.source)[0] == [[1], [2, END, 3]]  # 5 5 / 6 6 6 would be six with what parts them
    assert _rows(pairs.target)[0] == [[5, 5], [6, 6, 6, END, 7]]
    assert (pairs.source.language, pairs.target.language) == ("en", "de")
    assert len(filled) == 3


def test_a_word_of_several_subwords_stays_one_and_what_is_no_word_stays_none():
    filled = PackedSentences(_sentences([[1, 2, 3], [4, 5]], [[0, 0, -1], [0, 0]]), 8, END)
    assert _rows(filled.take([0]))[1] == [[0, 0, -1, -1, 1, 1]]


def test_rows_that_are_left_out_are_in_no_row():
    filled = PackedSentences(_sentences([[1], [2] * 20, [3]]), 4, END, np.array([0, 2]))
    assert _rows(filled.take([0]))[0] == [[1, END, 3]]


def _slow(sides, room):
    """Members of each row, filled pair by pair; where a side has nothing, there is nothing to learn."""
    found = []
    for row, lengths in enumerate(zip(*sides, strict=True)):
        if not min(lengths):
            continue
        trial = [*(found[-1] if found else []), row]
        sums = [sum(side[member] for member in trial) + len(trial) - 1 for side in sides]
        if found and max(sums) <= room:
            found[-1].append(row)
        else:
            assert max(lengths) <= room
            found.append([row])
    return found


_LENGTHS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=30)


@given(lengths=_LENGTHS, room=st.integers(6, 15), data=st.data())
def test_rows_are_as_a_loop_fills_them(lengths, room, data):
    sides = [[one for one, _ in lengths], [other for _, other in lengths]]
    texts = [[list(range(1, size + 1)) for size in side] for side in sides]
    pairs = Pairs(_sentences(texts[0]), _sentences(texts[1], language="de"))
    filled, expected = PackedSentences(pairs, room, END), _slow(sides, room)
    assert len(filled) == len(expected)
    wanted = data.draw(st.lists(st.integers(0, max(len(expected) - 1, 0)), max_size=5 if expected else 0))
    taken = filled.take(wanted)
    for side, text, lengths_ in zip((taken.source, taken.target), texts, filled.side_lengths, strict=True):
        joined = [[part for member in expected[row] for part in [*text[member], END]][:-1] for row in wanted]
        assert [row.tolist() for row in side.ids] == joined
        assert [len(row) for row in joined] == lengths_[wanted].tolist()
        ends = [[number for number, subword in enumerate(row) if subword == END] for row in joined]
        assert [np.flatnonzero(row < 0).tolist() for row in side.words] == ends
        assert all((np.diff(row[row >= 0]) == 1).all() for row in side.words)


@pytest.mark.parametrize("text", [[], [[], []]])
def test_no_row_of_nothing(text):
    filled = PackedSentences(_sentences(text), 5, END)
    assert len(filled) == 0
    assert filled.lengths.tolist() == []


def test_lines_of_nothing_take_no_room():
    assert _rows(PackedSentences(_sentences([[], [1, 2], [], [3], []]), 4, END).take([0]))[0] == [[1, 2, END, 3]]


@pytest.mark.parametrize("rows", [[], [0], [1, 0, 1]])
def test_rows_come_as_they_are_asked_for(rows):
    text = _sentences([[1, 2], [3], [4, 5, 6]])
    whole = _rows(PackedSentences(text, 4, END).take([0, 1]))[0]
    assert _rows(PackedSentences(text, 4, END).take(rows))[0] == [whole[row] for row in rows]
