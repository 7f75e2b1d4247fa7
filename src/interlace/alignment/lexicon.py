"""Translation lexicons: pairs of words with counts, from word alignments or dictionaries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interlace.alignment import WordPairs
from interlace.alignment.links import check_links, check_row_counts, sorted_links
from interlace.alignment.spill import DEFAULT_MEMORY, GB, SpilledColumn, cut_runs
from interlace.core.errors import DataError, pandas_for
from interlace.core.ragged import Ragged
from interlace.text.lines import read_lines, write_lines

_Counted = tuple[NDArray[np.int64], NDArray[np.float64]]  # keys and counts
_MAX_PENDING = 4_000_000  # entries of chunks that are held before they are summed
_BYTES = 72  # an entry, at the peak
_ROWS = 500_000  # entries that are written at a time
_BLANKS = re.compile("[ \t]+")


@dataclass(frozen=True)
class Lexicon:
    """Pairs of word types that translate each other, and how often they were aligned.

    source_types, target_types: the spelling of each type.
    entries: (m, 2) int32 (source type, target type), sorted, without duplicates.
    counts: (m,) float64, number of links; 1 for an entry of a dictionary.
    source_unaligned, target_unaligned: for each type, how often a word of it had no link; None if not counted.
    """

    source_types: list[str]
    target_types: list[str]
    entries: NDArray[np.int32]
    counts: NDArray[np.float64]
    source_unaligned: NDArray[np.float64] | None = None
    target_unaligned: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        return f"<lexicon of {len(self):,} entries>"

    def __getitem__(self, entry: int) -> tuple[str, str, float]:
        source, target = self.entries[entry].tolist()
        return self.source_types[source], self.target_types[target], float(self.counts[entry])

    def __contains__(self, word: object) -> bool:
        return word in self._rows

    def translations(self, word: str) -> dict[str, float]:
        """Return the translations of a source word with their counts, the most frequent first; empty if unknown."""
        rows = sorted(self._rows.get(word, ()), key=lambda row: -self.counts[row])
        return {self[row][1]: self[row][2] for row in rows}

    @cached_property
    def _rows(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for row, source in enumerate(self.entries[:, 0].tolist()):
            found.setdefault(self.source_types[source], []).append(row)
        return found

    def to_pandas(self) -> Any:
        """Return a data frame with the columns `source`, `target` and `count`.

        Raises:
            MissingDependencyError: pandas is not installed.
        """
        rows = [self[row] for row in range(len(self))]
        return pandas_for("a data frame of a lexicon").DataFrame(rows, columns=["source", "target", "count"])

    # ---- constructors and files ----

    @classmethod
    def count(cls, pairs: WordPairs, links: Ragged, memory: float = DEFAULT_MEMORY) -> Lexicon:
        """Count the lexicon of an aligned corpus in chunks.

        links: n rows of (source word, target word); duplicates in a row count once.
        memory: GB for counts; entries that exceed it are mapped from a temporary file.

        Raises:
            DataError: a link is not between words of its pair; names the pair, from 1.
        """
        check_row_counts(len(pairs.source), len(pairs.target), len(links))
        unaligned = (np.zeros(len(pairs.source_types)), np.zeros(len(pairs.target_types)))
        width, pending = len(pairs.target_types), 0
        parts: list[_Counted] = []
        limit, spilled, starts = int(memory * GB / _BYTES), (SpilledColumn(np.int64), SpilledColumn(np.float64)), [0]
        for chunk in pairs.chunks():
            start = chunk.first - pairs.first
            part = links.slice(start, start + len(chunk))
            check_links(chunk.source.lengths, chunk.target.lengths, part, start)
            part = sorted_links(part.rows(), part.flat, len(part))
            keys = _count_chunk(chunk, part, width, unaligned)
            parts.append(_sum_by_key([(keys, np.ones(len(keys)))]))
            pending += len(parts[-1][0])
            if pending > min(_MAX_PENDING, limit):
                parts, pending = [_sum_by_key(parts)], 0
                if len(parts[0][0]) > limit:
                    _append(spilled, parts.pop())
                    starts.append(len(spilled[0]))
        keys, counts = _sum_by_key(parts)
        entries = _entries(keys, width)
        if len(starts) > 1:
            _append(spilled, (keys, counts))
            merged = (SpilledColumn(np.int32, (2,)), SpilledColumn(np.float64))
            for cuts in cut_runs(spilled[0], [*starts, len(spilled[0])], limit // 2 + 1):
                keys, counts = _sum_by_key([(spilled[0].read(rows), spilled[1].read(rows)) for rows in cuts])
                _append(merged, (_entries(keys, width), counts))
            entries, counts = merged[0].mapped(), merged[1].mapped()
        return cls(pairs.source_types, pairs.target_types, entries, counts, *unaligned)

    @classmethod
    def of(cls, translations: Iterable[tuple[str, str, float]]) -> Lexicon:
        """Build a lexicon from (source word, target word, count); of duplicates, the largest count is kept."""
        types: tuple[dict[str, int], dict[str, int]] = ({}, {})
        found: dict[tuple[int, int], float] = {}
        for source, target, count in translations:
            entry = types[0].setdefault(source, len(types[0])), types[1].setdefault(target, len(types[1]))
            found[entry] = max(count, found.get(entry, count))
        entries = np.array(sorted(found), np.int32).reshape(-1, 2)
        counts = np.array([found[entry] for entry in sorted(found)], np.float64)
        return cls(list(types[0]), list(types[1]), entries, counts)

    @classmethod
    def read(cls, *paths: Path | str) -> Lexicon:
        """Read dictionaries in MUSE's format, one translation per line: source, tab or blanks, target.

        A source word may be on several lines. With tabs, words may contain blanks, and a third column is the count.

        Raises:
            DataError: a file is missing or empty, or a line is not a translation; names file and line.
        """
        return cls.of(found for path in paths for found in read_translations(path))

    def write(self, path: Path | str, *, counts: bool = True) -> None:
        """Write one translation per line, tab-separated: source, target and, with `counts`, count; gzip by suffix.

        Source words are in the order of their types, their translations by decreasing count. Without counts the file is
        a dictionary in MUSE's format.

        Raises:
            DataError: a word contains a tab or a line feed.
        """

        def line(entry: int) -> str:
            source, target, count = self[entry]
            for word in (source, target):
                if "\t" in word or "\n" in word:
                    raise DataError(f"{path}: the word {word!r} contains a tab or a line feed")
            return f"{source}\t{target}\t{count:.17g}" if counts else f"{source}\t{target}"

        write_lines(path, (line(entry) for block in self._ordered() for entry in block))

    def _ordered(self) -> Iterator[list[int]]:
        """Yield the entries by source type and decreasing count, in blocks of whole source types."""
        stop = 0
        while (start := stop) < len(self):
            stop = min(start + _ROWS, len(self))
            following = self.entries[stop : stop + len(self.target_types), 0]
            stop += int((following == self.entries[stop - 1, 0]).sum())
            entries = self.entries[start:stop]
            yield (start + np.lexsort((entries[:, 1], -self.counts[start:stop], entries[:, 0]))).tolist()

    # ---- probabilities ----

    @property
    def forward(self) -> NDArray[np.float64]:
        """(m,) w(t|s): the count of each entry over all links of its source type, links to NULL included.

        Koehn, Och and Marcu (2003), section 3.3.
        """
        return self._probabilities(0)

    @property
    def backward(self) -> NDArray[np.float64]:
        """(m,) w(s|t): the count of each entry over all links of its target type, links to NULL included."""
        return self._probabilities(1)

    @property
    def null(self) -> list[NDArray[np.float64]]:
        """w(s|NULL) and w(t|NULL): for each type of a side, its fraction of all unaligned words of the side."""
        sides = (self.source_unaligned, self.source_types), (self.target_unaligned, self.target_types)
        return [np.zeros(len(types)) if words is None else words / max(words.sum(), 1.0) for words, types in sides]

    @property
    def totals(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The counts of each source type and of each target type over all links, links to NULL included."""
        found = []
        for side, unaligned in enumerate((self.source_unaligned, self.target_unaligned)):
            totals = np.zeros(len((self.source_types, self.target_types)[side]))
            for start in range(0, len(self), _ROWS):
                rows = slice(start, start + _ROWS)
                totals += _sums(self.entries[rows, side], self.counts[rows], len(totals))
            found.append(totals + (0 if unaligned is None else unaligned))
        return found[0], found[1]

    def _probabilities(self, side: int) -> NDArray[np.float64]:
        """(m,) the fraction of each entry of all counts of its type on a side; 0 without counts."""
        totals = self.totals[side][self.entries[:, side]]
        return np.divide(self.counts, totals, out=np.zeros(len(self)), where=totals > 0)

    # ---- subsets ----

    def at_least(self, min_count: float) -> Lexicon:
        """Return the entries with at least this count."""
        return self._select(self.counts >= min_count)

    def top(self, count: int) -> Lexicon:
        """Return the `count` most frequent translations of each source type.

        Ties are broken in favor of the rarer target, which has the higher `backward` probability.
        """
        order = np.lexsort((-self.backward, -self.counts, self.entries[:, 0]))
        sources = self.entries[order, 0]
        kept = np.zeros(len(self), np.bool_)
        kept[order[np.arange(len(self)) - np.searchsorted(sources, sources) < count]] = True
        return self._select(kept)

    def mutual(self) -> Lexicon:
        """Return the entries that are the most frequent of both their source and their target type, each type once.

        Ties are broken in favor of the rarer types, then of the first entry, in one order for both sides.
        """
        rarity = self.forward * self.backward
        order = np.lexsort((-rarity, -self.counts))
        kept = np.ones(len(self), np.bool_)
        for side in (0, 1):
            _, first = np.unique(self.entries[order, side], return_index=True)
            best = np.zeros(len(self), np.bool_)
            best[order[first]] = True
            kept &= best
        return self._select(kept)

    def words(self) -> Lexicon:
        """Return the entries with a letter on both sides, without numbers and punctuation."""
        letters = [
            np.array([any(map(str.isalpha, word)) for word in types], np.bool_)
            for types in (self.source_types, self.target_types)
        ]
        return self._select(letters[0][self.entries[:, 0]] & letters[1][self.entries[:, 1]])

    def _select(self, kept: NDArray[np.bool_]) -> Lexicon:
        if kept.all():
            return self
        return replace(self, entries=self.entries[kept], counts=self.counts[kept])

    def reversed(self) -> Lexicon:
        """Return the lexicon with its sides exchanged."""
        order = np.lexsort((self.entries[:, 0], self.entries[:, 1]))
        entries = np.ascontiguousarray(self.entries[order, ::-1])
        unaligned = (self.target_unaligned, self.source_unaligned)
        return Lexicon(self.target_types, self.source_types, entries, self.counts[order], *unaligned)


