"""Count and score the phrase pairs of an aligned corpus: the data of a phrase table.

Phrases and their inner links are numbered in the order of occurrence. Beyond a memory limit, phrases are cut into
ranges in the order of the table's lines, of which each is extracted and counted by itself: first target phrases, whose
totals and numbers are kept on disk, then all pairs of the source phrases of a range. The results are the same.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from interlace.alignment import WordPairs
from interlace.alignment.lexicon import Lexicon
from interlace.alignment.links import select_links, sorted_links
from interlace.alignment.moses import Sides, line_order, sort_entries, word_ranks
from interlace.alignment.phrase_table import PhraseIndex, PhraseTable, TableRules
from interlace.alignment.phrases import PhraseRules, phrase_pairs
from interlace.alignment.spill import GB, SpilledColumn, SpilledRows
from interlace.alignment.trie import Trie, count_pairs, sum_up
from interlace.core.ragged import Ragged

Nodes = NDArray[np.int32]

log = logging.getLogger(__name__)

_NODE = 16  # bytes of a node of a trie, of which a table and its tries have up to five a phrase pair
_TRIES = 0.25  # share of the memory for tries; the rest is for the table that is made of them
_SAMPLE = 100_000  # sentence pairs whose phrases set the ranges
_ROWS = 200_000  # rows scored at a time
_MIN_WEIGHT = float(np.finfo(np.float32).tiny)  # products of many rare words would round to 0, which has no log


def count_phrase_pairs(pairs: WordPairs, links: Ragged, rules: TableRules, memory: float) -> PhraseTable:
    """Extract, count and score the phrase pairs of a table.

    rules: `min_confidence` is not applied. memory: GB for counts.
    """
    lexicon = Lexicon.count(pairs, links, memory)
    text = _AlignedText(pairs, links, rules, _LexicalWeights(lexicon))
    limit = int(memory * GB * _TRIES)
    counter, done = _Counter(rules.max_phrase_length), 0
    for chunk in text.extracted():
        if done and counter.size > limit:
            break
        counter.add(*chunk)
        done += len(chunk[0])
    else:
        return text.table(counter)
    share = len(counter.target.keys) * _NODE / counter.size
    del counter
    parts = -(-len(pairs) // done) + 1
    log.info("phrases: source phrases are counted in %d ranges, with temporary files", parts)
    return _in_ranges(text, parts, int(parts * share) + 1)


@dataclass(frozen=True)
class _AlignedText:
    """A corpus with the rules of a table and the lexical weights of its lexicon."""

    pairs: WordPairs
    links: Ragged
    rules: TableRules
    weights: _LexicalWeights

    def extracted(self, chosen: _Range | None = None) -> Iterator[tuple[WordPairs, Ragged, Ragged]]:
        """Yield chunks, their links, sorted in each row, and their phrase pairs (of a range of phrases)."""
        wanted = self.rules.max_phrase_length, self.rules.unaligned_borders
        rules = PhraseRules(max_phrase_length=wanted[0], unaligned_borders=wanted[1])
        for chunk in self.pairs.chunks():
            start = chunk.first - self.pairs.first
            part = self.links.slice(start, start + len(chunk))
            part = sorted_links(part.rows(), part.flat, len(part))
            spans = phrase_pairs(chunk.source.lengths, chunk.target.lengths, part, rules)
            if chosen is not None:
                keys = chosen.keys(chunk, spans)
                spans = select_links(spans, (keys >= chosen.low) & (keys < chosen.high))
            yield chunk, part, spans

    def table(self, counter: _Counter, targets: _Targets | None = None) -> PhraseTable:
        """Return the table of what was counted. targets: of the whole corpus, if a range of source phrases was."""
        *both, links, counts = counter.finish(self.rules.min_count)
        columns, phrases = [], []
        for nodes, trie in zip(both, (counter.source, counter.target), strict=True):
            occurs = np.zeros(trie.used, np.bool_)
            occurs[nodes] = True
            columns.append((np.cumsum(occurs) - 1)[nodes])
            phrases.append(trie.spell(np.flatnonzero(occurs).astype(np.int32)))
        types = (self.pairs.source_types, self.pairs.target_types)
        entries, sides, order = sort_entries(np.stack(columns, axis=1), (phrases[0], phrases[1]), types)
        inner = counter.links.spell(links[order])
        cells = np.stack(np.divmod(inner.values, self.rules.max_phrase_length), axis=1).astype(np.int16)
        inner = Ragged(cells, inner.offsets)
        totals = counts[order].astype(np.float64)
        if targets is not None:
            totals[:, 0] = targets.totals[targets.find(sides[1])][entries[:, 1]]
        scores = _scores(entries, sides, inner, totals, self.weights)
        table = PhraseTable(*sides, *types, entries, scores, inner, totals)
        return table.best_of_each(self.rules.top) if self.rules.top else table


class _Range(NamedTuple):
    """Consecutive phrases of one side in the order of lines, by their first two words.

    ranks, end: of words and of the end of a phrase. low, high: keys, `high` excluded.
    """

    side: int
    ranks: NDArray[np.int32]
    end: int
    low: int = 0
    high: int = np.iinfo(np.int64).max

    def keys(self, chunk: WordPairs, spans: Ragged) -> NDArray[np.int64]:
        """Return a key of the phrase of each span; keys sort as phrases do."""
        words = (chunk.source, chunk.target)[self.side]
        start, stop = spans.flat[:, 2 * self.side], spans.flat[:, 2 * self.side + 1]
        at = np.repeat(words.offsets[:-1] - words.offsets[0], spans.lengths) + start
        ranks = np.append(self.ranks[words.flat], 0).astype(np.int64)
        keys: NDArray[np.int64] = ranks[at] << 32 | np.where(stop - start > 1, ranks[at + 1], self.end)
        return keys

    def cut(self, text: _AlignedText, parts: int) -> list[_Range]:
        """Cut the range into about so many parts with equally many phrase pairs, by a sample of the text."""
        rows = np.arange(0, len(text.pairs), -(-len(text.pairs) // _SAMPLE))
        source, target = text.pairs.source.take(rows), text.pairs.target.take(rows)
        pairs = replace(text.pairs, source=source, target=target, first=0)
        some = replace(text, pairs=pairs, links=text.links.take(rows))
        ordered = np.sort(np.concatenate([self.keys(chunk, spans) for chunk, _, spans in some.extracted()]))
        if not len(ordered):
            return [self]
        cuts = np.unique(ordered[np.arange(1, parts) * len(ordered) // parts]).tolist()
        return [self._replace(low=low, high=high) for low, high in pairwise([self.low, *cuts, self.high])]


class _Targets:
    """All target phrases in the order of lines, and how often they occur, in temporary files."""

    def __init__(self, text: _AlignedText, ranges: list[_Range]) -> None:
        self._phrases, totals = SpilledRows(np.int32), SpilledColumn(np.int64)
        for chosen in ranges:
            trie, counts = Trie(), np.zeros(0, np.int64)
            for chunk, _, spans in text.extracted(chosen):
                more = np.bincount(trie.number(chunk.target, spans, 2), minlength=max(trie.used, len(counts)))
                more[: len(counts)] += counts
                counts = more
            nodes = np.flatnonzero(counts)
            phrases = trie.spell(nodes.astype(np.int32))
            order = line_order(phrases, text.pairs.target_types)
            self._phrases.append(phrases.take(order))
            totals.append(counts[nodes][order])
        self.totals = totals.mapped()

    def parts(self) -> Iterator[tuple[int, Ragged]]:
        """Yield some phrases at a time, with the number of the first."""
        for start in range(0, len(self._phrases), _ROWS):
            yield start, self._phrases.read(start, min(start + _ROWS, len(self._phrases)))

    def find(self, phrases: Ragged) -> NDArray[np.int64]:
        """Return the number of each phrase; all must be among the target phrases."""
        numbers, index = np.full(len(phrases), -1, np.int64), PhraseIndex(phrases)
        for start, part in self.parts():
            spans = np.stack([np.zeros(len(part), np.int64), part.lengths], axis=1)
            found = index.find(part, Ragged.from_lengths(spans, np.ones(len(part), np.int64)))
            numbers[found[found >= 0]] = start + np.flatnonzero(found >= 0)
        return numbers


def _in_ranges(text: _AlignedText, parts: int, target_parts: int) -> PhraseTable:
    """Count the table range by range of source phrases, into temporary files."""
    types = (text.pairs.source_types, text.pairs.target_types)
    whole = [_Range(side, *word_ranks(spellings)) for side, spellings in enumerate(types)]
    targets = _Targets(text, whole[1].cut(text, target_parts))
    occurs = np.zeros(len(targets.totals), np.bool_)
    source, target, links = SpilledRows(np.int32), SpilledRows(np.int32), SpilledRows(np.int16, (2,))
    kinds = ((np.int32, 2), (np.float32, 4), (np.float64, 3))
    entries, scores, counts = (SpilledColumn(kind, (width,)) for kind, width in kinds)
    for chosen in whole[0].cut(text, parts):
        counter = _Counter(text.rules.max_phrase_length)
        for chunk in text.extracted(chosen):
            counter.add(*chunk)
        table = text.table(counter, targets)
        numbers = targets.find(table.target)
        occurs[numbers] = True
        entries.append(np.stack([table.entries[:, 0] + len(source), numbers[table.entries[:, 1]]], axis=1))
        source.append(table.source)
        links.append(table.links)
        scores.append(table.scores)
        counts.append(table.counts)
        del counter, table  # before the next range is counted
    numbers = np.cumsum(occurs) - 1
    found = entries.mapped()
    for start in range(0, len(found), _ROWS):
        found[start : start + _ROWS, 1] = numbers[found[start : start + _ROWS, 1]]
    for start, part in targets.parts():
        target.append(part.take(occurs[start : start + len(part)]))
    sides = source.mapped(), target.mapped()
    return PhraseTable(*sides, *types, found, scores.mapped(), links.mapped(), counts.mapped())


class _Counter:
    """Counts (source phrase, target phrase, inner links) chunk by chunk; links are cells of a grid of this width."""

    def __init__(self, grid: int) -> None:
        self.source, self.target, self.links, self._pairs, self._seen = self._tries = [Trie() for _ in range(5)]
        self._grid, self._counts = grid, np.zeros(len(self._seen.keys), np.int32)

    @property
    def size(self) -> int:
        """Bytes of all nodes."""
        return _NODE * sum(len(trie.keys) for trie in self._tries)

    def add(self, pairs: WordPairs, links: Ragged, spans: Ragged) -> None:
        """Add the phrase pairs of a chunk; links are sorted in each row."""
        with ThreadPoolExecutor(3) as pool:  # one trie per thread, so the numbers do not depend on timing
            columns = [
                pool.submit(self.source.number, pairs.source, spans, 0),
                pool.submit(self.target.number, pairs.target, spans, 2),
                pool.submit(self.links.number_links, links, spans, self._grid),
            ]
        found = np.stack([column.result() for column in columns], axis=1)
        both, seen = self._pairs, self._seen
        (both.slots, both.keys), both.used, (seen.slots, seen.keys), seen.used, self._counts = count_pairs(
            (both.slots, both.keys), both.used, (seen.slots, seen.keys), seen.used, self._counts, found
        )

    def finish(self, min_count: int) -> tuple[Nodes, Nodes, Nodes, NDArray[np.int64]]:
        """Return (m,) nodes of sources, targets and most frequent inner links of the pairs with at least this count.

        And (m, 3) how often target, source and both occur, in rare pairs too; all in no special order.
        """
        counts, links = np.zeros(self._pairs.used, np.int64), np.zeros(self._pairs.used, np.int32)
        sum_up(self._seen.keys, self._seen.used, self._counts, counts, links)
        keys = self._pairs.keys[1 : self._pairs.used]
        source, target, links, counts = (keys >> 32).astype(np.int32), keys.astype(np.int32), links[1:], counts[1:]
        kept = counts >= min_count
        totals = [np.bincount(nodes, counts)[nodes[kept]].astype(np.int64) for nodes in (target, source)]
        return source[kept], target[kept], links[kept], np.stack([*totals, counts[kept]], axis=1)


def _scores(
    entries: NDArray[np.int32], sides: Sides, links: Ragged, counts: NDArray[np.float64], weights: _LexicalWeights
) -> NDArray[np.float32]:
    """(m, 4) phi(s|t), lex(s|t), phi(t|s), lex(t|s)."""
    scores = np.empty((len(entries), 4), np.float32)
    scores[:, 0::2] = counts[:, 2:] / counts[:, :2]
    for start in range(0, len(entries), _ROWS):
        rows = slice(start, start + _ROWS)
        words = tuple(side.take(entries[rows, number]) for number, side in enumerate(sides))
        part = links.slice(start, min(start + _ROWS, len(links)))
        scores[rows, 1], scores[rows, 3] = weights.both((words[0], words[1]), part)
    return scores


class _LexicalWeights:
    """Lexical weights (Koehn, Och and Marcu 2003, section 3.3) from the word probabilities of a lexicon."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._width, self._counts = len(lexicon.target_types), lexicon.counts
        keys = SpilledColumn(np.int64)
        for start in range(0, len(lexicon), _ROWS):
            part = lexicon.entries[start : start + _ROWS]
            keys.append(part[:, 0].astype(np.int64) * self._width + part[:, 1])
        self._keys = keys.mapped()
        self._totals = lexicon.totals
        self._null = lexicon.null

    def both(self, phrases: Sides, links: Ragged) -> list[NDArray[np.float64]]:
        """(n,) lex(s|t) and lex(t|s) of n phrase pairs: the product over words of the mean over their links.

        phrases: n rows of word types per side. links: n rows of (source word, target word).
        """
        at = [links.flat[:, side] + np.repeat(words.offsets[:-1], links.lengths) for side, words in enumerate(phrases)]
        source, target = (words.values[places].astype(np.int64) for words, places in zip(phrases, at, strict=True))
        counts = self._counts[np.searchsorted(self._keys, source * self._width + target)]
        linked = [counts / totals[types] for totals, types in zip(self._totals, (source, target), strict=True)][::-1]
        found = []
        for side, words in enumerate(phrases):
            many = np.bincount(at[side], minlength=len(words.values))
            total = np.bincount(at[side], linked[side], minlength=len(words.values))
            mean = np.where(many > 0, total / np.maximum(many, 1), self._null[side][words.values])
            found.append(np.maximum(np.multiply.reduceat(mean, words.offsets[:-1]), _MIN_WEIGHT))
        return found
