"""Translation lexicons: pairs of words with counts, from word alignments or dictionaries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from interlace.alignment import WordPairs
from interlace.alignment.links import (
    check_links,
    check_row_counts,
    sorted_links,
    word_positions,
)
from interlace.core.errors import DataError
from interlace.core.ragged import BoolArray, DoubleArray, Int32Array, IntArray, Ragged
from interlace.text.lines import read_lines, write_lines

_MAX_PENDING = 4_000_000  # entries of chunks that are held before they are summed
_BLANKS = re.compile("[ \t]+")


@dataclass(frozen=True)
class Lexicon:
    """Pairs of word types that translate each other, and how often they were aligned.

    source_types, target_types: the spelling of each type.
    entries: (m, 2) int32 (source type, target type), sorted, without duplicates.
    counts: (m,) float64, number of links; 1 for an entry of a dictionary.
    unaligned: of source and target, for each type, how often a word of it had no link; 0 if not counted.
    """

    source_types: list[str]
    target_types: list[str]
    entries: Int32Array
    counts: DoubleArray
    unaligned: tuple[DoubleArray, DoubleArray]

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        return f"<lexicon of {len(self):,} entries>"

    def __getitem__(self, entry: int) -> tuple[str, str, float]:
        source, target = self.entries[entry].tolist()
        return self.source_types[source], self.target_types[target], float(self.counts[entry])

    def __iter__(self) -> Iterator[tuple[str, str, float]]:
        return map(self.__getitem__, range(len(self)))

    def __contains__(self, word: str) -> bool:
        return bool(self.translations(word))

    def translations(self, word: str) -> dict[str, float]:
        """Return the translations of a source word with their counts, the most frequent first; empty if unknown."""
        source_type = self._source_numbers.get(word, len(self.source_types))
        start, stop = np.searchsorted(self.entries[:, 0], [source_type, source_type + 1])
        translations = {}
        for entry in sorted(range(start, stop), key=self.counts.__getitem__, reverse=True):
            _, target, count = self[entry]
            translations[target] = count
        return translations

    @cached_property
    def _source_numbers(self) -> dict[str, int]:
        """The type of each source spelling."""
        return {spelling: number for number, spelling in enumerate(self.source_types)}

    # ---- constructors and files ----

    @classmethod
    def count(cls, pairs: WordPairs, links: Ragged) -> Lexicon:
        """Count the lexicon of an aligned corpus in chunks.

        links: n rows of (source word, target word); duplicates in a row count once.

        Raises:
            DataError: a link is not between words of its pair; names the pair, from 1.
        """
        check_row_counts(len(pairs.source), len(pairs.target), len(links))
        width = max(len(pairs.target_types), 1)
        source_unaligned = np.zeros(len(pairs.source_types))
        target_unaligned = np.zeros(len(pairs.target_types))
        unaligned = (source_unaligned, target_unaligned)
        parts: list[_CountedKeys] = []
        pending = 0  # entries that were not summed
        for chunk in pairs.chunks():
            start = chunk.first - pairs.first
            chunk_links = links.slice(start, start + len(chunk))
            check_links(chunk.source.lengths, chunk.target.lengths, chunk_links, start)
            chunk_links = sorted_links(chunk_links.rows(), chunk_links.flat, len(chunk_links))
            source = _linked_types(chunk.source, chunk_links, 0, source_unaligned)
            target = _linked_types(chunk.target, chunk_links, 1, target_unaligned)
            chunk_keys = source * width + target  # (links,)
            part = _summed([_CountedKeys(chunk_keys, np.ones(len(chunk_keys)))])
            parts.append(part)
            pending += len(part.keys)
            if pending > _MAX_PENDING:
                parts = [_summed(parts)]
                pending = 0
        keys, counts = _summed(parts)
        entries = np.stack(np.divmod(keys, width), axis=1).astype(np.int32)
        return cls(pairs.source_types, pairs.target_types, entries, counts, unaligned)

    @classmethod
    def of(cls, translations: Iterable[tuple[str, str, float]]) -> Lexicon:
        """Build a lexicon from (source word, target word, count); of duplicates, the largest count is kept."""
        source_types: dict[str, int] = {}
        target_types: dict[str, int] = {}
        counts: dict[tuple[int, int], float] = {}
        for source, target, count in translations:
            source_type = source_types.setdefault(source, len(source_types))
            target_type = target_types.setdefault(target, len(target_types))
            entry = (source_type, target_type)
            counts[entry] = max(count, counts.get(entry, count))
        entries = sorted(counts)
        sorted_counts = [counts[entry] for entry in entries]
        return cls(
            list(source_types),
            list(target_types),
            np.array(entries, np.int32).reshape(-1, 2),
            np.array(sorted_counts, np.float64),
            (np.zeros(len(source_types)), np.zeros(len(target_types))),
        )

    @classmethod
    def read(cls, *paths: Path | str) -> Lexicon:
        """Read dictionaries in MUSE's format, one translation per line: source, tab or blanks, target.

        A source word may be on several lines. With tabs, words may contain blanks, and a third column is the count.

        Raises:
            DataError: a file is missing or empty, or a line is not a translation; names file and line.
        """
        return cls.of(chain.from_iterable(map(read_translations, paths)))

    def write(self, path: Path | str, *, counts: bool = True) -> None:
        """Write one translation per line, tab-separated: source, target and, with `counts`, count; gzip by suffix.

        Source words are in the order of their types, their translations by decreasing count. Without counts the file is
        a dictionary in MUSE's format.

        Raises:
            DataError: a word contains a tab or a line feed.
        """
        write_lines(path, self._lines(str(path), counts=counts))

    def _lines(self, path: str, *, counts: bool) -> Iterator[str]:
        order = np.lexsort((self.entries[:, 1], -self.counts, self.entries[:, 0]))
        for entry in order.tolist():
            source, target, count = self[entry]
            for word in (source, target):
                if "\t" in word or "\n" in word:
                    raise DataError(f"{path}: the word {word!r} contains a tab or a line feed")
            yield f"{source}\t{target}\t{count:.17g}" if counts else f"{source}\t{target}"

    # ---- probabilities ----

    @property
    def forward(self) -> DoubleArray:
        """(m,) w(t|s): the count of each entry over all links of its source type, links to NULL included.

        Koehn, Och and Marcu (2003), section 3.3.
        """
        return self._probabilities(0)

    @property
    def backward(self) -> DoubleArray:
        """(m,) w(s|t): the count of each entry over all links of its target type, links to NULL included."""
        return self._probabilities(1)

    def null(self, side: int) -> DoubleArray:
        """Return w(type|NULL): for each type of a side, its fraction of all unaligned words of the side."""
        unaligned = self.unaligned[side]
        return unaligned / max(unaligned.sum(), 1.0)

    def totals(self, side: int) -> DoubleArray:
        """Return the count of each type of a side over all links, links to NULL included."""
        unaligned = self.unaligned[side]
        linked = np.bincount(self.entries[:, side], self.counts, minlength=len(unaligned))
        return linked + unaligned

    def _probabilities(self, side: int) -> DoubleArray:
        """(m,) the fraction of each entry of all counts of its type on a side; 0 without counts."""
        totals = self.totals(side)[self.entries[:, side]]
        return np.divide(self.counts, totals, out=np.zeros(len(self)), where=totals > 0)

    # ---- subsets ----

    def at_least(self, min_count: float) -> Lexicon:
        """Return the entries with at least this count."""
        return self.select(self.counts >= min_count)

    def top(self, count: int) -> Lexicon:
        """Return the `count` most frequent translations of each source type.

        Ties are broken in favor of the rarer target, which has the higher `backward` probability.
        """
        order = np.lexsort((-self.backward, -self.counts, self.entries[:, 0]))
        sources = self.entries[order, 0]
        first_of_source = np.searchsorted(sources, sources)
        ranks = np.arange(len(self)) - first_of_source
        frequent = np.zeros(len(self), np.bool_)
        frequent_entries = order[ranks < count]
        frequent[frequent_entries] = True
        return self.select(frequent)

    def mutual(self) -> Lexicon:
        """Return the entries that are the most frequent of both their source and their target type, each type once.

        Ties are broken in favor of the rarer types, then of the first entry, in one order for both sides.
        """
        rarity = self.forward * self.backward
        order = np.lexsort((-rarity, -self.counts))
        mutual = np.ones(len(self), np.bool_)
        for side in (0, 1):
            types = self.entries[order, side]
            _, first_ranks = np.unique(types, return_index=True)
            is_best = np.zeros(len(self), np.bool_)
            is_best[order[first_ranks]] = True
            mutual &= is_best
        return self.select(mutual)

    def words(self) -> Lexicon:
        """Return the entries with a letter on both sides, without numbers and punctuation."""
        source, target = self.entries.T
        source_has_letters = _with_letters(self.source_types)[source]
        target_has_letters = _with_letters(self.target_types)[target]
        return self.select(source_has_letters & target_has_letters)

    def select(self, selected: BoolArray) -> Lexicon:
        """Return the lexicon with some of its entries; selected: a mask, (n,)."""
        return replace(self, entries=self.entries[selected], counts=self.counts[selected])

    def reversed(self) -> Lexicon:
        """Return the lexicon with its sides exchanged."""
        order = np.lexsort((self.entries[:, 0], self.entries[:, 1]))
        return Lexicon(
            self.target_types,
            self.source_types,
            np.ascontiguousarray(self.entries[order, ::-1]),
            self.counts[order],
            self.unaligned[::-1],
        )


def read_translations(path: Path | str) -> Iterator[tuple[str, str, float]]:
    """Yield source, target and count of each line of a dictionary that is not empty; a DataError names a bad line."""
    for number, line in enumerate(read_lines(path), 1):
        if line.strip(" \t"):
            yield _parse(line, f"{path}, line {number}")


def _parse(line: str, where: str) -> tuple[str, str, float]:
    """Parse a translation; in lines with tabs, blanks belong to words."""
    if "\t" in line.strip(" \t"):
        cells = [cell.strip(" ") for cell in line.split("\t")]
        valid = len(cells) in {2, 3}
    else:
        cells = _BLANKS.split(line.strip(" \t"))
        valid = len(cells) == 2
    if not valid or not all(cells):
        raise DataError(
            f"{where}: expected 'source<TAB>target' or two words separated by a blank, found {line[:60]!r}; put a tab "
            "between words that contain blanks"
        )
    if len(cells) == 2:
        return cells[0], cells[1], 1.0
    try:
        count = float(cells[2])
    except ValueError:
        count = -1.0
    if not 0 <= count < float("inf"):
        raise DataError(
            f"{where}: the third column is a count of at least 0, found {cells[2]!r}"
        )
    return cells[0], cells[1], count


def _with_letters(types: list[str]) -> BoolArray:
    """(types,) whether a word has a letter."""
    return np.array([any(map(str.isalpha, word)) for word in types], np.bool_)


# ---- counting ----


class _CountedKeys(NamedTuple):
    """Keys of entries, source type * target types + target type, and the count of each."""

    keys: IntArray
    counts: DoubleArray


def _summed(parts: Sequence[_CountedKeys]) -> _CountedKeys:
    """Return the distinct keys, sorted, with the sums of their counts."""
    keys = np.concatenate([np.zeros(0, np.int64), *(part.keys for part in parts)])
    counts = np.concatenate([np.zeros(0), *(part.counts for part in parts)])
    distinct, numbers = np.unique(keys, return_inverse=True)
    sums = np.bincount(numbers, counts, minlength=len(distinct)).astype(np.float64)
    return _CountedKeys(distinct, sums)


def _linked_types(words: Ragged, links: Ragged, side: int, unaligned: DoubleArray) -> IntArray:
    """(total,) the type of each link's word on a side; words without links are added to `unaligned` by type."""
    types = words.flat
    positions = word_positions(words, links, side)
    aligned = np.zeros(len(types), np.bool_)
    aligned[positions] = True
    unaligned += np.bincount(types[~aligned], minlength=len(unaligned))
    return types[positions].astype(np.int64)