def read_translations(path: Path | str) -> Iterator[tuple[str, str, float]]:
    """Yield source, target and count of each line of a dictionary that is not empty; a DataError names a bad line."""
    for number, line in enumerate(read_lines(path), 1):
        if line.strip(" \t"):
            yield _parse(line, f"{path}, line {number}")


def _parse(line: str, where: str) -> tuple[str, str, float]:
    """Parse a translation; in lines with tabs, blanks belong to words."""
    tabs = "\t" in line.strip(" \t")
    cells = [cell.strip(" ") for cell in line.split("\t")] if tabs else _BLANKS.split(line.strip(" \t"))
    if len(cells) not in {2, 3 if tabs else 2} or not all(cells):
        raise DataError(
            f"{where}: expected 'source<TAB>target' or two words separated by a blank, found {line[:60]!r}"
            f"{'; put a tab between words that contain blanks' if len(cells) > 2 else ''}"
        )
    if len(cells) == 2:
        return cells[0], cells[1], 1.0
    try:
        count = float(cells[2])
    except ValueError:
        count = -1.0
    if not 0 <= count < float("inf"):
        raise DataError(f"{where}: the third column is a count of at least 0, found {cells[2]!r}")
    return cells[0], cells[1], count


def _count_chunk(
    chunk: WordPairs, links: Ragged, width: int, unaligned: tuple[NDArray[np.float64], NDArray[np.float64]]
) -> NDArray[np.int64]:
    """Return the key, source type * width + target type, of each link; add words without links to `unaligned`."""
    types = []
    for side, words in enumerate((chunk.source, chunk.target)):
        places = links.flat[:, side] + np.repeat(words.offsets[:-1] - words.offsets[0], links.lengths)
        types.append(words.flat[places].astype(np.int64))
        aligned = np.zeros(len(words.flat), np.bool_)
        aligned[places] = True
        unaligned[side][:] += np.bincount(words.flat[~aligned], minlength=len(unaligned[side]))
    keys: NDArray[np.int64] = types[0] * width + types[1]
    return keys


def _entries(keys: NDArray[np.int64], width: int) -> NDArray[np.int32]:
    return np.stack(np.divmod(keys, max(width, 1)), axis=1).astype(np.int32)


def _append(columns: tuple[SpilledColumn, SpilledColumn], values: tuple[NDArray[Any], NDArray[Any]]) -> None:
    for column, more in zip(columns, values, strict=True):
        column.append(more)


def _sum_by_key(parts: Sequence[_Counted]) -> _Counted:
    """Return sorted distinct keys with the sums of their counts."""
    keys = np.concatenate([np.zeros(0, np.int64), *(part[0] for part in parts)])
    counts = np.concatenate([np.zeros(0), *(part[1] for part in parts)])
    distinct, places = np.unique(keys, return_inverse=True)
    return distinct, _sums(places, counts, len(distinct))


def _sums(places: NDArray[np.integer], counts: NDArray[np.float64], total: int) -> NDArray[np.float64]:
    """Return the sum of the counts of each place."""
    return np.bincount(places, counts, minlength=total).astype(np.float64, copy=False)
