"""Extract, count and score the phrase table of an aligned corpus, in memory or, beyond a limit, range by range.

Ranges are of phrases in the order of the table's lines. Each is extracted from the whole text and counted by itself:
first target phrases, whose totals and numbers are kept on disk, then all pairs of the source phrases of a range. The
results are the same.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from interlace.alignment import WordPairs
from interlace.alignment.lexicon import Lexicon
from interlace.alignment.links import select_links
from interlace.alignment.moses import line_order, word_ranks
from interlace.alignment.phrase_counter import (
    NODE_BYTES,
    ROWS,
    LexicalWeights,
    PhraseCounter,
    PhraseText,
)
from interlace.alignment.phrase_table import PhraseIndex, PhraseTable, TableRules
from interlace.alignment.spill import DEFAULT_MEMORY, GB, SpilledColumn, SpilledRows
from interlace.alignment.trie import Trie
from interlace.core.ragged import Ragged

log = logging.getLogger(__name__)

_TRIES = 0.25  # share of the memory for tries; the rest is for the table that is made of them
_SAMPLE = 100_000  # sentence pairs whose phrases set the ranges


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
    memory: GB for counts. If they exceed it, source phrases are counted range by range, and the table is mapped from
        temporary files.
    confidence: (total,) of each link, needed for `rules.min_confidence`; word probabilities are then counted from the
        confident links too.

    Raises:
        DataError: a link is not between words of its pair (names the pair, from 1), or confidence is needed and
            unknown.
    """
    rules = rules or TableRules()
    links, _ = rules.confident(links, confidence)
    weights = LexicalWeights(Lexicon.count(pairs, links, memory))
    text = PhraseText(pairs, links, rules.model_copy(update={"min_confidence": 0.0}), weights)
    limit = int(memory * GB * _TRIES)
    counter = PhraseCounter(rules.max_phrase_length)
    counted_pairs = 0
    for chunk in text.extracted():
        if counted_pairs and counter.size > limit:
            break
        counter.add(chunk)
        counted_pairs += len(chunk.pairs)
    if counted_pairs == len(pairs):
        return text.table(counter)
    target_share = len(counter.target.table.keys) * NODE_BYTES / counter.size
    del counter
    range_count = -(-len(pairs) // counted_pairs) + 1
    log.info("phrases: source phrases are counted in %d ranges, with temporary files", range_count)
    return _count_in_ranges(text, range_count, int(range_count * target_share) + 1)


def _count_in_ranges(text: PhraseText, source_ranges: int, target_ranges: int) -> PhraseTable:
    """Count the table range by range of source phrases, into temporary files."""
    targets = _TargetPhrases(text, PhraseRange.whole(text, 1).cut(text, target_ranges))
    spilled = _SpilledTable(len(targets.counts))
    for source_range in PhraseRange.whole(text, 0).cut(text, source_ranges):
        counter = PhraseCounter(text.rules.max_phrase_length)
        for chunk in text.extracted(source_range.select):
            counter.add(chunk)
        table = text.table(counter, targets.counts_of)
        spilled.add(table, targets.numbers_of(table.target))
        del counter, table  # before the next range is counted
    return spilled.finish(text, targets)


class PhraseRange(NamedTuple):
    """Consecutive phrases of one side in the order of lines, by their first two words.

    ranks, end: of words and of the end of a phrase. low, high: keys, `high` excluded.
    """

    side: int
    ranks: NDArray[np.int32]
    end: int
    low: int = 0
    high: int = np.iinfo(np.int64).max

    @classmethod
    def whole(cls, text: PhraseText, side: int) -> PhraseRange:
        """Return the range of all phrases of a side."""
        return cls(side, *word_ranks(text.types[side]))

    def select(self, chunk: WordPairs, spans: Ragged) -> Ragged:
        """Return the spans whose phrases are in the range."""
        keys = self.keys(chunk, spans)
        return select_links(spans, (keys >= self.low) & (keys < self.high))

    def keys(self, chunk: WordPairs, spans: Ragged) -> NDArray[np.int64]:
        """Return a key of the phrase of each span; keys sort as phrases do."""
        words = chunk.source if self.side == 0 else chunk.target
        start = spans.flat[:, 2 * self.side]
        length = spans.flat[:, 2 * self.side + 1] - start
        positions = np.repeat(words.offsets[:-1] - words.offsets[0], spans.lengths) + start
        ranks = np.append(self.ranks[words.flat], 0).astype(np.int64)
        second = np.where(length > 1, ranks[positions + 1], self.end)
        keys: NDArray[np.int64] = ranks[positions] << 32 | second
        return keys

    def cut(self, text: PhraseText, parts: int) -> list[PhraseRange]:
        """Cut the range into about so many parts with equally many phrase pairs, by a sample of the text."""
        rows = np.arange(0, len(text.pairs), -(-len(text.pairs) // _SAMPLE))
        source = text.pairs.source.take(rows)
        target = text.pairs.target.take(rows)
        sample = replace(
            text,
            pairs=replace(text.pairs, source=source, target=target, first=0),
            links=text.links.take(rows),
        )
        keys = np.sort(
            np.concatenate([self.keys(chunk.pairs, chunk.spans) for chunk in sample.extracted()])
        )
        if not len(keys):
            return [self]
        cuts = np.unique(keys[np.arange(1, parts) * len(keys) // parts]).tolist()
        return [
            self._replace(low=low, high=high)
            for low, high in pairwise([self.low, *cuts, self.high])
        ]


class _TargetPhrases:
    """All target phrases in the order of lines, and how often they occur, in temporary files.

    counts: (phrases,) int64.
    """

    def __init__(self, text: PhraseText, ranges: list[PhraseRange]) -> None:
        self._phrases = SpilledRows(np.int32)
        spilled_counts = SpilledColumn(np.int64)
        for target_range in ranges:
            trie = Trie()
            counts = np.zeros(0, np.int64)
            for chunk in text.extracted(target_range.select):
                nodes = trie.number(chunk.pairs.target, chunk.spans, 2)
                chunk_counts = np.bincount(nodes, minlength=max(trie.used, len(counts)))
                chunk_counts[: len(counts)] += counts
                counts = chunk_counts
            occurring = np.flatnonzero(counts)
            phrases = trie.spell(occurring.astype(np.int32))
            order = line_order(phrases, text.pairs.target_types)
            self._phrases.append(phrases.take(order))
            spilled_counts.append(counts[occurring][order])
        self.counts = spilled_counts.mapped()

    def parts(self) -> Iterator[tuple[int, Ragged]]:
        """Yield some phrases at a time, with the number of the first."""
        for start in range(0, len(self._phrases), ROWS):
            yield start, self._phrases.read(start, min(start + ROWS, len(self._phrases)))

    def numbers_of(self, phrases: Ragged) -> NDArray[np.int64]:
        """Return the number of each phrase; all must be among the target phrases."""
        numbers = np.full(len(phrases), -1, np.int64)
        index = PhraseIndex(phrases)
        for start, part in self.parts():
            positions = index.find_whole(part)
            numbers[positions[positions >= 0]] = start + np.flatnonzero(positions >= 0)
        return numbers

    def counts_of(self, phrases: Ragged) -> NDArray[np.int64]:
        """Return how often each phrase occurs; all must be among the target phrases."""
        counts: NDArray[np.int64] = self.counts[self.numbers_of(phrases)]
        return counts


class _SpilledTable:
    """The columns of a table that is made range by range, in temporary files."""

    def __init__(self, target_phrases: int) -> None:
        self._source = SpilledRows(np.int32)
        self._entries = SpilledColumn(np.int32, (2,))
        self._scores = SpilledColumn(np.float32, (4,))
        self._links = SpilledRows(np.int16, (2,))
        self._counts = SpilledColumn(np.float64, (3,))
        self._occurs = np.zeros(target_phrases, np.bool_)

    def add(self, table: PhraseTable, targets: NDArray[np.int64]) -> None:
        """Add the rows of the next range. targets: the numbers of its target phrases."""
        self._occurs[targets] = True
        source = table.entries[:, 0] + len(self._source)
        self._entries.append(np.stack([source, targets[table.entries[:, 1]]], axis=1))
        self._source.append(table.source)
        self._links.append(table.links)
        self._scores.append(table.scores)
        self._counts.append(table.counts)

    def finish(self, text: PhraseText, targets: _TargetPhrases) -> PhraseTable:
        """Return the table of all ranges, mapped, without target phrases that occur in no row."""
        numbers = np.cumsum(self._occurs) - 1
        entries = self._entries.mapped()
        for start in range(0, len(entries), ROWS):
            rows = slice(start, start + ROWS)
            entries[rows, 1] = numbers[entries[rows, 1]]
        target = SpilledRows(np.int32)
        for start, phrases in targets.parts():
            target.append(phrases.take(self._occurs[start : start + len(phrases)]))
        return PhraseTable(
            self._source.mapped(),
            target.mapped(),
            *text.types,
            entries=entries,
            scores=self._scores.mapped(),
            links=self._links.mapped(),
            counts=self._counts.mapped(),
        )
