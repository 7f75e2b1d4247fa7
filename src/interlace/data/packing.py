"""Sentences packed into long rows: streams of running text, or rows of whole sentences.

    sentences    the cat sat | it slept | then the dog came
    stream       the cat sat </s> it slept </s> then the dog came </s>
    rows of 4    the cat sat </s> | it slept </s> then | the dog came </s>
    whole, of 6  the cat sat </s> it slept | then the dog came

`Streams` cut running text into full rows, for objectives that read any number of sentences (MLM, CLM). The stream is a
ring: with cuts shifted by s, the last row may join the end of the text to its beginning. So in every epoch each subword
is in exactly one row, except for the remainder of stream length / row length, which the shift moves.

`PackedSentences` fill rows with as many whole sentences as fit, in order. Both sides of a row of pairs hold the same
pairs, and each side has a limit (Tang et al. 2022, appendix G.3).

Shapes: n sentences; T their subwords; S subwords of the stream with separators; B requested rows of length L.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from interlace.core.ragged import Int32Array, IntArray, Ragged, ranges
from interlace.data import Pairs, RowNumbers, Sentences
from interlace.data.corpus import Corpus, ParallelCorpus


class Streams:
    """The rows of a corpus, or of `Sentences`, as one stream; length: subwords per row without the model's specials."""

    def __init__(
        self,
        corpus: Corpus | Sentences,
        length: int,
        separator_id: int,
    ) -> None:
        self.language = corpus.language
        self.length = length
        self.separator = separator_id
        lengths = np.asarray(corpus.lengths, np.int64)  # (n,)
        self._size = int(lengths.sum()) + len(lengths)  # S
        separators = np.cumsum(lengths + 1) - 1  # (n,) positions in the stream
        # and those of the beginning, which the last row may be joined to
        repeated = separators[separators < length] + self._size
        self._separators = np.append(separators, repeated)
        if isinstance(corpus, Sentences):
            self._ids = corpus.ids.flat  # (T,)
            self._words = corpus.words.flat  # (T,)
        else:
            self._ids, self._words = corpus.flat

    def __len__(self) -> int:
        return self._size // self.length

    @property
    def lengths(self) -> IntArray:
        """(rows,) all equal to `length`."""
        return np.full(len(self), self.length, np.int64)

    def take(self, rows: RowNumbers, shift: int = 0) -> Sentences:
        """Return rows by number, with all cuts moved by `shift` subwords.

        Words are numbered from 0 in each row; a separator has -1. A word cut by a row's edge is one word in each of the
        two rows.

        The sentences `a b c` and `d` make the stream `a b c </s> d </s>`. In rows of 3, row 1 starts at 3, after no
        separator; it has separators in the columns 0 and 2, and its text is the range 3 to 4 of `a b c d`.
        """
        starts = np.asarray(rows, np.int64) * self.length + shift  # (B,) in the stream
        starts %= max(self._size, 1)
        ends = starts + self.length
        separators_before = np.searchsorted(self._separators, starts)  # (B,)
        separators_until = np.searchsorted(self._separators, ends)
        counts = separators_until - separators_before  # (B,) separators in a row
        separators = self._separators[ranges(separators_before, counts)]
        separator_rows = np.repeat(np.arange(len(starts)), counts)
        separator_columns = separators - starts[separator_rows]
        is_text = np.ones((len(starts), self.length), np.bool_)
        is_text[separator_rows, separator_columns] = False
        # without separators, a row's text is a range of the ring of T subwords
        text = ranges(starts - separators_before, self.length - counts)
        ids = np.full(is_text.shape, self.separator, np.int32)
        ids[is_text] = self._ids.take(text, mode="wrap")
        words = np.full(is_text.shape, -1, np.int32)
        words[is_text] = self._words.take(text, mode="wrap")
        offsets = np.arange(len(starts) + 1, dtype=np.int64) * self.length
        return Sentences(
            Ragged(ids.reshape(-1), offsets),
            Ragged(_renumbered(words), offsets),
            self.language,
        )


