"""Streams: running text cut into full rows, for objectives that read any number of sentences at a time (MLM, CLM).

    sentences   the cat sat | it slept | then the dog came
    stream      the cat sat </s> it slept </s> then the dog came </s>
    rows of 4   the cat sat </s> | it slept </s> then | the dog came </s>

The stream is a ring: with the cuts shifted by s, the last row may join its end to its beginning. So in every epoch each
subword stands in exactly one row, but for the remainder of stream length / row length, which the shift moves about.

Legend: n sentences; S subwords of the stream, separators included; B rows asked for, L their length.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.ragged import Ragged
from interlace.data import Sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from interlace.data.corpus import Corpus


class Streams:
    """The rows of a corpus as one stream.

    corpus: a `Corpus`, or `Sentences` in memory. length: subwords a row, without the specials a model adds round it.
    """

    def __init__(self, corpus: Corpus | Sentences, length: int, separator_id: int) -> None:
        self.language = corpus.language
        self.length = length
        self.separator = separator_id
        self._ends = np.cumsum(np.asarray(corpus.lengths, np.int64) + 1) - 1  # (n,) each sentence's separator
        self._size = int(self._ends[-1]) + 1 if len(self._ends) else 0
        flats = [(corpus.ids.flat, corpus.words.flat)] if isinstance(corpus, Sentences) else corpus.flats
        self._ids = _Pieces([ids for ids, _ in flats])
        self._words = _Pieces([words for _, words in flats])

    def __len__(self) -> int:
        return self._size // self.length

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(rows,) all of them `length`."""
        return np.full(len(self), self.length, np.int64)

    def take(self, rows: NDArray[Any] | Sequence[int], shift: int = 0) -> Sentences:
        """Rows by number, all cuts moved by `shift` subwords.

        Words are numbered afresh in each row, in order; the separator's is -1. A word cut in two by a row's edge is one
        word in each of the rows.
        """
        starts = (np.asarray(rows, np.int64) * self.length + shift) % max(self._size, 1)
        ids = np.full((len(starts), self.length), self.separator, np.int32)
        words = np.full((len(starts), self.length), -1, np.int32)
        if len(starts):
            text = self._text(starts)
            ids[text] = self._ids.joined(spans := self._spans(starts))
            words[text] = self._words.joined(spans)
        offsets = np.arange(len(starts) + 1, dtype=np.int64) * self.length
        return Sentences(Ragged(ids.reshape(-1), offsets), Ragged(_renumbered(words), offsets), self.language)

    def _text(self, starts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(B, L) where a subword of a sentence stands, False at separators."""
        text = np.ones((len(starts), self.length), np.bool_)
        flat = text.reshape(-1)
        for row, first, last, shift in self._separators(starts):
            flat[row * self.length + self._ends[first:last] - shift] = False
        return text

    def _separators(self, starts: NDArray[np.int64]) -> list[tuple[int, int, int, int]]:
        """For each row, and again for each that runs over the end: row, first and last sentence ending in it, start."""
        stops = starts + self.length
        first = np.searchsorted(self._ends, starts)
        last = np.searchsorted(self._ends, stops)
        found = list(zip(range(len(starts)), first.tolist(), last.tolist(), starts.tolist(), strict=True))
        for row in np.flatnonzero(stops > self._size).tolist():
            over = int(np.searchsorted(self._ends, stops[row] - self._size))
            found.append((row, 0, over, int(starts[row]) - self._size))
        return found

    def _spans(self, starts: NDArray[np.int64]) -> list[tuple[int, int]]:
        """For each row the span of the sentences' subwords (separators not counted) that it holds; two at the end."""
        stops = starts + self.length
        total = self._size - len(self._ends)
        first = starts - np.searchsorted(self._ends, starts)
        last = stops - np.searchsorted(self._ends, stops)
        spans = []
        for begin, end, stop in zip(first.tolist(), last.tolist(), stops.tolist(), strict=True):
            if stop <= self._size:
                spans.append((begin, end))
            else:
                over = stop - self._size
                spans += [(begin, total), (0, over - int(np.searchsorted(self._ends, over)))]
        return spans


class _Pieces:
    """Arrays that are read as if they were one, without joining them."""

    def __init__(self, pieces: Sequence[NDArray[np.int32]]) -> None:
        self._pieces = list(pieces)
        self._bounds = [0, *accumulate(map(len, pieces))]

    def joined(self, spans: Sequence[tuple[int, int]]) -> NDArray[np.int32]:
        """The values of all spans, one after another."""
        return np.concatenate([part for begin, end in spans for part in self._parts(begin, end)])

    def _parts(self, begin: int, end: int) -> list[NDArray[np.int32]]:
        first = min(bisect_right(self._bounds, begin), len(self._pieces)) - 1
        last = bisect_left(self._bounds, end, first + 1)
        return [
            self._pieces[number][max(begin - self._bounds[number], 0) : end - self._bounds[number]]
            for number in range(first, last)
        ]


def _renumbered(words: NDArray[np.int32]) -> NDArray[np.int32]:
    """(B * L,) words counted from 0 in each row: a new one wherever the number changes or a separator stood before."""
    begins = np.ones(words.shape, np.bool_)
    np.not_equal(words[:, 1:], words[:, :-1], out=begins[:, 1:])
    inside = words >= 0
    begins &= inside
    numbers = np.cumsum(begins, axis=1, dtype=np.int32)
    return np.where(inside, numbers - 1, -1).reshape(-1).astype(np.int32, copy=False)
