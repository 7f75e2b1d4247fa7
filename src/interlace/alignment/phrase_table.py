"""Phrase tables: phrase pairs of a corpus with scores (Koehn, Och and Marcu 2003), in Moses' format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from interlace.alignment.links import select_links
from interlace.alignment.moses import SEPARATOR, escape
from interlace.alignment.pharaoh import joined_texts, link_texts
from interlace.core.ragged import (
    AnyArray,
    DoubleArray,
    FloatArray,
    Int32Array,
    IntArray,
    IntegerArray,
    Ragged,
)
from interlace.text.lines import write_lines

# the columns of `PhraseTable.scores`, in Moses' order
SCORES = (
    "phi(s|t)",
    "lex(s|t)",
    "phi(t|s)",
    "lex(t|s)",
)
COUNTS = ("count(t)", "count(s)", "count(s,t)")  # the columns of `PhraseTable.counts`
_LINES = 50_000  # written at a time


class PhrasePair(NamedTuple):
    """One row of a table in readable form."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    scores: dict[str, float]
    links: list[tuple[int, int]]
    counts: dict[str, float]


@dataclass(frozen=True, eq=False)
class PhraseTable:
    """m pairs of S source and T target phrases with their scores.

    source, target: S and T rows of int32 word types, in the order of the table's lines, without duplicates.
    source_types, target_types: the spelling of each type.
    entries: (m, 2) int32 (source phrase, target phrase), sorted, without duplicates.
    scores: (m, 4) float32, columns as in `SCORES`.
    links: m rows of (source word, target word), int16, relative to the phrases: the most frequent ones.
    counts: (m, 3) float64, columns as in `COUNTS`.
    """

    source: Ragged
    target: Ragged
    source_types: list[str]
    target_types: list[str]
    entries: Int32Array
    scores: FloatArray
    links: Ragged
    counts: DoubleArray

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        return f"<table of {len(self):,} phrase pairs>"

    def __getitem__(self, row: int) -> PhrasePair:
        source, target = self.entries[row].tolist()
        return PhrasePair(
            tuple(self.source_types[word] for word in self.source[source]),
            tuple(self.target_types[word] for word in self.target[target]),
            dict(zip(SCORES, self.scores[row].tolist(), strict=True)),
            [(i, j) for i, j in self.links[row].tolist()],
            dict(zip(COUNTS, self.counts[row].tolist(), strict=True)),
        )

    # ---- files ----

    def write(self, path: Path | str) -> None:
        """Write Moses' format, sorted by bytes, gzip by suffix, atomically.

        `s ||| t ||| phi(s|t) lex(s|t) phi(t|s) lex(t|s) ||| links ||| count(t) count(s) count(s,t)`; inside words, `|`
        and white space are escaped. Scores have all digits of their 32 bits.
        """
        write_lines(path, self._lines())

    def _lines(self) -> Iterator[str]:
        """Yield all lines; only the phrases of some are spelled at a time, as all would not fit into memory."""
        source_words = [escape(word) for word in self.source_types]
        target_words = [escape(word) for word in self.target_types]
        for start in range(0, len(self), _LINES):
            rows = slice(start, start + _LINES)
            fields = [
                _spelled(self.source, self.entries[rows, 0], source_words),
                _spelled(self.target, self.entries[rows, 1], target_words),
                _formatted(self.scores[rows]),
                link_texts(self.links.slice(start, min(start + _LINES, len(self)))),
                _formatted(self.counts[rows]),
            ]
            yield from map(f" {SEPARATOR} ".join, zip(*fields, strict=True))

    # ---- lookup ----

    @cached_property
    def indexes(self) -> tuple[PhraseIndex, PhraseIndex]:
        """Indexes of the source and of the target phrases."""
        return PhraseIndex(self.source), PhraseIndex(self.target)

    def select(self, source: Ragged, target: Ragged, spans: Ragged) -> tuple[Ragged, IntArray]:
        """Return the phrase pairs among `spans` that the table holds, and their rows.

        source, target: n rows of the table's word types. spans: n rows of half-open word spans (a, b, c, d).
        """
        source_index, target_index = self.indexes
        rows = self.rows_of(
            source_index.find(source, spans), target_index.find(target, spans, 2)
        )
        return select_links(spans, rows >= 0), rows[rows >= 0]

    def rows_of(self, source: IntegerArray, target: IntegerArray) -> IntArray:
        """(n,) the row of each pair of phrase numbers, -1 if the table does not contain it."""
        wanted = np.asarray(source, np.int64) * max(len(self.target), 1) + target
        rows = np.searchsorted(self._keys[:-1], wanted)
        known = (
            (np.asarray(source) >= 0) & (np.asarray(target) >= 0) & (self._keys[rows] == wanted)
        )
        return np.where(known, rows, -1)

    @cached_property
    def best(self) -> IntArray:
        """(S,) the row of each source phrase's most probable translation, as ranked by `ranked_rows`."""
        first_rows = np.searchsorted(self.entries[:, 0], np.arange(len(self.source)))
        return ranked_rows(self.entries, self.scores, self.counts)[first_rows]

    @cached_property
    def _keys(self) -> IntArray:
        """(m + 1,) an increasing key for each entry, and -1, which is no key."""
        keys = (
            self.entries[:, 0].astype(np.int64) * max(len(self.target), 1) + self.entries[:, 1]
        )
        return np.append(keys, -1)


