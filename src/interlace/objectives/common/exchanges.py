"""What the kernels of code-switching read and write: lines of text, and which phrases are exchanged."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from interlace.core.ragged import AnyArray, ByteArray, Int32Array, IntArray


class LineColumns(NamedTuple):
    """Lines of text as arrays.

    characters: (C,) code points. kinds: (C,) whether each is a blank, punctuation or a letter.
    starts: (lines + 1,) the first character of each line.
    words: (W, 2) spans in their line. first_words: (lines + 1,) the first word of each line.
    sides: the side, 0 or 1, whose language a line is in: (lines,); of switched lines: (W,), by word.
    """

    characters: AnyArray
    kinds: ByteArray
    starts: IntArray
    words: Int32Array
    first_words: IntArray
    sides: NDArray[np.int8]


class Exchanges(NamedTuple):
    """k phrases of matrix sentences, each with a phrase for its place; sorted by pair and span.

    rows: (k,) the pair of each. replaced: (k, 2) int32, its (start, stop) words of the matrix sentence.
    lines: (k,) the line of the inserted phrase among those of the candidates. inserted: (k, 2) int32, its words there.
    """

    rows: IntArray
    replaced: Int32Array
    lines: IntArray
    inserted: Int32Array

    def offsets(self, n: int) -> IntArray:
        """(n + 1,) the exchanges of each pair."""
        return np.searchsorted(self.rows, np.arange(n + 1))

    def take(self, index: AnyArray) -> Exchanges:
        """Return a copy of some exchanges, by number or boolean mask."""
        return Exchanges._make(column[index] for column in self)
