"""Extract, count and score the phrase table of an aligned corpus.

All phrase pairs of the text are written to a temporary file, as numbers of their phrases. They are then sorted and
counted in ranges of source phrases that fit into memory, and the table is mapped from temporary files. In memory are
the distinct phrases and a range.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interlace.alignment import WordPairs
from interlace.alignment.lexical_weights import LexicalWeights
from interlace.alignment.lexicon import Lexicon
from interlace.alignment.links import sorted_links
from interlace.alignment.moses import line_order
from interlace.alignment.phrase_rules import TableRules
from interlace.alignment.phrase_table import PhraseTable, ranked_rows
from interlace.alignment.phrases import link_sets, phrase_pairs
from interlace.alignment.spill import SpilledColumn, SpilledRows
from interlace.alignment.trie import Trie
from interlace.core.progress import current_progress
from interlace.core.ragged import BoolArray, Int32Array, IntArray, Ragged

_RANGE = 10_000_000  # phrase pairs of the text that are sorted at a time, about 100 bytes each
_ROWS = 200_000  # of the table, scored at a time


def count_phrases(
    pairs: WordPairs,
    links: Ragged,
    rules: TableRules | None = None,
    confidence: NDArray[np.floating] | None = None,
) -> PhraseTable:
    """Extract and score the phrase table of an aligned corpus.

    Phi is the relative frequency of a phrase given the other one. Lexical weights are those of the most frequent links
    inside a pair (ties: those seen first), with word probabilities counted from all links.

    links: n rows of (source word, target word), without duplicates in a row.
    confidence: (total,) of each link, needed for `rules.min_confidence`; word probabilities are then counted from the
        confident links too.

    Raises:
        DataError: a link is not between words of its pair (names the pair, from 1), or confidence is needed and
            unknown.
    """
    rules = rules or TableRules()
    links, _ = rules.confident(links, confidence)
    rules = rules.model_copy(update={"min_confidence": 0.0})
    weights = LexicalWeights(Lexicon.count(pairs, links))
    text = PhraseText.of(pairs, links, rules)
    table = _SpilledTable(text, weights)
    for rows in text.count(rules.min_count):
        table.add(rows, rules)
    return table.finish(pairs)


@dataclass(frozen=True)
class DistinctPhrases:
    """The distinct phrases of one side of a text, in the order of a table's lines.

    words: a row of word types per phrase. counts: how often each occurs.
    numbers: (nodes,) the number of each node of a trie, undefined for one without a phrase.
    """

    words: Ragged
    counts: IntArray
    numbers: IntArray

    @classmethod
    def of(cls, trie: Trie, occurrences: IntArray, spellings: list[str]) -> DistinctPhrases:
        """Count and sort the phrases that occur. occurrences: (n,) nodes, maybe mapped from a file."""
        counts = np.zeros(trie.used, np.int64)
        for start in range(0, len(occurrences), _RANGE):
            block = occurrences[start : start + _RANGE]
            counts += np.bincount(block, minlength=trie.used)
        nodes = np.flatnonzero(counts)
        words = trie.spell(nodes.astype(np.int32))
        order = line_order(words, spellings)
        sorted_nodes = nodes[order]
        numbers = np.zeros(trie.used, np.int64)
        numbers[sorted_nodes] = np.arange(len(order))
        return cls(words.take(order), counts[sorted_nodes], numbers)


@dataclass(frozen=True)
class CountedRows:
    """Rows of a table: (m, 2) numbers of phrases, (m,) counts, and (m,) inner links as bits of `link_sets`."""

    entries: IntArray
    counts: IntArray
    links: IntArray


@dataclass(frozen=True)
class PhraseText:
    """All phrase pairs of a text.

    occurrences: (n, 3) node of the source phrase, node of the target phrase, and inner links, in the order of the text.
    """

    source: DistinctPhrases
    target: DistinctPhrases
    occurrences: IntArray

    @classmethod
    def of(cls, pairs: WordPairs, links: Ragged, rules: TableRules) -> PhraseText:
        """Extract the phrase pairs of a text; `rules` require no confidence."""
        source = Trie()
        target = Trie()
        spilled = SpilledColumn(np.int64, (3,))
        progress = current_progress()
        with ThreadPoolExecutor(2) as pool:
            for chunk in pairs.chunks():
                start = chunk.first - pairs.first
                chunk_links = links.slice(start, start + len(chunk))
                chunk_links = sorted_links(chunk_links.rows(), chunk_links.flat, len(chunk))
                spans = phrase_pairs(
                    chunk.source.lengths, chunk.target.lengths, chunk_links, rules
                )
                # one trie per thread, so the numbers do not depend on timing
                source_nodes = pool.submit(source.number, chunk.source, spans, 0)
                target_nodes = pool.submit(target.number, chunk.target, spans, 2)
                inner_links = link_sets(chunk_links, spans, rules.max_phrase_length)
                nodes = (source_nodes.result(), target_nodes.result())
                spilled.append(np.column_stack([*nodes, inner_links]))
                progress("extracting phrases", start + len(chunk), len(pairs))
        occurrences = spilled.mapped()
        return cls(
            DistinctPhrases.of(source, occurrences[:, 0], pairs.source_types),
            DistinctPhrases.of(target, occurrences[:, 1], pairs.target_types),
            occurrences,
        )

    def count(self, min_count: int) -> Iterator[CountedRows]:
        """Yield the rows of the table with at least this count, in the order of its lines, range by range."""
        last_occurrences = np.cumsum(self.source.counts)
        first = 0
        while first < len(last_occurrences):
            limit = last_occurrences[first] + _RANGE
            stop = int(np.searchsorted(last_occurrences, limit, side="right"))
            rows = _counted(self._occurrences_of(first, stop))
            is_frequent = rows.counts >= min_count
            entries = rows.entries[is_frequent]
            yield CountedRows(entries, rows.counts[is_frequent], rows.links[is_frequent])
            first = stop

    def _occurrences_of(self, first: int, stop: int) -> IntArray:
        """(k, 3) the occurrences of a range of source phrases, with numbers of phrases."""
        parts = []
        for start in range(0, len(self.occurrences), _RANGE):
            block = self.occurrences[start : start + _RANGE]
            source = self.source.numbers[block[:, 0]]
            selected = (source >= first) & (source < stop)
            part = block[selected]
            part[:, 0] = source[selected]
            part[:, 1] = self.target.numbers[part[:, 1]]
            parts.append(part)
        return np.concatenate(parts)


def _counted(occurrences: IntArray) -> CountedRows:
    """Count phrase pairs, each with its most frequent inner links; of equally frequent ones, those seen first.

    Example: the pairs p q p p with the links x y y x are sorted to p p p q with x x y y: p x twice, first at 0, p y
    once, q y once. So p has the count 3 and the links x.
    """
    pairs = (occurrences[:, 0] << 32) | occurrences[:, 1]
    links = occurrences[:, 2]
    order = np.lexsort((links, pairs))  # stable: equal ones in the order of the text
    pairs = pairs[order]
    links = links[order]
    starts = _starts((pairs[1:] != pairs[:-1]) | (links[1:] != links[:-1]))
    counts = np.diff(starts, append=len(pairs))
    by_frequency = np.lexsort((order[starts], -counts, pairs[starts]))
    pairs = pairs[starts][by_frequency]
    links = links[starts][by_frequency]
    starts = _starts(pairs[1:] != pairs[:-1])
    distinct = pairs[starts]
    entries = np.stack([distinct >> 32, distinct & 0xFFFFFFFF], axis=1)
    pair_counts = np.add.reduceat(counts[by_frequency], starts)
    return CountedRows(entries, pair_counts, links[starts])


def _starts(differs: BoolArray) -> IntArray:
    """Return where groups of equal values start, given whether each but the first differs from that before it."""
    return np.flatnonzero(np.concatenate([[True], differs]))


class _SpilledTable:
    """The columns of a table that is scored range by range, in temporary files."""

    def __init__(self, text: PhraseText, weights: LexicalWeights) -> None:
        self._text = text
        self._weights = weights
        self._entries = SpilledColumn(np.int32, (2,))
        self._scores = SpilledColumn(np.float32, (4,))
        self._links = SpilledRows(np.int16, (2,))
        self._counts = SpilledColumn(np.float64, (3,))

    def add(self, rows: CountedRows, rules: TableRules) -> None:
        """Score the next range of rows, and add the most probable translations of each source phrase."""
        source, target = rows.entries.T
        target_counts = self._text.target.counts[target]
        source_counts = self._text.source.counts[source]
        counts = np.stack([target_counts, source_counts, rows.counts], axis=1)
        links = _spelled_links(rows.links, rules.max_phrase_length)
        scores = np.empty((len(counts), 4), np.float32)
        scores[:, 0] = rows.counts / target_counts
        scores[:, 2] = rows.counts / source_counts
        for start in range(0, len(counts), _ROWS):
            stop = min(start + _ROWS, len(counts))
            source_words = self._text.source.words.take(source[start:stop])
            target_words = self._text.target.words.take(target[start:stop])
            weights = self._weights.of(source_words, target_words, links.slice(start, stop))
            scores[start:stop, 1], scores[start:stop, 3] = weights
        kept_rows = np.arange(len(counts))
        if rules.top:
            ranked = ranked_rows(rows.entries, scores, counts)
            ranks = kept_rows - np.searchsorted(source, source)
            kept_rows = np.sort(ranked[ranks < rules.top])
        self._entries.append(rows.entries[kept_rows])
        self._scores.append(scores[kept_rows])
        self._links.append(links.take(kept_rows))
        self._counts.append(counts[kept_rows])

    def finish(self, pairs: WordPairs) -> PhraseTable:
        """Return the table, mapped, without phrases that occur in no row."""
        entries = self._entries.mapped()
        source = self._used_phrases(entries[:, 0], self._text.source)
        target = self._used_phrases(entries[:, 1], self._text.target)
        return PhraseTable(
            source,
            target,
            pairs.source_types,
            pairs.target_types,
            entries=entries,
            scores=self._scores.mapped(),
            links=self._links.mapped(),
            counts=self._counts.mapped(),
        )

    @staticmethod
    def _used_phrases(column: Int32Array, phrases: DistinctPhrases) -> Ragged:
        """Return the phrases that occur in a column of entries, and number them anew there."""
        occurs = np.zeros(len(phrases.words), np.bool_)
        occurs[column] = True
        numbers = np.cumsum(occurs) - 1
        for start in range(0, len(column), _ROWS):
            part = column[start : start + _ROWS]
            part[:] = numbers[part]
        return phrases.words.take(occurs)


def _spelled_links(link_bits: IntArray, max_length: int) -> Ragged:
    """Return a row of (source word, target word) for each set of links."""
    distinct, numbers = np.unique(link_bits, return_inverse=True)
    cells = np.arange(max_length * max_length)
    is_linked = (distinct[:, None] >> cells) & 1
    rows, linked_cells = np.nonzero(is_linked)
    words = np.stack(np.divmod(linked_cells, max_length), axis=1).astype(np.int16)
    lengths = np.bincount(rows, minlength=len(distinct))
    return Ragged.from_lengths(words, lengths).take(numbers)
