"""Building phrase tables: from counts to sorted columns with scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interlace.alignment._table_count import Counting
from interlace.alignment._table_order import line_order
from interlace.alignment.lexicon import Lexicon
from interlace.alignment.links import ordered
from interlace.alignment.phrases import PhraseRules, phrase_pairs
from interlace.core.ragged import Ragged

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from interlace.alignment import WordPairs
    from interlace.alignment._table_count import Counted
    from interlace.alignment._table_trie import Trie
    from interlace.alignment.phrase_table import PhraseTable, TableRules

    Sides = tuple[Ragged, Ragged]

_ROWS = 200_000  # rows scored at a time
_LEAST = float(np.finfo(np.float32).tiny)  # of a weight: products of many rare words would round to 0, which has no log


def counted(
    kind: type[PhraseTable], pairs: WordPairs, links: Ragged, rules: TableRules, spool: Path | None
) -> PhraseTable:
    """The table of a corpus with all its rows of at least the minimum count; all links are sure enough."""
    shapes = PhraseRules(max_phrase_length=rules.max_phrase_length, unaligned_borders=rules.unaligned_borders)
    lexicon = Lexicon.count(pairs, links)
    counting = Counting(rules.max_phrase_length, spool)
    for chunk in pairs.chunks():
        part = links.slice(chunk.first - pairs.first, chunk.first - pairs.first + len(chunk))
        part = ordered(part.rows(), part.flat, len(part))
        counting.add(chunk, part, phrase_pairs(chunk.source.lengths, chunk.target.lengths, part, shapes))
    found = counting.finish(rules.min_count)
    entries, sides, order = in_line_order(
        *_phrases(found, counting.source, counting.target), (pairs.source_types, pairs.target_types)
    )
    inner = counting.links.spell(found.links[order])
    inner = Ragged(np.stack(np.divmod(inner.values, rules.max_phrase_length), axis=1).astype(np.int16), inner.offsets)
    totals = (found.target_totals[found.target], found.source_totals[found.source], found.counts)
    counts = np.stack(totals, axis=1)[order].astype(np.float64)
    scores = _scores(entries, sides, inner, counts, lexicon)
    return kind(*sides, pairs.source_types, pairs.target_types, entries, scores, inner, counts)


def in_line_order(
    entries: NDArray[np.integer], sides: Sides, types: tuple[list[str], list[str]]
) -> tuple[NDArray[np.int32], Sides, NDArray[np.int64]]:
    """Entries (source phrase, target phrase) and phrases, renumbered as the lines of a table are sorted.

    Also the number that each of the sorted entries had before.
    """
    columns, rows = [], []
    for side, (phrases, spellings) in enumerate(zip(sides, types, strict=True)):
        order = line_order(phrases, spellings)
        numbers = np.empty(len(order), np.int64)
        numbers[order] = np.arange(len(order))
        columns.append(numbers[entries[:, side]])
        rows.append(phrases.take(order))
    order = np.argsort(columns[0] * max(len(rows[1]), 1) + columns[1], kind="stable")
    return np.stack(columns, axis=1)[order].astype(np.int32), (rows[0], rows[1]), order


def without_gaps(entries: NDArray[np.int32], sides: Sides) -> tuple[NDArray[np.int32], Sides]:
    """Entries and the phrases they hold, numbered anew in the same order."""
    used, columns = [], []
    for side in range(2):
        kept, numbers = np.unique(entries[:, side], return_inverse=True)
        used.append(sides[side].take(kept))
        columns.append(numbers.astype(np.int32))
    return np.stack(columns, axis=1), (used[0], used[1])


def _phrases(found: Counted, source: Trie, target: Trie) -> tuple[NDArray[np.int64], Sides]:
    """Entries as numbers of the phrases that they hold, and these phrases as rows of word types."""
    columns, sides = [], []
    for nodes, trie in ((found.source, source), (found.target, target)):
        held = np.zeros(trie.used, np.bool_)
        held[nodes] = True
        columns.append((np.cumsum(held) - 1)[nodes])
        sides.append(trie.spell(np.flatnonzero(held).astype(np.int32)))
    return np.stack(columns, axis=1), (sides[0], sides[1])


def _scores(
    entries: NDArray[np.int32], sides: Sides, links: Ragged, counts: NDArray[np.float64], lexicon: Lexicon
) -> NDArray[np.float32]:
    """Phi and lexical weights both ways, in the order of `SCORES`."""
    scores = np.empty((len(entries), 4), np.float32)
    scores[:, 0::2] = counts[:, 2:] / counts[:, :2]
    weights = _Weights(lexicon)
    for start in range(0, len(entries), _ROWS):
        rows = slice(start, start + _ROWS)
        words = tuple(side.take(entries[rows, number]) for number, side in enumerate(sides))
        part = links.slice(start, min(start + _ROWS, len(links)))
        scores[rows, 1], scores[rows, 3] = weights.both((words[0], words[1]), part)
    return scores


class _Weights:
    """Lexical weights (Koehn, Och and Marcu 2003, section 3.3) by the word probabilities of a lexicon."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._width = len(lexicon.target_types)
        self._keys = lexicon.entries[:, 0].astype(np.int64) * self._width + lexicon.entries[:, 1]
        self._linked = (lexicon.backward, lexicon.forward)
        self._null = (lexicon.null_backward, lexicon.null_forward)

    def both(self, phrases: Sides, links: Ragged) -> list[NDArray[np.float64]]:
        """(n,) lex(s|t) and lex(t|s) of n phrase pairs: for each word the mean over its links, multiplied.

        phrases: n rows of word types a side. links: n rows of (source word, target word).
        """
        at = [links.flat[:, side] + np.repeat(words.offsets[:-1], links.lengths) for side, words in enumerate(phrases)]
        source, target = (words.values[places].astype(np.int64) for words, places in zip(phrases, at, strict=True))
        entry = np.searchsorted(self._keys, source * self._width + target)
        found = []
        for side, words in enumerate(phrases):
            many = np.bincount(at[side], minlength=len(words.values))
            total = np.bincount(at[side], self._linked[side][entry], minlength=len(words.values))
            mean = np.where(many > 0, total / np.maximum(many, 1), self._null[side][words.values])
            found.append(np.maximum(np.multiply.reduceat(mean, words.offsets[:-1]), _LEAST))
        return found