class PackedSentences:
    """The rows of a corpus, packed into longer rows.

    max_length: subwords per side of a row, with separators between sentences.
    separator: the id between two sentences.
    rows: numbers of the rows to use; default: all. One that is too long is alone, one with an empty side skipped.
    """

    def __init__(
        self,
        corpus: Corpus | ParallelCorpus,
        max_length: int,
        separator: int,
        rows: IntArray | None = None,
    ) -> None:
        self._corpus = corpus
        self._separator = separator
        sides = corpus.side_lengths
        is_complete = np.logical_and.reduce([side > 0 for side in sides])
        used = np.flatnonzero(is_complete)
        if rows is not None:
            used = np.intersect1d(used, rows, assume_unique=True)
        lengths = [side[used].astype(np.int64) for side in sides]
        self._members = Ragged(used, _bounds(lengths, max_length))
        separators = self._members.lengths - 1  # (rows,)
        self.side_lengths = lengths
        if len(used):
            starts = self._members.offsets[:-1]
            self.side_lengths = [np.add.reduceat(side, starts) + separators for side in lengths]

    def __len__(self) -> int:
        return len(self._members)

    @property
    def lengths(self) -> IntArray:
        """(rows,) subwords of all sides together, with separators between sentences."""
        return np.sum(self.side_lengths, axis=0)

    def take(self, rows: RowNumbers) -> Any:
        """Return rows as `Sentences` or plain `Pairs`, words numbered from 0 in each row and side, separators -1."""
        members = self._members.take(rows)
        sentences: Sentences | Pairs = self._corpus.take(members.flat)
        if isinstance(sentences, Sentences):
            return _joined(sentences, members.lengths, self._separator)
        source = _joined(sentences.source, members.lengths, self._separator)
        target = _joined(sentences.target, members.lengths, self._separator)
        return Pairs(source, target)


def _renumbered(words: Int32Array) -> Int32Array:
    """(B * L,) words numbered from 0 in each row; a change of number or a separator begins a new word."""
    begins = np.ones(words.shape, np.bool_)  # (B, L)
    np.not_equal(words[:, 1:], words[:, :-1], out=begins[:, 1:])
    is_word = words >= 0
    begins &= is_word
    numbers = np.cumsum(begins, axis=1, dtype=np.int32)
    numbers -= 1
    numbers[~is_word] = -1
    return numbers.reshape(-1)


def _bounds(sides: Sequence[IntArray], max_length: int) -> IntArray:
    """(rows + 1,) the first sentence of each row, and the number of sentences.

    Sentences of 3, 2 and 4 subwords in rows of at most 6: the first two take 3 + 1 + 2, so the bounds are 0, 2, 3.
    """
    count = len(sides[0])
    ends = [np.cumsum(lengths + 1) for lengths in sides]  # (n,) with a separator after each
    bounds = [0]
    while bounds[-1] < count:
        first = bounds[-1]
        row_end = count
        for side_ends in ends:
            start = int(side_ends[first - 1]) if first else 0
            limit = start + max_length + 1  # the last sentence of a row has no separator
            side_end = np.searchsorted(side_ends, limit, side="right")
            row_end = min(row_end, int(side_end))
        # a sentence that does not fit is a row of its own
        bounds.append(max(row_end, first + 1))
    return np.asarray(bounds, np.int64)


def _joined(sentences: Sentences, members: IntArray, separator: int) -> Sentences:
    """Join consecutive sentences into rows with separators; `members` (rows,) are the sentences per row, all > 0.

    The sentences `a b`, `c` and `d` with members 2 and 1 become `a b </s> c` and `d`, with the words 0 1 -1 2 and 0.
    """
    lengths = sentences.lengths  # (n,)
    ends = np.cumsum(lengths)
    lasts = np.cumsum(members) - 1  # (rows,) the last sentence of each row
    firsts = lasts - members + 1
    sizes = np.diff(ends[lasts], prepend=0) + members - 1
    inner_ends = np.delete(ends, lasts)  # where separators are inserted
    ids = np.insert(sentences.ids.flat, inner_ends, separator)

    words = sentences.words.flat  # (T,)
    word_counts = 1 + np.maximum.reduceat(words, ends - lengths)  # (n,)
    words_before = np.cumsum(word_counts) - word_counts
    words_before -= np.repeat(words_before[firsts], members)  # (n,) in the row
    words = np.where(words >= 0, words + np.repeat(words_before, lengths), -1)
    words = np.insert(words.astype(np.int32), inner_ends, -1)
    return Sentences(
        Ragged.from_lengths(ids, sizes),
        Ragged.from_lengths(words, sizes),
        sentences.language,
    )
