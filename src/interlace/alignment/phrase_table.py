"""Phrase tables: how phrases were translated in a corpus, with scores (Koehn, Och and Marcu 2003), in Moses' format."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from pydantic import Field

from interlace.alignment._table_trie import Trie
from interlace.alignment.phrases import PhraseRules
from interlace.core.ragged import Ragged
from interlace.text.types import WordTypes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Literal

    from numpy.typing import NDArray

    from interlace.alignment import WordPairs

SCORES = ("phi(s|t)", "lex(s|t)", "phi(t|s)", "lex(t|s)")  # the columns of `PhraseTable.scores`, in Moses' order
COUNTS = ("count(t)", "count(s)", "count(s,t)")  # the columns of `PhraseTable.counts`


class TableRules(PhraseRules):
    """Which phrase pairs of a linked corpus a table holds."""

    min_count: int = Field(
        1, ge=1, description="Least count of a phrase pair. Rarer ones still count in the totals that scores divide by."
    )
    top: int = Field(
        0,
        ge=0,
        description="Translations kept of each source phrase, the likeliest; 0 keeps all (Moses decodes with 20).",
    )


class PhrasePair(NamedTuple):
    """One row of a table, for people."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    scores: dict[str, float]
    links: list[tuple[int, int]]
    counts: dict[str, float]