def ranked_rows(entries: IntegerArray, scores: FloatArray, counts: DoubleArray) -> IntArray:
    """(m,) rows of a table sorted by source phrase, then by decreasing phi(t|s).

    Ties are broken by count, then by lex(t|s), which disfavors unaligned words at the borders, then by order.
    """
    return np.lexsort((-scores[:, 3], -counts[:, 2], -scores[:, 2], entries[:, 0]))


class PhraseIndex:
    """Finds phrases of a table in rows of word types, exactly and without strings."""

    def __init__(self, phrases: Ragged) -> None:
        """Index phrases, rows of word types; phrases with a negative type are never found."""
        from interlace.alignment.trie import Trie  # compiles loops

        unknown = np.bincount(phrases.rows(), phrases.flat < 0, minlength=len(phrases)) > 0
        numbers = np.flatnonzero(~unknown & (phrases.lengths > 0))
        indexed = phrases.take(numbers)
        self._trie = Trie()
        whole_rows = np.stack([np.zeros(len(indexed), np.int64), indexed.lengths], axis=1)
        spans = Ragged.from_lengths(whole_rows, np.ones(len(indexed), np.int64))
        nodes = self._trie.number(indexed, spans)
        self._phrases = np.full(self._trie.used, -1, np.int32)
        self._phrases[nodes] = numbers

    def find(self, words: Ragged, spans: Ragged, first: int = 0) -> Int32Array:
        """(total,) the number of the phrase of each span, -1 if it is not indexed.

        words: n rows of word types; negative ones are unknown.
        spans: n rows of half-open word spans with start and stop in the columns `first` and `first + 1`.
        """
        return self._phrases[self._trie.find(words, spans, first)]


def _spelled(phrases: Ragged, numbers: Int32Array, words: list[str]) -> list[str]:
    """Return the spellings of these phrases."""
    distinct, positions = np.unique(numbers, return_inverse=True)
    texts = joined_texts(phrases.take(distinct), words)
    return [texts[position] for position in positions.tolist()]


def _formatted(columns: AnyArray) -> Iterator[str]:
    """Yield the numbers of each row joined by blanks, each with the fewest digits that restore it."""
    texts = []
    for column in columns.T:
        numbers = column.astype(str).tolist()
        texts.append([number.removesuffix(".0") for number in numbers])
    return map(" ".join, zip(*texts, strict=True))
