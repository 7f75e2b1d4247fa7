"""Rows filled with whole sentences, or with whole translations: as many as fit, one after another, and none is cut.

    sentences   the cat sat | it slept | then the dog came
    rows of 6   the cat sat </s> it slept | then the dog came

Of translations both sides of a row hold the same pairs, each side so many subwords at most (Tang et al. 2022, appendix
G.3). Streams (`packing`) waste nothing but cut sentences at a row's edge, and two languages at different words.

Legend: n sentences of a batch; T their subwords.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.core.ragged import Ragged
from interlace.data import Pairs, Sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from interlace.data.corpus import Corpus
    from interlace.data.parallel import ParallelCorpus


class PackedSentences:
    """The rows of a corpus, joined.

    corpus: sentences or pairs. room: subwords of a side of a row, separators between sentences included.
    separator: what stands between two sentences.
    rows: numbers of those that are read, each of whose sides fits the room; none: all of them. Where a side has no
        subword there is nothing to learn, and they are left out.
    """

    def __init__(
        self,
        corpus: Corpus | ParallelCorpus | Sentences | Pairs,
        room: int,
        separator: int,
        rows: NDArray[np.int64] | None = None,
    ) -> None:
        self._corpus, self._separator = corpus, separator
        sides = side_lengths(corpus)
        spoken = np.flatnonzero(np.logical_and.reduce([side > 0 for side in sides]))
        read = spoken if rows is None else np.intersect1d(spoken, rows, assume_unique=True)
        sides = [lengths[read].astype(np.int64) for lengths in sides]
        self._members = Ragged(read, _bounds(sides, room))
        first, separators = self._members.offsets[:-1], self._members.lengths - 1
        self.side_lengths = [np.add.reduceat(side, first) + separators if len(first) else side[:0] for side in sides]

    def __len__(self) -> int:
        return len(self._members)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(rows,) subwords of all sides together, separators between sentences included."""
        total: NDArray[np.int64] = np.sum(self.side_lengths, axis=0)
        return total

    def take(self, rows: NDArray[Any] | Sequence[int]) -> Any:
        """The named rows, `Sentences` or `Pairs` as the corpus is; of pairs without their links and phrases.

        Words are numbered afresh in each row and side; a separator's is -1.
        """
        members = self._members.take(rows)
        found: Sentences | Pairs = self._corpus.take(members.flat)
        if isinstance(found, Sentences):
            return _joined(found, members.lengths, self._separator)
        source, target = (_joined(side, members.lengths, self._separator) for side in (found.source, found.target))
        return Pairs(source, target)


def side_lengths(corpus: Any) -> list[NDArray[Any]]:
    """(rows,) subwords of each side of pairs, or of the one side that sentences have."""
    if isinstance(corpus, Pairs):
        return [corpus.source.lengths, corpus.target.lengths]
    return list(getattr(corpus, "side_lengths", None) or [corpus.lengths])


def _bounds(sides: Sequence[NDArray[np.int64]], room: int) -> NDArray[np.int64]:
    """(rows + 1,) the sentence that each row begins with, and behind the last one their count."""
    count, bounds = len(sides[0]), [0]
    stops = [np.cumsum(lengths + 1) for lengths in sides]  # a separator behind each sentence
    while (first := bounds[-1]) < count:
        before = [int(stop[first - 1]) if first else 0 for stop in stops]
        # behind a row's last sentence the separator needs no room
        ends = [np.searchsorted(stop, base + room + 1, side="right") for stop, base in zip(stops, before, strict=True)]
        bounds.append(int(min(ends)))
    return np.asarray(bounds, np.int64)


def _joined(sentences: Sentences, members: NDArray[np.int64], separator: int) -> Sentences:
    """Sentences as rows, each of the next so many, with separators between.

    members: (rows,) sentences of each row; no row has none.
    """
    lengths, lasts = sentences.lengths, np.cumsum(members) - 1
    parted = np.ones(len(lengths), np.int64)  # separators behind each sentence
    parted[lasts] = 0
    separators = np.cumsum(parted) - parted  # before each sentence
    text = np.arange(lengths.sum()) + np.repeat(separators, lengths)  # (T,) where each subword comes to stand
    ids = np.full(len(text) + parted.sum(), separator, np.int32)
    words = np.full(len(ids), -1, np.int32)
    ids[text] = sentences.ids.flat
    own = sentences.words.flat
    words[text] = np.where(own >= 0, own + np.repeat(_words_before(sentences, members), lengths), -1)
    sizes = np.add.reduceat(lengths + parted, lasts - members + 1) if len(members) else members
    return Sentences(Ragged.from_lengths(ids, sizes), Ragged.from_lengths(words, sizes), sentences.language)


def _words_before(sentences: Sentences, members: NDArray[np.int64]) -> NDArray[np.int64]:
    """(n,) words that stand before each sentence in its row."""
    counts = np.zeros(len(sentences), np.int64)
    np.maximum.at(counts, sentences.words.rows(), sentences.words.flat + 1)
    before = np.cumsum(counts) - counts
    firsts = np.cumsum(members) - members
    found: NDArray[np.int64] = before - np.repeat(before[firsts], members)
    return found