@dataclass(frozen=True, eq=False)
class PhraseTable:
    """Phrases of two languages that translate each other; m pairs of S source and T target phrases.

    source, target: S and T rows of int32 word types, in the order of the table's lines, each once.
    source_types, target_types: the spelling of each type.
    entries: (m, 2) int32 (source phrase, target phrase), sorted, each once.
    scores: (m, 4) float32, columns as in `SCORES`.
    links: m rows of (source word, target word), int16, counted from 0 inside the phrases: the most frequent ones.
    counts: (m, 3) float64, columns as in `COUNTS`; 0 where a file had none.
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

    def __getitem__(self, row: int) -> PhrasePair:
        source, target = self.entries[row].tolist()
        return PhrasePair(
            tuple(self.source_types[word] for word in self.source[source]),
            tuple(self.target_types[word] for word in self.target[target]),
            dict(zip(SCORES, self.scores[row].tolist(), strict=True)),
            [(i, j) for i, j in self.links[row].tolist()],
            dict(zip(COUNTS, self.counts[row].tolist(), strict=True)),
        )

    # ---- where tables come from ----

    @classmethod
    def count(
        cls,
        pairs: WordPairs,
        links: Ragged,
        rules: TableRules | None = None,
        spool: Path | None = None,
        confidence: NDArray[np.floating] | None = None,
    ) -> PhraseTable:
        """The table of a linked corpus.

        Phi is a share of the times a phrase was seen in a pair. Lexical weights are those of the most frequent links
        inside a pair, of equals those seen first, with word probabilities counted from all links.

        links: n rows of (source word, target word), each once in its row.
        spool: an empty folder for what is counted. Memory then grows with the phrases of each side and with the rows
            that are kept, and not with all pairs of phrases. The caller removes it when done.
        confidence: a number a link, which a rule of least confidence needs; word probabilities too are then counted
            from the sure links.

        Raises:
            DataError: the links do not stand between the words of these pairs; names the pair, from 1. Or the rules
                ask for confidence and there is none.
        """
        from interlace.alignment._table_build import counted

        rules = rules or TableRules()
        table = counted(cls, pairs, rules.sure(links, confidence)[0], rules, spool)
        return table.best_of_each(rules.top) if rules.top else table

    @classmethod
    def read(cls, path: Path | str) -> PhraseTable:
        """From Moses' format, plain or gzip by suffix; lines may come in any order.

        Raises:
            DataError: the file is missing or empty, or a line is no phrase pair or repeats one; names file and line.
        """
        from interlace.alignment._table_read import read

        return read(cls, path)

    def write(self, path: Path | str) -> None:
        """In Moses' format, sorted by bytes, gzip by suffix, whole or not at all.

        `s ||| t ||| phi(s|t) lex(s|t) phi(t|s) lex(t|s) ||| links ||| count(t) count(s) count(s,t)`; inside words, `|`
        and blanks are escaped. Scores have all digits of their 32 bits, so `read` gives the same table.
        """
        from interlace.alignment._table_write import write

        write(self, path)

    # ---- looking up ----

    def index(self, side: Literal["source", "target"], types: Sequence[str] | None = None) -> PhraseIndex:
        """The numbers of one side's phrases; `types` is the numbering of the words that will be looked up."""
        phrases, own = (self.source, self.source_types) if side == "source" else (self.target, self.target_types)
        if types is None or types is own:
            return PhraseIndex(phrases)
        return PhraseIndex(Ragged(WordTypes(types).find(own)[phrases.values], phrases.offsets))

    def rows_of(self, source: NDArray[np.integer], target: NDArray[np.integer]) -> NDArray[np.int64]:
        """(n,) the row of each pair of phrase numbers, -1 where the table does not hold it."""
        asked = np.asarray(source, np.int64) * max(len(self.target), 1) + target
        rows = np.searchsorted(self._keys[:-1], asked)
        known = (np.asarray(source) >= 0) & (np.asarray(target) >= 0) & (self._keys[rows] == asked)
        return np.where(known, rows, -1)

    def find(self, source: NDArray[np.integer]) -> Ragged:
        """The rows of each source phrase number; none for -1."""
        source = np.asarray(source, np.int64)
        lengths = np.where(source < 0, 0, np.diff(self._starts)[source] if len(self) else 0)
        found = Ragged.from_lengths(np.zeros(0, np.int64), lengths)
        starts = np.repeat(self._starts[source] - found.offsets[:-1], lengths)
        return Ragged(starts + np.arange(found.offsets[-1]), found.offsets)

    def locate(self, pairs: WordPairs, spans: Ragged) -> NDArray[np.int64]:
        """(total,) the row of each phrase pair (a, b, c, d) of a corpus, -1 where the table does not hold it."""
        source = self.index("source", pairs.source_types).find(pairs.source, spans, 0)
        return self.rows_of(source, self.index("target", pairs.target_types).find(pairs.target, spans, 2))

    @cached_property
    def best(self) -> NDArray[np.int64]:
        """(S,) the row of each source phrase's likeliest translation: greatest phi(t|s).

        Equals are decided by count, then by lex(t|s), which is against stray words at the borders, then by order.
        """
        return self._ranked[self._starts[:-1]]

    def best_of_each(self, most: int) -> PhraseTable:
        """The likeliest translations of each source phrase, at most so many, in the order of `best`."""
        kept = self._ranked[np.arange(len(self)) - self._starts[self.entries[:, 0]] < most]
        return self.take(np.sort(kept))

    def take(self, rows: NDArray[np.integer]) -> PhraseTable:
        """The table of some rows, each once, in order; phrases that none of them holds are dropped."""
        from interlace.alignment._table_build import without_gaps

        entries, (source, target) = without_gaps(self.entries[rows], (self.source, self.target))
        types = (self.source_types, self.target_types)
        return PhraseTable(
            source, target, *types, entries, self.scores[rows], self.links.take(rows), self.counts[rows]
        )  # fmt: skip

    @cached_property
    def _keys(self) -> NDArray[np.int64]:
        """(m + 1,) a number for each pair of phrases, rising as the entries do, and -1, which is none of them."""
        keys = self.entries[:, 0].astype(np.int64) * max(len(self.target), 1) + self.entries[:, 1]
        return np.append(keys, -1)

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """(S + 1,) the first row of each source phrase, and the number of rows."""
        return np.searchsorted(self.entries[:, 0], np.arange(len(self.source) + 1))

    @cached_property
    def _ranked(self) -> NDArray[np.int64]:
        """(m,) rows sorted by source phrase, and then the likeliest first."""
        return np.lexsort((-self.scores[:, 3], -self.counts[:, 2], -self.scores[:, 2], self.entries[:, 0]))


class PhraseIndex:
    """Finds phrases of a table in rows of word types, exactly and without strings."""

    def __init__(self, phrases: Ragged) -> None:
        """Phrases: rows of word types; one with a negative type is never found."""
        known = np.flatnonzero(np.bincount(phrases.rows(), phrases.flat < 0, minlength=len(phrases)) == 0)
        known = known[phrases.lengths[known] > 0]
        kept = phrases.take(known)
        spans = np.stack([np.zeros(len(known), np.int64), kept.lengths], axis=1)
        self._trie = Trie()
        nodes = self._trie.number(kept, Ragged.from_lengths(spans, np.ones(len(known), np.int64)))
        self._phrases = np.full(self._trie.used, -1, np.int32)
        self._phrases[nodes] = known

    def find(self, words: Ragged, spans: Ragged, first: int = 0) -> NDArray[np.int32]:
        """(total,) the number of the phrase that each span holds, -1 where it is none of them.

        words: n rows of word types; negative ones are unknown.
        spans: n rows of half-open word spans, whose start and stop stand in the columns `first` and `first + 1`.
        """
        return self._phrases[self._trie.find(words, spans, first)]
