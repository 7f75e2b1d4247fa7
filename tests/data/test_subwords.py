import numpy as np
import pytest

from interlace.data.encoding import word_at


@pytest.mark.parametrize(
    ("starts", "words", "lengths", "expected"),
    [
        # |the| cat|s| !|  with words the, cats, !
        ([[0, 3, 7, 8]], [[(0, 3), (4, 8), (9, 10)]], [10], [0, 1, 1, 2]),
        # white space belongs to the next word, and at the end to the last
        ([[0, 1, 2, 4]], [[(2, 4)]], [6], [0, 0, 0, 0]),
        ([[0, 2, 3]], [[(0, 2), (3, 5)]], [5], [0, 1, 1]),
        # a (b) with words a and b: the bracket goes to b, the closing one to b too, as the last word
        ([[0, 1, 2, 3, 4]], [[(0, 1), (3, 4)]], [5], [0, 1, 1, 1, 1]),
        # white space inside a word is part of it
        ([[0, 2, 3, 6]], [[(0, 6), (7, 8)]], [8], [0, 0, 0, 1]),
        # lines do not mix, and a line without words has none
        ([[0, 2], [0, 1], [0]], [[(0, 2)], [], [(1, 2)]], [3, 2, 2], [0, 0, -1, -1, 0]),
        ([], [], [], []),
        ([[]], [[]], [0], []),
    ],
)
def test_words_of_subwords(starts, words, lengths, expected):
    lines = np.cumsum([0, *(length + 1 for length in lengths)])
    at = [line + start for line, row in zip(lines, starts, strict=False) for start in row]
    ends = [line + end for line, row in zip(lines, words, strict=False) for _, end in row]
    rows = (np.array([len(row) for row in side], np.int64) for side in (starts, words))
    assert (
        word_at(np.array(at, np.int64), np.array(ends, np.int64), *rows, int(lines[-1])).tolist()
        == expected
    )
