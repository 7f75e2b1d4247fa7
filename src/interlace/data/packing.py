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
from numpy.typing import NDArray

from interlace.core.ragged import Ragged
from interlace.data import Pairs, RowNumbers, Sentences
from interlace.data.corpus import Corpus, ParallelCorpus


class Streams:
    """The rows of a corpus, or of `Sentences`, as one stream; length: subwords per row without the model's specials."""

    def __init__(self, corpus: Corpus | Sentences, length: int, separator_id: int) -> None:
        self.language = corpus.language
        self.length = length
        self.separator = separator_id
        self._ends = np.cumsum(np.asarray(corpus.lengths, np.int64) + 1) - 1  # (n,) each sentence's separator
        self._size = int(self._ends[-1]) + 1 if len(self._ends) else 0
        found = (corpus.ids.flat, corpus.words.flat) if isinstance(corpus, Sentences) else corpus.flat
        self._ids, self._words = found

    def __len__(self) -> int:
        return self._size // self.length

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(rows,) all equal to `length`."""
        return np.full(len(self), self.length, np.int64)

    def take(self, rows: RowNumbers, shift: int = 0) -> Sentences:
        """Return rows by number, with all cuts moved by `shift` subwords.

        Words are numbered from 0 in each row; a separator has -1. A word cut by a row's edge is one word in each of the
        two rows.
        """
        starts = (np.asarray(rows, np.int64) * self.length + shift) % max(self._size, 1)
        ids = np.full((len(starts), self.length), self.separator, np.int32)
        words = np.full((len(starts), self.length), -1, np.int32)
        if len(starts):
            text, spans = self._text(starts)
            ids[text] = np.concatenate([self._ids[begin:end] for begin, end in spans])
            words[text] = np.concatenate([self._words[begin:end] for begin, end in spans])
        offsets = np.arange(len(starts) + 1, dtype=np.int64) * self.length
        return Sentences(Ragged(ids.reshape(-1), offsets), Ragged(_renumbered(words), offsets), self.language)

    def _text(self, starts: NDArray[np.int64]) -> tuple[NDArray[np.bool_], list[tuple[int, int]]]:
        """Return a mask (B, L), False at separators, and the spans of rows without them: two if one wraps around."""
        over = np.maximum(starts + self.length - self._size, 0)
        total = self._size - len(self._ends)
        ends = (np.searchsorted(self._ends, places).tolist() for places in (starts, starts + self.length, over))
        text, spans = np.ones((len(starts), self.length), np.bool_), []
        rows = zip(starts.tolist(), over.tolist(), *ends, strict=True)
        for row, (start, wrapped, first, last, again) in enumerate(rows):
            text[row, self._ends[first:last] - start] = False
            spans.append((start - first, min(start + self.length - last, total)))
            if wrapped:
                text[row, self._ends[:again] + (self._size - start)] = False
                spans.append((0, wrapped - again))
        return text, spans


class PackedSentences:
    """The rows of a corpus, packed into longer rows.

    corpus: sentences or pairs. max_length: subwords per side of a row, with separators between sentences.
    separator: the id between two sentences.
    rows: numbers of the rows to use; default: all. One that is too long is alone, one with an empty side skipped.
    """

    def __init__(
        self,
        corpus: Corpus | ParallelCorpus | Sentences | Pairs,
        max_length: int,
        separator: int,
        rows: NDArray[np.int64] | None = None,
    ) -> None:
        self._corpus, self._separator = corpus, separator
        sides = corpus.side_lengths
        full = np.flatnonzero(np.logical_and.reduce([side > 0 for side in sides]))
        used = full if rows is None else np.intersect1d(full, rows, assume_unique=True)
        lengths = [side[used].astype(np.int64) for side in sides]
        self._members = Ragged(used, _bounds(lengths, max_length))
        first, separators = self._members.offsets[:-1], self._members.lengths - 1
        self.side_lengths = [np.add.reduceat(side, first) + separators if len(first) else side[:0] for side in lengths]

    def __len__(self) -> int:
        return len(self._members)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(rows,) subwords of all sides together, with separators between sentences."""
        return np.asarray(np.sum(self.side_lengths, axis=0))

    def take(self, rows: RowNumbers) -> Any:
        """Return rows as `Sentences` or plain `Pairs`, words numbered from 0 in each row and side, separators -1."""
        members = self._members.take(rows)
        found: Sentences | Pairs = self._corpus.take(members.flat)
        if isinstance(found, Sentences):
            return _joined(found, members.lengths, self._separator)
        source, target = (_joined(side, members.lengths, self._separator) for side in (found.source, found.target))
        return Pairs(source, target)


def _renumbered(words: NDArray[np.int32]) -> NDArray[np.int32]:
    """(B * L,) words numbered from 0 in each row; a change of number or a separator begins a new word."""
    begins = np.ones(words.shape, np.bool_)
    np.not_equal(words[:, 1:], words[:, :-1], out=begins[:, 1:])
    inside = words >= 0
    begins &= inside
    numbers = np.cumsum(begins, axis=1, dtype=np.int32)
    return np.where(inside, numbers - 1, -1).reshape(-1).astype(np.int32, copy=False)


def _bounds(sides: Sequence[NDArray[np.int64]], max_length: int) -> NDArray[np.int64]:
    """(rows + 1,) the first sentence of each row, and the number of sentences."""
    count, bounds = len(sides[0]), [0]
    stops = [np.cumsum(lengths + 1) for lengths in sides]  # with a separator after each sentence
    while (first := bounds[-1]) < count:
        before = [int(stop[first - 1]) if first else 0 for stop in stops]
        # the last sentence of a row has no separator
        ends = [
            np.searchsorted(stop, base + max_length + 1, side="right") for stop, base in zip(stops, before, strict=True)
        ]
        bounds.append(max(int(min(ends)), first + 1))  # a sentence that does not fit is a row of its own
    return np.asarray(bounds, np.int64)


def _joined(sentences: Sentences, members: NDArray[np.int64], separator: int) -> Sentences:
    """Join consecutive sentences into rows with separators; `members` (rows,) are the sentences per row, all > 0."""
    lengths, lasts = sentences.lengths, np.cumsum(members) - 1
    parted = np.ones(len(lengths), np.int64)  # separators after each sentence
    parted[lasts] = 0
    separators = np.cumsum(parted) - parted  # separators before each sentence
    text = np.arange(lengths.sum()) + np.repeat(separators, lengths)  # (T,) the new position of each subword
    ids = np.full(len(text) + parted.sum(), separator, np.int32)
    words = np.full(len(ids), -1, np.int32)
    ids[text] = sentences.ids.flat
    own = sentences.words.flat
    counts = np.zeros(len(sentences), np.int64)
    np.maximum.at(counts, sentences.words.rows(), own + 1)
    before = np.cumsum(counts) - counts
    before -= np.repeat(before[lasts - members + 1], members)  # words before each sentence in its row
    words[text] = np.where(own >= 0, own + np.repeat(before, lengths), -1)
    sizes = np.add.reduceat(lengths + parted, lasts - members + 1) if len(members) else members
    return Sentences(Ragged.from_lengths(ids, sizes), Ragged.from_lengths(words, sizes), sentences.language)
