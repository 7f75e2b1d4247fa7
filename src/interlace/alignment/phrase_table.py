"""Phrase tables: phrase pairs of a corpus with scores (Koehn, Och and Marcu 2003), in Moses' format."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from interlace.alignment import WordPairs
from interlace.alignment.links import select_links
from interlace.alignment.phrases import PhraseRules
from interlace.alignment.spill import DEFAULT_MEMORY
from interlace.core.ragged import Ragged

SCORES = ("phi(s|t)", "lex(s|t)", "phi(t|s)", "lex(t|s)")  # the columns of `PhraseTable.scores`, in Moses' order
COUNTS = ("count(t)", "count(s)", "count(s,t)")  # the columns of `PhraseTable.counts`


class TableRules(PhraseRules):
    """Which phrase pairs of an aligned corpus a table holds."""

    min_count: int = Field(
        1, ge=1, description="Minimum count of a phrase pair. Rarer ones still count in the totals of the scores."
    )
    top: int = Field(
        0,
        ge=0,
        description="Number of most probable translations to keep per source phrase; 0: all (Moses decodes with 20).",
    )


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
    entries: NDArray[np.int32]
    scores: NDArray[np.float32]
    links: Ragged
    counts: NDArray[np.float64]

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

    # ---- constructor and files ----

    @staticmethod
    def count(
        pairs: WordPairs,
        links: Ragged,
        rules: TableRules | None = None,
        memory: float = DEFAULT_MEMORY,
        confidence: NDArray[np.floating] | None = None,
    ) -> PhraseTable:
        """Extract and score the phrase table of an aligned corpus.

        Phi is the relative frequency of a phrase given the other one. Lexical weights are those of the most frequent
        links inside a pair (ties: those seen first), with word probabilities counted from all links.

        links: n rows of (source word, target word), without duplicates in a row.
        memory: GB for counts. If they exceed it, source phrases are counted range by range, and the table is mapped
            from temporary files.
        confidence: (total,) of each link, needed for `rules.min_confidence`; word probabilities are then counted from
            the confident links too.

        Raises:
            DataError: a link is not between words of its pair (names the pair, from 1), or confidence is needed and
                unknown.
        """
        from interlace.alignment.phrase_counts import count_phrase_pairs

        rules = rules or TableRules()
        links, _ = rules.confident(links, confidence)
        return count_phrase_pairs(pairs, links, rules, memory)

    def write(self, path: Path | str) -> None:
        """Write Moses' format, sorted by bytes, gzip by suffix, atomically.

        `s ||| t ||| phi(s|t) lex(s|t) phi(t|s) lex(t|s) ||| links ||| count(t) count(s) count(s,t)`; inside words, `|`
        and white space are escaped. Scores have all digits of their 32 bits.
        """
        from interlace.alignment.moses import write_table

        write_table(path, self)

    # ---- lookup ----

    @cached_property
    def indexes(self) -> tuple[PhraseIndex, PhraseIndex]:
        """Indexes of the source and of the target phrases."""
        return PhraseIndex(self.source), PhraseIndex(self.target)

    def select(self, source: Ragged, target: Ragged, spans: Ragged) -> tuple[Ragged, NDArray[np.int64]]:
        """Return the phrase pairs among `spans` that the table holds, and their rows.

        source, target: n rows of the table's word types. spans: n rows of half-open word spans (a, b, c, d).
        """
        rows = self.rows_of(self.indexes[0].find(source, spans), self.indexes[1].find(target, spans, 2))
        return select_links(spans, rows >= 0), rows[rows >= 0]

    def rows_of(self, source: NDArray[np.integer], target: NDArray[np.integer]) -> NDArray[np.int64]:
        """(n,) the row of each pair of phrase numbers, -1 if the table does not contain it."""
        wanted = np.asarray(source, np.int64) * max(len(self.target), 1) + target
        rows = np.searchsorted(self._keys[:-1], wanted)
        known = (np.asarray(source) >= 0) & (np.asarray(target) >= 0) & (self._keys[rows] == wanted)
        return np.where(known, rows, -1)

    @cached_property
    def best(self) -> NDArray[np.int64]:
        """(S,) the row of each source phrase's most probable translation: the highest phi(t|s).

        Ties are broken by count, then by lex(t|s), which disfavors unaligned words at the borders, then by order.
        """
        return self._ranked[self._starts[:-1]]

    def best_of_each(self, count: int) -> PhraseTable:
        """Return the `count` most probable translations of each source phrase, ranked as in `best`."""
        return self.take(np.sort(self._ranked[np.arange(len(self)) - self._starts[self.entries[:, 0]] < count]))

    def take(self, rows: NDArray[np.integer]) -> PhraseTable:
        """Return the table of some distinct rows, in order; phrases that occur in none of them are dropped."""
        columns, sides = [], []
        for side, phrases in enumerate((self.source, self.target)):
            kept, numbers = np.unique(self.entries[rows, side], return_inverse=True)
            columns.append(numbers.astype(np.int32))
            sides.append(phrases.take(kept))
        types = (self.source_types, self.target_types)
        entries, scores, links = np.stack(columns, axis=1), self.scores[rows], self.links.take(rows)
        return PhraseTable(sides[0], sides[1], *types, entries, scores, links, self.counts[rows])

    @cached_property
    def _keys(self) -> NDArray[np.int64]:
        """(m + 1,) an increasing key for each entry, and -1, which is no key."""
        keys = self.entries[:, 0].astype(np.int64) * max(len(self.target), 1) + self.entries[:, 1]
        return np.append(keys, -1)

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """(S + 1,) the first row of each source phrase, and the number of rows."""
        return np.searchsorted(self.entries[:, 0], np.arange(len(self.source) + 1))

    @cached_property
    def _ranked(self) -> NDArray[np.int64]:
        """(m,) rows sorted by source phrase, then by decreasing probability."""
        return np.lexsort((-self.scores[:, 3], -self.counts[:, 2], -self.scores[:, 2], self.entries[:, 0]))


class PhraseIndex:
    """Finds phrases of a table in rows of word types, exactly and without strings."""

    def __init__(self, phrases: Ragged) -> None:
        """Index phrases, rows of word types; phrases with a negative type are never found."""
        from interlace.alignment.trie import Trie  # compiles loops

        known = np.flatnonzero(np.bincount(phrases.rows(), phrases.flat < 0, minlength=len(phrases)) == 0)
        known = known[phrases.lengths[known] > 0]
        kept = phrases.take(known)
        spans = np.stack([np.zeros(len(known), np.int64), kept.lengths], axis=1)
        self._trie = Trie()
        nodes = self._trie.number(kept, Ragged.from_lengths(spans, np.ones(len(known), np.int64)))
        self._phrases = np.full(self._trie.used, -1, np.int32)
        self._phrases[nodes] = known

    def find(self, words: Ragged, spans: Ragged, first: int = 0) -> NDArray[np.int32]:
        """(total,) the number of the phrase of each span, -1 if it is not indexed.

        words: n rows of word types; negative ones are unknown.
        spans: n rows of half-open word spans with start and stop in the columns `first` and `first + 1`.
        """
        return self._phrases[self._trie.find(words, spans, first)]
