"""Count and score the phrase pairs of an aligned text in memory.

Phrases and their inner links are numbered in the order of occurrence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from interlace.alignment import WordPairs
from interlace.alignment.lexicon import Lexicon
from interlace.alignment.links import sorted_links, word_positions
from interlace.alignment.moses import Sides, sort_entries
from interlace.alignment.phrase_table import PhraseTable, TableRules
from interlace.alignment.phrases import phrase_pairs
from interlace.alignment.spill import SpilledColumn
from interlace.alignment.trie import Trie, count_pairs, most_frequent_links
from interlace.core.ragged import Ragged

Nodes = NDArray[np.int32]

NODE_BYTES = 16  # of a node of a trie, of which a table and its tries have up to five a phrase pair
ROWS = 200_000  # rows scored at a time
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

    @property
    def types(self) -> tuple[list[str], list[str]]:
        """The spellings of the words of source and target."""
        return self.pairs.source_types, self.pairs.target_types

    def extracted(
        self, select: Callable[[WordPairs, Ragged], Ragged] | None = None
    ) -> Iterator[ExtractedChunk]:
        """Yield the phrase pairs of each chunk; select: returns those to keep of the spans of a chunk."""
        for chunk in self.pairs.chunks():
            start = chunk.first - self.pairs.first
            links = self.links.slice(start, start + len(chunk))
            links = sorted_links(links.rows(), links.flat, len(links))
            spans = phrase_pairs(chunk.source.lengths, chunk.target.lengths, links, self.rules)
            if select is not None:
                spans = select(chunk, spans)
            yield ExtractedChunk(chunk, links, spans)

    def table(
        self,
        counter: PhraseCounter,
        target_counts: Callable[[Ragged], NDArray[np.int64]] | None = None,
    ) -> PhraseTable:
        """Return the table of what was counted.

        target_counts: returns how often target phrases occur in the whole text, if only a part of it was counted.
        """
        counted = counter.counted(self.rules.min_count)
        source_column, source_phrases = _occurring(counter.source, counted.source)
        target_column, target_phrases = _occurring(counter.target, counted.target)
        columns = np.stack([source_column, target_column], axis=1)
        entries, sides, order = sort_entries(columns, (source_phrases, target_phrases), self.types)
        cells = counter.links.spell(counted.links[order])
        positions = np.stack(np.divmod(cells.values, self.rules.max_phrase_length), axis=1)
        links = Ragged(positions.astype(np.int16), cells.offsets)
        counts = counted.counts[order].astype(np.float64)
        if target_counts is not None:
            counts[:, 0] = target_counts(sides[1])[entries[:, 1]]
        scores = self._scores(entries, sides, links, counts)
        table = PhraseTable(*sides, *self.types, entries, scores, links, counts)
        return table.best_of_each(self.rules.top) if self.rules.top else table

    def _scores(
        self, entries: NDArray[np.int32], sides: Sides, links: Ragged, counts: NDArray[np.float64]
    ) -> NDArray[np.float32]:
        """(m, 4) phi(s|t), lex(s|t), phi(t|s), lex(t|s)."""
        scores = np.empty((len(entries), 4), np.float32)
        scores[:, 0::2] = counts[:, 2:] / counts[:, :2]
        for start in range(0, len(entries), ROWS):
            rows = slice(start, start + ROWS)
            source = sides[0].take(entries[rows, 0])
            target = sides[1].take(entries[rows, 1])
            row_links = links.slice(start, min(start + ROWS, len(links)))
            scores[rows, 1], scores[rows, 3] = self.weights.of(source, target, row_links)
        return scores


def _occurring(trie: Trie, nodes: Nodes) -> tuple[NDArray[np.int64], Ragged]:
    """Return the number of each node among the distinct ones, and the phrases of these."""
    occurs = np.zeros(trie.used, np.bool_)
    occurs[nodes] = True
    numbers = np.cumsum(occurs) - 1
    return numbers[nodes], trie.spell(np.flatnonzero(occurs).astype(np.int32))


# ---- counting ----


class CountedPairs(NamedTuple):
    """(m,) nodes of the sources, targets and most frequent inner links of phrase pairs, in no special order.

    counts: (m, 3) how often the target, the source and both occur, in rare pairs too.
    """

    source: Nodes
    target: Nodes
    links: Nodes
    counts: NDArray[np.int64]


class PhraseCounter:
    """Counts (source phrase, target phrase, inner links) chunk by chunk; links are cells of a grid of this width."""

    def __init__(self, grid: int) -> None:
        self.source = Trie()
        self.target = Trie()
        self.links = Trie()
        self._pairs = Trie()  # of a source and a target node
        self._linked_pairs = Trie()  # of a pair and the node of its links
        self._grid = grid
        self._counts = np.zeros(len(self._linked_pairs.table.keys), np.int32)

    @property
    def size(self) -> int:
        """Bytes of all nodes."""
        tries = (self.source, self.target, self.links, self._pairs, self._linked_pairs)
        return NODE_BYTES * sum(len(trie.table.keys) for trie in tries)

    def add(self, chunk: ExtractedChunk) -> None:
        """Add the phrase pairs of a chunk."""
        with ThreadPoolExecutor(
            3
        ) as pool:  # one trie per thread, so the numbers do not depend on timing
            columns = [
                pool.submit(self.source.number, chunk.pairs.source, chunk.spans, 0),
                pool.submit(self.target.number, chunk.pairs.target, chunk.spans, 2),
                pool.submit(self.links.number_links, chunk.links, chunk.spans, self._grid),
            ]
        occurrences = np.stack([column.result() for column in columns], axis=1)
        self._pairs.table, self._linked_pairs.table, self._counts = count_pairs(
            self._pairs.table, self._linked_pairs.table, self._counts, occurrences
        )

    def counted(self, min_count: int) -> CountedPairs:
        """Return the pairs with at least this count."""
        links, counts = most_frequent_links(
            self._linked_pairs.table, self._counts, self._pairs.used
        )
        source, target = np.ascontiguousarray(self._pairs.table.pairs().T)
        frequent = counts >= min_count
        of_target = np.bincount(target, counts)[target[frequent]].astype(np.int64)
        of_source = np.bincount(source, counts)[source[frequent]].astype(np.int64)
        totals = np.stack([of_target, of_source, counts[frequent]], axis=1)
        return CountedPairs(source[frequent], target[frequent], links[frequent], totals)


# ---- lexical weights ----


class LexicalWeights:
    """Lexical weights (Koehn, Och and Marcu 2003, section 3.3) from the word probabilities of a lexicon."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._width = len(lexicon.target_types)
        self._counts = lexicon.counts
        keys = SpilledColumn(np.int64)
        for start in range(0, len(lexicon), ROWS):
            entries = lexicon.entries[start : start + ROWS]
            keys.append(entries[:, 0].astype(np.int64) * self._width + entries[:, 1])
        self._keys = keys.mapped()
        self._source_totals, self._target_totals = lexicon.totals
        self._source_null, self._target_null = lexicon.null

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
        counts = self._counts[
            np.searchsorted(self._keys, source_types * self._width + target_types)
        ]
        source_given_target = counts / self._target_totals[target_types]
        target_given_source = counts / self._source_totals[source_types]
        return (
            _product_of_means(source, source_positions, source_given_target, self._source_null),
            _product_of_means(target, target_positions, target_given_source, self._target_null),
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
