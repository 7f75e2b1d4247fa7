"""Count and score the phrase pairs of an aligned corpus: the data of a phrase table.

Phrases and their inner links are numbered in the order of occurrence. Phrase pairs are counted in memory, or written to
a folder in parts by source phrase and counted part by part; memory then grows with the phrases of each side, not with
the pairs.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from interlace.alignment import WordPairs
from interlace.alignment.lexicon import Lexicon
from interlace.alignment.links import sorted_links
from interlace.alignment.moses import Sides, sort_entries
from interlace.alignment.phrase_table import PhraseTable
from interlace.alignment.phrases import PhraseRules, phrase_pairs
from interlace.alignment.trie import Trie, count_pairs, sum_up
from interlace.core.ragged import Ragged

_PARTS = 64  # files of the folder; a power of two
_ROWS = 200_000  # rows scored at a time
_MIN_WEIGHT = float(np.finfo(np.float32).tiny)  # products of many rare words would round to 0, which has no log


def count_phrase_pairs(
    pairs: WordPairs, links: Ragged, rules: PhraseRules, min_count: int, spool: Path | None
) -> PhraseTable:
    """Extract, count and score all phrase pairs with at least `min_count` occurrences.

    rules: `min_confidence` is not applied. spool: an empty folder for counts, or None to count in memory.
    """
    rules = PhraseRules(max_phrase_length=rules.max_phrase_length, unaligned_borders=rules.unaligned_borders)
    lexicon = Lexicon.count(pairs, links)
    counter = _Counter(rules.max_phrase_length, spool)
    for chunk in pairs.chunks():
        start = chunk.first - pairs.first
        part = links.slice(start, start + len(chunk))
        part = sorted_links(part.rows(), part.flat, len(part))
        counter.add(chunk, part, phrase_pairs(chunk.source.lengths, chunk.target.lengths, part, rules))
    counted = counter.finish(min_count)
    columns, phrases = [], []
    for nodes, trie in ((counted.source, counter.source), (counted.target, counter.target)):
        occurs = np.zeros(trie.used, np.bool_)
        occurs[nodes] = True
        columns.append((np.cumsum(occurs) - 1)[nodes])
        phrases.append(trie.spell(np.flatnonzero(occurs).astype(np.int32)))
    types = (pairs.source_types, pairs.target_types)
    entries, sides, order = sort_entries(np.stack(columns, axis=1), (phrases[0], phrases[1]), types)
    inner = counter.links.spell(counted.links[order])
    inner = Ragged(np.stack(np.divmod(inner.values, rules.max_phrase_length), axis=1).astype(np.int16), inner.offsets)
    totals = (counted.target_totals[counted.target], counted.source_totals[counted.source], counted.counts)
    counts = np.stack(totals, axis=1)[order].astype(np.float64)
    scores = _scores(entries, sides, inner, counts, lexicon)
    return PhraseTable(*sides, *types, entries, scores, inner, counts)


@dataclass(frozen=True)
class _Counted:
    """Distinct phrase pairs with enough occurrences, in no special order.

    source, target: (m,) int32 nodes of the phrases. links: (m,) int32 nodes of their most frequent inner links.
    counts: (m,) int64 occurrences. source_totals, target_totals: by node, over all pairs, rare ones included.
    """

    source: NDArray[np.int32]
    target: NDArray[np.int32]
    links: NDArray[np.int32]
    counts: NDArray[np.int64]
    source_totals: NDArray[np.int64]
    target_totals: NDArray[np.int64]


class _Counter:
    """Counts phrase pairs chunk by chunk.

    grid: width of the grid whose cells are the inner links. spool: an empty folder, or None to count in memory.
    """

    def __init__(self, grid: int, spool: Path | None) -> None:
        self.source, self.target, self.links = Trie(), Trie(), Trie()
        self._grid = grid
        self._occurrences = _Occurrences()
        self._files = [spool / str(part) for part in range(_PARTS)] if spool else []

    def add(self, pairs: WordPairs, links: Ragged, spans: Ragged) -> None:
        """Add the phrase pairs of a chunk; links are sorted in each row."""
        with ThreadPoolExecutor(3) as pool:  # one trie per thread, so the numbers do not depend on timing
            columns = [
                pool.submit(self.source.number, pairs.source, spans, 0),
                pool.submit(self.target.number, pairs.target, spans, 2),
                pool.submit(self.links.number_links, links, spans, self._grid),
            ]
        occurrences = np.stack([column.result() for column in columns], axis=1)
        if not self._files:
            self._occurrences.add(occurrences)
            return
        parts = (occurrences[:, 0] % _PARTS).astype(np.uint8)
        ends = np.cumsum(np.bincount(parts, minlength=_PARTS))
        ordered = occurrences[np.argsort(parts, kind="stable")]  # a quarter of the time of one selection per part
        for part, path in zip(np.split(ordered, ends[:-1]), self._files, strict=True):
            with path.open("ab") as file:
                file.write(part.tobytes())

    def finish(self, min_count: int) -> _Counted:
        """Return all pairs with at least this count."""
        totals = (np.zeros(self.source.used, np.int64), np.zeros(self.target.used, np.int64))
        if not self._files:
            counted = [self._occurrences.finish(min_count, totals)]
        else:
            counted = []
            for path in self._files:
                part = _Occurrences()
                part.add(np.fromfile(path, np.int32).reshape(-1, 3) if path.exists() else np.zeros((0, 3), np.int32))
                counted.append(part.finish(min_count, totals))
        source, target, links, counts = (np.concatenate(column) for column in zip(*counted, strict=True))
        return _Counted(source, target, links, counts, *totals)


class _Occurrences:
    """Counts (source phrase, target phrase, inner links)."""

    def __init__(self) -> None:
        self._pairs, self._seen = Trie(), Trie()
        self._counts = np.zeros(len(self._seen.keys), np.int32)

    def add(self, occurrences: NDArray[np.int32]) -> None:
        pairs, seen = self._pairs, self._seen
        (pairs.slots, pairs.keys), pairs.used, (seen.slots, seen.keys), seen.used, self._counts = count_pairs(
            (pairs.slots, pairs.keys), pairs.used, (seen.slots, seen.keys), seen.used, self._counts, occurrences
        )

    def finish(
        self, min_count: int, totals: tuple[NDArray[np.int64], NDArray[np.int64]]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
        """Return source, target, links and count of each frequent pair; add all pairs to the totals."""
        counts, links = np.zeros(self._pairs.used, np.int64), np.zeros(self._pairs.used, np.int32)
        sum_up(self._seen.keys, self._seen.used, self._counts, counts, links)
        keys = self._pairs.keys[1 : self._pairs.used]
        source, target, counts, links = (keys >> 32).astype(np.int32), keys.astype(np.int32), counts[1:], links[1:]
        for nodes, total in zip((source, target), totals, strict=True):
            total[:] += np.bincount(nodes, counts, minlength=len(total)).astype(np.int64)
        kept = counts >= min_count
        return source[kept], target[kept], links[kept], counts[kept]


def _scores(
    entries: NDArray[np.int32], sides: Sides, links: Ragged, counts: NDArray[np.float64], lexicon: Lexicon
) -> NDArray[np.float32]:
    """(m, 4) phi(s|t), lex(s|t), phi(t|s), lex(t|s)."""
    scores = np.empty((len(entries), 4), np.float32)
    scores[:, 0::2] = counts[:, 2:] / counts[:, :2]
    weights = _LexicalWeights(lexicon)
    for start in range(0, len(entries), _ROWS):
        rows = slice(start, start + _ROWS)
        words = tuple(side.take(entries[rows, number]) for number, side in enumerate(sides))
        part = links.slice(start, min(start + _ROWS, len(links)))
        scores[rows, 1], scores[rows, 3] = weights.both((words[0], words[1]), part)
    return scores


class _LexicalWeights:
    """Lexical weights (Koehn, Och and Marcu 2003, section 3.3) from the word probabilities of a lexicon."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._width = len(lexicon.target_types)
        self._keys = lexicon.entries[:, 0].astype(np.int64) * self._width + lexicon.entries[:, 1]
        self._linked = (lexicon.backward, lexicon.forward)
        self._null = (lexicon.null_backward, lexicon.null_forward)

    def both(self, phrases: Sides, links: Ragged) -> list[NDArray[np.float64]]:
        """(n,) lex(s|t) and lex(t|s) of n phrase pairs: the product over words of the mean over their links.

        phrases: n rows of word types per side. links: n rows of (source word, target word).
        """
        at = [links.flat[:, side] + np.repeat(words.offsets[:-1], links.lengths) for side, words in enumerate(phrases)]
        source, target = (words.values[places].astype(np.int64) for words, places in zip(phrases, at, strict=True))
        entry = np.searchsorted(self._keys, source * self._width + target)
        found = []
        for side, words in enumerate(phrases):
            many = np.bincount(at[side], minlength=len(words.values))
            total = np.bincount(at[side], self._linked[side][entry], minlength=len(words.values))
            mean = np.where(many > 0, total / np.maximum(many, 1), self._null[side][words.values])
            found.append(np.maximum(np.multiply.reduceat(mean, words.offsets[:-1]), _MIN_WEIGHT))
        return found
