"""Count and score the phrase pairs of an aligned text in memory.

Phrases and their inner links are numbered in the order of occurrence.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from interlace.alignment import WordPairs
from interlace.alignment.lexicon import Lexicon
from interlace.alignment.links import select_links, sorted_links, word_positions
from interlace.alignment.moses import line_order
from interlace.alignment.pair_numbers import PairTable
from interlace.alignment.phrase_table import PhraseTable, TableRules
from interlace.alignment.phrases import phrase_pairs
from interlace.alignment.trie import Trie, count_pairs, most_frequent_links
from interlace.core.ragged import Ragged

Nodes = NDArray[np.int32]

ROWS = 200_000  # rows scored at a time
_NODE_BYTES = (
    16  # of a node of a trie, of which a table and its tries have up to five a phrase pair
)
_MIN_WEIGHT = float(
    np.finfo(np.float32).tiny
)  # products of many rare words would round to 0, which has no log


class ExtractedChunk(NamedTuple):
    """Consecutive pairs, their links, sorted in each row, and their phrase pairs (a, b, c, d)."""

    pairs: WordPairs
    links: Ragged
    spans: Ragged


@dataclass(frozen=True)
class PhraseText:
    """A corpus with the rules of a table and the lexical weights of its lexicon."""

    pairs: WordPairs
    links: Ragged
    rules: TableRules
    weights: LexicalWeights

    def extracted(self, first_words: NDArray[np.bool_] | None = None) -> Iterator[ExtractedChunk]:
        """Yield the phrase pairs of each chunk.

        first_words: (types,) the source words that begin a source phrase; None: all.
        """
        for chunk in self.pairs.chunks():
            start = chunk.first - self.pairs.first
            links = self.links.slice(start, start + len(chunk))
            links = sorted_links(links.rows(), links.flat, len(links))
            spans = phrase_pairs(chunk.source.lengths, chunk.target.lengths, links, self.rules)
            if first_words is not None:
                types = chunk.source.flat[word_positions(chunk.source, spans, 0)]
                spans = select_links(spans, first_words[types])
            yield ExtractedChunk(chunk, links, spans)

    def table(
        self, counter: PhraseCounter, target_counts: NDArray[np.float64] | None = None
    ) -> PhraseTable:
        """Return the table of what was counted.

        target_counts: (nodes,) how often target phrases occur in the whole text, if only a part of it was counted.
        """
        counted = counter.counted()
        source_counts = np.bincount(counted.source, counted.counts)  # (nodes,)
        if target_counts is None:
            target_counts = np.bincount(counted.target, counted.counts).astype(np.float64)
        counted = counted.take(np.flatnonzero(counted.counts >= self.rules.min_count))
        source = SortedPhrases.of(counter.source, counted.source, self.pairs.source_types)
        target = SortedPhrases.of(counter.target, counted.target, self.pairs.target_types)
        source_numbers = source.numbers[counted.source]
        target_numbers = target.numbers[counted.target]
        width = max(len(target.phrases), 1)
        order = np.argsort(source_numbers * width + target_numbers, kind="stable")
        counted = counted.take(order)
        entries = np.stack([source_numbers[order], target_numbers[order]], axis=1)
        cells = counter.links.spell(counted.links)
        positions = np.stack(np.divmod(cells.values, self.rules.max_phrase_length), axis=1)
        counts = [
            target_counts[counted.target],
            source_counts[counted.source],
            counted.counts.astype(np.float64),
        ]
        table = self._scored(
            PhraseTable(
                source.phrases,
                target.phrases,
                self.pairs.source_types,
                self.pairs.target_types,
                entries.astype(np.int32),
                np.empty((len(entries), 4), np.float32),
                Ragged(positions.astype(np.int16), cells.offsets),
                np.stack(counts, axis=1),
            )
        )
        return table.best_of_each(self.rules.top) if self.rules.top else table

    def _scored(self, table: PhraseTable) -> PhraseTable:
        """Fill in the scores: phi(s|t), lex(s|t), phi(t|s), lex(t|s)."""
        table.scores[:, 0::2] = table.counts[:, 2:] / table.counts[:, :2]
        for start in range(0, len(table), ROWS):
            rows = slice(start, min(start + ROWS, len(table)))
            source = table.source.take(table.entries[rows, 0])
            target = table.target.take(table.entries[rows, 1])
            links = table.links.slice(rows.start, rows.stop)
            weights = self.weights.of(source, target, links)
            table.scores[rows, 1], table.scores[rows, 3] = weights
        return table


class SortedPhrases(NamedTuple):
    """Distinct phrases in the order of a table's lines.

    phrases: rows of word types. numbers: (nodes,) the index of the phrase of a node; undefined without a phrase.
    """

    phrases: Ragged
    numbers: NDArray[np.int64]

    @classmethod
    def of(cls, trie: Trie, nodes: NDArray[np.integer], spellings: list[str]) -> SortedPhrases:
        """Sort the phrases of nodes, which may repeat."""
        occurs = np.zeros(trie.used, np.bool_)
        occurs[nodes] = True
        distinct_nodes = np.flatnonzero(occurs).astype(np.int32)
        phrases = trie.spell(distinct_nodes)
        order = line_order(phrases, spellings)
        numbers = np.zeros(trie.used, np.int64)
        numbers[distinct_nodes[order]] = np.arange(len(order))
        return cls(phrases.take(order), numbers)


# ---- counting ----


class CountedPairs(NamedTuple):
    """(m,) nodes of the sources, targets and most frequent inner links of phrase pairs, and counts of the pairs."""

    source: Nodes
    target: Nodes
    links: Nodes
    counts: NDArray[np.int64]

    def take(self, rows: NDArray[np.int64]) -> CountedPairs:
        """Return these rows."""
        return CountedPairs(
            self.source[rows], self.target[rows], self.links[rows], self.counts[rows]
        )


class PhraseCounter:
    """Counts (source phrase, target phrase, inner links) chunk by chunk.

    target: the trie of target phrases, which may be shared by counters. Links are cells of a grid of this width.
    """

    def __init__(self, target: Trie, grid: int) -> None:
        self.source = Trie()
        self.target = target
        self.links = Trie()
        self._pairs = PairTable.empty()  # of a source and a target node
        self._linked_pairs = PairTable.empty()  # of a pair and the node of its links
        self._grid = grid
        self._counts = np.zeros(len(self._linked_pairs.keys), np.int32)

    @property
    def size(self) -> int:
        """Bytes of all nodes but those of target phrases."""
        tables = (self.source.table, self.links.table, self._pairs, self._linked_pairs)
        return _NODE_BYTES * sum(len(table.keys) for table in tables)

    def add(self, chunk: ExtractedChunk) -> None:
        """Add the phrase pairs of a chunk."""
        with ThreadPoolExecutor(3) as pool:
            # one trie per thread, so the numbers do not depend on timing
            source = pool.submit(self.source.number, chunk.pairs.source, chunk.spans, 0)
            target = pool.submit(self.target.number, chunk.pairs.target, chunk.spans, 2)
            links = pool.submit(self.links.number_links, chunk.links, chunk.spans, self._grid)
        occurrences = np.stack([source.result(), target.result(), links.result()], axis=1)
        self._pairs, self._linked_pairs, self._counts = count_pairs(
            self._pairs, self._linked_pairs, self._counts, occurrences
        )

    def counted(self) -> CountedPairs:
        """Return all pairs, in the order in which they were first seen."""
        pairs = PairTable(*self._pairs).pairs()
        links, counts = most_frequent_links(self._linked_pairs, self._counts, len(pairs))
        source, target = np.ascontiguousarray(pairs.T)
        return CountedPairs(source, target, links, counts)


# ---- lexical weights ----


class LexicalWeights:
    """Lexical weights (Koehn, Och and Marcu 2003, section 3.3) from the word probabilities of a lexicon."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._width = len(lexicon.target_types)
        self._counts = lexicon.counts
        self._keys = lexicon.entries.astype(np.int64) @ (self._width, 1)  # (entries,), sorted
        self._totals = (lexicon.totals(0), lexicon.totals(1))
        self._null = (lexicon.null(0), lexicon.null(1))

    def of(
        self, source: Ragged, target: Ragged, links: Ragged
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(n,) lex(s|t) and lex(t|s) of n phrase pairs: the product over words of the mean over their links.

        source, target: n rows of word types. links: n rows of (source word, target word).
        """
        source_positions = word_positions(source, links, 0)
        target_positions = word_positions(target, links, 1)
        source_types = source.values[source_positions].astype(np.int64)
        target_types = target.values[target_positions].astype(np.int64)
        entries = np.searchsorted(self._keys, source_types * self._width + target_types)
        counts = self._counts[entries]  # (links,)
        source_given_target = counts / self._totals[1][target_types]
        target_given_source = counts / self._totals[0][source_types]
        return (
            _product_of_means(source, source_positions, source_given_target, self._null[0]),
            _product_of_means(target, target_positions, target_given_source, self._null[1]),
        )


def _product_of_means(
    phrases: Ragged,
    positions: NDArray[np.int64],
    probabilities: NDArray[np.float64],
    null: NDArray[np.float64],
) -> NDArray[np.float64]:
    """(n,) the product over the words of a phrase of the mean probability of their links, that of NULL without links.

    positions: (links,) of words in all phrases.
    """
    words = len(phrases.values)
    link_counts = np.bincount(positions, minlength=words)
    totals = np.bincount(positions, probabilities, minlength=words)
    means = np.where(link_counts > 0, totals / np.maximum(link_counts, 1), null[phrases.values])
    products: NDArray[np.float64] = np.multiply.reduceat(means, phrases.offsets[:-1])
    return np.maximum(products, _MIN_WEIGHT)
