"""Extract, count and score the phrase table of an aligned corpus, in memory or, beyond a limit, range by range.

A range holds the source phrases that begin with some words, which are consecutive in the order of the table's lines.
Each is extracted from the whole text and counted by itself; target phrases are numbered and counted in an earlier pass.
The results are the same.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interlace.alignment import WordPairs
from interlace.alignment.lexicon import Lexicon
from interlace.alignment.moses import word_ranks
from interlace.alignment.phrase_counter import (
    ROWS,
    LexicalWeights,
    PhraseCounter,
    PhraseText,
    SortedPhrases,
)
from interlace.alignment.phrase_table import (
    DEFAULT_MEMORY,
    PhraseTable,
    TableRules,
    whole_rows,
)
from interlace.alignment.spill import SpilledColumn, SpilledRows
from interlace.alignment.trie import Trie
from interlace.core.ragged import Ragged

log = logging.getLogger(__name__)

_GB = 10**9
_TRIES = 0.25  # share of the memory for tries; the rest is for the table that is made of them


def count_phrases(
    pairs: WordPairs,
    links: Ragged,
    rules: TableRules | None = None,
    memory: float = DEFAULT_MEMORY,
    confidence: NDArray[np.floating] | None = None,
) -> PhraseTable:
    """Extract and score the phrase table of an aligned corpus.

    Phi is the relative frequency of a phrase given the other one. Lexical weights are those of the most frequent links
    inside a pair (ties: those seen first), with word probabilities counted from all links.

    links: n rows of (source word, target word), without duplicates in a row.
    memory: GB for counts of phrase pairs. If they exceed it, source phrases are counted range by range, and the table
        is mapped from temporary files.
    confidence: (total,) of each link, needed for `rules.min_confidence`; word probabilities are then counted from the
        confident links too.

    Raises:
        DataError: a link is not between words of its pair (names the pair, from 1), or confidence is needed and
            unknown.
    """
    rules = rules or TableRules()
    links, _ = rules.confident(links, confidence)
    weights = LexicalWeights(Lexicon.count(pairs, links))
    text = PhraseText(pairs, links, rules.model_copy(update={"min_confidence": 0.0}), weights)
    limit = int(memory * _GB * _TRIES)
    counter = PhraseCounter(Trie(), rules.max_phrase_length)
    counted_pairs = 0
    for chunk in text.extracted():
        if counted_pairs and counter.size > limit:
            break
        counter.add(chunk)
        counted_pairs += len(chunk.pairs)
    if counted_pairs == len(pairs):
        return text.table(counter)
    del counter
    range_count = -(-len(pairs) // counted_pairs) + 1
    log.info("phrases: source phrases are counted in %d ranges, with temporary files", range_count)
    return _count_in_ranges(text, range_count)


def _count_in_ranges(text: PhraseText, range_count: int) -> PhraseTable:
    """Count the table range by range of source phrases, into temporary files."""
    targets = _TargetPhrases.of(text)
    spilled = _SpilledTable(len(targets.sorted.phrases))
    for first_words in _ranges(text.pairs, range_count):
        counter = PhraseCounter(targets.trie, text.rules.max_phrase_length)
        for chunk in text.extracted(first_words):
            counter.add(chunk)
        table = text.table(counter, targets.counts)
        spilled.add(table, targets.numbers_of(table.target))
        del counter, table  # before the next range is counted
    return spilled.finish(text.pairs, targets.sorted.phrases)


def _ranges(pairs: WordPairs, count: int) -> Iterator[NDArray[np.bool_]]:
    """Yield (types,) the first words of the source phrases of each range; all ranges have about as many words."""
    frequencies = np.zeros(len(pairs.source_types), np.int64)
    for chunk in pairs.chunks():
        frequencies += np.bincount(chunk.source.flat, minlength=len(frequencies))
    order = np.argsort(word_ranks(pairs.source_types)[0])
    sorted_frequencies = frequencies[order]
    words_before = np.cumsum(sorted_frequencies) - sorted_frequencies
    range_of_type = np.empty(len(order), np.int64)
    range_of_type[order] = words_before * count // max(frequencies.sum(), 1)
    for number in range(count):
        yield range_of_type == number


@dataclass(frozen=True)
class _TargetPhrases:
    """All target phrases of a text: their nodes in a trie, (nodes,) how often they occur, and their order."""

    trie: Trie
    counts: NDArray[np.float64]
    sorted: SortedPhrases

    @classmethod
    def of(cls, text: PhraseText) -> _TargetPhrases:
        """Number and count the target phrases of a text."""
        trie = Trie()
        counts = np.zeros(0)
        for chunk in text.extracted():
            nodes = trie.number(chunk.pairs.target, chunk.spans, 2)
            counts = np.concatenate([counts, np.zeros(trie.used - len(counts))])
            counts += np.bincount(nodes, minlength=trie.used)
        occurring = np.flatnonzero(counts)
        return cls(trie, counts, SortedPhrases.of(trie, occurring, text.pairs.target_types))

    def numbers_of(self, phrases: Ragged) -> NDArray[np.int64]:
        """Return the number of each phrase in the order of lines; all must be among the target phrases."""
        return self.sorted.numbers[self.trie.find(phrases, whole_rows(phrases))]


class _SpilledTable:
    """The columns of a table that is made range by range, in temporary files."""

    def __init__(self, target_phrases: int) -> None:
        self._source = SpilledRows(np.int32)
        self._entries = SpilledColumn(np.int32, (2,))
        self._scores = SpilledColumn(np.float32, (4,))
        self._links = SpilledRows(np.int16, (2,))
        self._counts = SpilledColumn(np.float64, (3,))
        self._occurs = np.zeros(target_phrases, np.bool_)

    def add(self, table: PhraseTable, target_numbers: NDArray[np.int64]) -> None:
        """Add the rows of the next range. target_numbers: of its target phrases, among all."""
        self._occurs[target_numbers] = True
        source = table.entries[:, 0] + len(self._source)
        self._entries.append(np.stack([source, target_numbers[table.entries[:, 1]]], axis=1))
        self._source.append(table.source)
        self._links.append(table.links)
        self._scores.append(table.scores)
        self._counts.append(table.counts)

    def finish(self, pairs: WordPairs, target: Ragged) -> PhraseTable:
        """Return the table of all ranges, mapped, without target phrases that occur in no row."""
        numbers = np.cumsum(self._occurs) - 1
        entries = self._entries.mapped()
        for start in range(0, len(entries), ROWS):
            rows = slice(start, start + ROWS)
            entries[rows, 1] = numbers[entries[rows, 1]]
        return PhraseTable(
            self._source.mapped(),
            target.take(self._occurs),
            pairs.source_types,
            pairs.target_types,
            entries=entries,
            scores=self._scores.mapped(),
            links=self._links.mapped(),
            counts=self._counts.mapped(),
        )
