"""Switched sentences as subwords: gathered from both sides, never tokenised again but for moved phrases' first words.

Legend: n rows; p pieces; T subwords of all switched rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from interlace.core.ragged import Ragged
from interlace.data import Sentences
from interlace.data.layout import sentence_layout
from interlace.objectives._switching import OF_SOURCE, OF_TARGET
from interlace.objectives._switching_joins import UNKNOWN, blank_before, language_kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.data import Pairs
    from interlace.data.layout import Layout
    from interlace.data.vocab import Vocab
    from interlace.objectives._switching import Switched
    from interlace.objectives._switching_forms import Forms

_LANGUAGE = np.array([0, 1, 1, 0], np.int8)  # of a piece, by where it comes from
_FORMS = 4  # where converted words come from


@dataclass(frozen=True)
class SwitchedRows:
    """Subwords of switched sentences.

    sentences: n rows; words are numbered in the switched sentence.
    sides: (T,) int8, the side whose language each subword is of.
    """

    sentences: Sentences
    sides: NDArray[np.int8]

    def take(self, rows: NDArray[np.int64]) -> SwitchedRows:
        """The named rows."""
        return SwitchedRows(self.sentences.take(rows), Ragged(self.sides, self.sentences.ids.offsets).take(rows).values)

    def laid_out(self, vocab: Vocab, max_length: int) -> Layout:
        """`[begin] row [end]` with the side that each subword is of; a special has that of the one beside it."""
        layout = sentence_layout(self.sentences, vocab, max_length)
        sides = np.zeros(layout.ids.shape, np.int8)
        sides[layout.content] = self.sides[self.sentences.ids.columns() < max_length - 2]
        sides[:, 0] = sides[:, 1]
        rows, last = np.arange(len(sides)), layout.lengths - 1
        sides[rows, last] = sides[rows, last - 1]
        return replace(layout, sides=sides)


@dataclass(frozen=True)
class _Pieces:
    """p pieces. where: of which store. row, start, stop: its words. owner: of which switched row. language: 0 or 1."""

    where: NDArray[np.int64]
    row: NDArray[np.int64]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    owner: NDArray[np.int64]
    language: NDArray[np.int8]


def gathered(pairs: Pairs, switched: Switched, forms: Forms) -> SwitchedRows:
    """The subwords of each switched sentence, as the tokenizer would give them for its text."""
    flat = switched.pieces.flat.astype(np.int64)
    where, row, start, stop = flat.T.copy()
    pieces = _Pieces(where, row, start, stop, switched.pieces.rows(), _LANGUAGE[where])
    store = _Store.of(pairs, pieces)
    if forms.blank.any():
        pieces, store = _reformed(pairs, switched, pieces, store, forms)
    begin, end = store.bounds(pieces)
    lengths = end - begin
    index = np.repeat(begin - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
    words = pieces.stop - pieces.start
    before = np.cumsum(words) - words  # words before each piece, then of its own row only
    first = np.searchsorted(pieces.owner, np.arange(len(switched.pieces)))
    before -= np.append(before, 0)[first][pieces.owner]
    numbers = store.words[index] + np.repeat(before - pieces.start, lengths)
    per_row = np.bincount(pieces.owner, lengths, minlength=len(switched.pieces)).astype(np.int64)
    ids = Ragged.from_lengths(store.ids[index], per_row)
    sentences = Sentences(ids, Ragged(numbers.astype(np.int32), ids.offsets), pairs.source.language)
    return SwitchedRows(sentences, np.repeat(pieces.language, lengths))


@dataclass(frozen=True)
class _Store:
    """Sentences of all places one after another, as flat columns.

    first: by place, the number of its first row, and how many rows there are.
    begins: (rows x width,) for each row and number one above a word's, how many subwords come before that word.
    """

    ids: NDArray[np.int32]
    words: NDArray[np.int32]
    begins: NDArray[np.int64]
    first: NDArray[np.int64]
    width: int

    @classmethod
    def of(cls, pairs: Pairs, pieces: _Pieces) -> _Store:
        """Both sides, and those of the table's translations that stand in a piece (which are renumbered)."""
        parts = [pairs.source, pairs.target]
        for place in (OF_SOURCE, OF_TARGET):
            mine = pieces.where == place
            if pairs.known is not None and mine.any():
                parts.append(pairs.known[place - OF_SOURCE].counterparts.take(pieces.row[mine]))
                pieces.row[mine] = np.arange(mine.sum())
            else:
                parts.append(pairs.source.take([]))
        return cls.joined(parts)

    @classmethod
    def joined(cls, parts: list[Sentences]) -> _Store:
        """Of sentences whose words are numbered in order; -1 stands for none."""
        ids, words = (np.concatenate([getattr(part, name).flat for part in parts]) for name in ("ids", "words"))
        rows = np.repeat(np.arange(sum(map(len, parts))), np.concatenate([part.lengths for part in parts]))
        first = np.cumsum([0, *map(len, parts)])
        width = int(words.max(initial=0)) + 3
        counts = np.bincount(rows * width + words + 2, minlength=int(first[-1]) * width)
        return cls(ids.astype(np.int32), words.astype(np.int32), np.cumsum(counts), first, width)

    def begin(self, where: NDArray[np.int64], row: NDArray[np.int64], word: NDArray[np.int64]) -> NDArray[np.int64]:
        """The first subword of a word, or where it would be."""
        return np.asarray(self.begins[(self.first[where] + row) * self.width + word + 1])

    def bounds(self, pieces: _Pieces) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(p,) the first subword of each piece, and the one behind its last."""
        row = (self.first[pieces.where] + pieces.row) * self.width + 1
        return self.begins[row + pieces.start], self.begins[row + pieces.stop]

    def with_words(self, words: Ragged) -> _Store:
        """One more place: rows of a single word each."""
        begins = np.repeat(len(self.ids) + words.offsets[:-1, None], self.width, axis=1)
        begins[:, 2:] = len(self.ids) + words.offsets[1:, None]
        return _Store(
            np.concatenate([self.ids, words.flat]),
            np.concatenate([self.words, np.zeros(len(words.flat), np.int32)]),
            np.concatenate([self.begins[: self.first[-1] * self.width], begins.ravel()]),
            np.append(self.first, self.first[-1] + len(words)),
            self.width,
        )


def _reformed(pairs: Pairs, switched: Switched, pieces: _Pieces, store: _Store, forms: Forms) -> tuple[_Pieces, _Store]:
    """Cut inserted pieces in two, their first word and the rest, where it needs another form than it has."""
    begin, end = store.bounds(pieces)
    at = np.flatnonzero(switched.inserted & (begin < end))
    before = np.maximum(end[at - 1] - 1, 0)  # the subword that each meets; of a line's first piece no one asks
    begin, end = begin[at], end[at]
    wanted = _wanted(pairs, switched, pieces, store, forms, (at, before, begin, end))
    other = forms.blank[store.ids[begin]] != wanted
    if not other.any():
        return pieces, store
    at, begin, wanted = at[other], begin[other], wanted[other]
    heads = _some(pieces, at)
    lengths = store.begin(heads.where, heads.row, heads.start + 1) - begin
    words = Ragged.from_lengths(np.zeros(0, np.int32), lengths)
    index = np.repeat(begin - words.offsets[:-1], lengths) + np.arange(words.offsets[-1])
    converted = forms.converted(Ragged(store.ids[index], words.offsets), wanted)
    return _cut(pieces, at), store.with_words(converted)


def _wanted(
    pairs: Pairs, switched: Switched, pieces: _Pieces, store: _Store, forms: Forms, found: tuple[NDArray[np.int64], ...]
) -> NDArray[np.bool_]:
    """Whether each inserted piece is to begin with a blank.

    found: the number of each, the subword before it, its first one and the one behind it.
    """
    at, before, begin, end = found
    places, owner = switched.places.flat[at].astype(np.int64), pieces.owner[at]
    matrix = switched.matrix[owner].astype(np.int64)
    first = np.minimum(store.begin(matrix, owner, places[:, 0]), len(store.ids) - 1)
    place = forms.blank[store.ids[first]]
    phrase = forms.blank[store.ids[begin]] | (pieces.start[at] == 0)
    after = np.minimum(begin + forms.bare[store.ids[begin]], end - 1)
    letters = np.array([language_kind(side.language) for side in (pairs.source, pairs.target)], np.int8)
    met = [
        np.where(kinds == UNKNOWN, letters[pieces.language[which]], kinds)
        for kinds, which in ((forms.closes[store.ids[before]], at - 1), (forms.opens[store.ids[after]], at))
    ]
    return np.asarray(np.where(places[:, 0] == 0, place, blank_before(place, phrase, *met)), np.bool_)


def _cut(pieces: _Pieces, at: NDArray[np.int64]) -> _Pieces:
    """The pieces with a converted word in front of each of those at the given places, which lose their first word."""
    order = np.sort(np.concatenate([np.arange(len(pieces.where)), at]), kind="stable")
    cut = _some(pieces, order)
    heads = at + np.arange(len(at))
    cut.where[heads], cut.row[heads] = _FORMS, np.arange(len(at))
    cut.start[heads], cut.stop[heads] = 0, 1
    cut.start[heads + 1] += 1
    return cut


def _some(pieces: _Pieces, at: NDArray[np.int64]) -> _Pieces:
    return _Pieces(*(column[at] for column in vars(pieces).values()))
