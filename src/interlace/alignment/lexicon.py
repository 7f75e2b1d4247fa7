"""Word translations with counts, from links or dictionaries: a prior for aligners, a dictionary for people."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from interlace.alignment._dictionary import read_translations
from interlace.alignment.links import ordered
from interlace.alignment.phrases import must_fit, must_have_equal_rows
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged
from interlace.text.lines import write_lines
from interlace.text.types import WordTypes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from interlace.alignment import WordPairs

    _Counted = tuple[NDArray[np.int64], NDArray[np.float64]]  # keys and counts

_PENDING = 4_000_000  # entries of chunks that are held before they are summed up


@dataclass(frozen=True)
class Lexicon:
    """Pairs of word types that translate each other, and how often they were linked.

    source_types, target_types: the spelling of each type.
    entries: (m, 2) int32 (source type, target type), sorted, each once.
    counts: (m,) float64, links seen; 1 for an entry of a dictionary.
    source_unaligned, target_unaligned: for each type, how often a word of it stood without any link; None where nobody
        counted, which is as if it never did.
    """

    source_types: list[str]
    target_types: list[str]
    entries: NDArray[np.int32]
    counts: NDArray[np.float64]
    source_unaligned: NDArray[np.float64] | None = None
    target_unaligned: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, entry: int) -> tuple[str, str, float]:
        source, target = self.entries[entry].tolist()
        return self.source_types[source], self.target_types[target], float(self.counts[entry])

    # ---- where lexicons come from ----

    @classmethod
    def count(cls, pairs: WordPairs, links: Ragged) -> Lexicon:
        """The lexicon of a linked corpus, counted chunk by chunk; memory grows with its entries.

        links: n rows of (source word, target word); one that stands twice in its row counts once.

        Raises:
            DataError: the links do not stand between the words of these pairs; names the pair, from 1.
        """
        must_have_equal_rows(len(pairs.source), len(pairs.target), len(links))
        alone = (np.zeros(len(pairs.source_types)), np.zeros(len(pairs.target_types)))
        width, pending = len(pairs.target_types), 0
        parts: list[_Counted] = []
        for chunk in pairs.chunks():
            at = chunk.first - pairs.first
            part = links.slice(at, at + len(chunk))
            must_fit(chunk.source.lengths, chunk.target.lengths, part, at)
            part = ordered(part.rows(), part.flat, len(part))
            keys = _count_chunk(chunk, part, width, alone)
            parts.append(_summed([(keys, np.ones(len(keys)))]))
            pending += len(parts[-1][0])
            if pending > _PENDING:
                parts, pending = [_summed(parts)], 0
        keys, counts = _summed(parts)
        return cls(pairs.source_types, pairs.target_types, _split(keys, width), counts, *alone)

    @classmethod
    def of(cls, translations: Iterable[tuple[str, str, float]]) -> Lexicon:
        """From (source word, target word, count); types are numbered as they come, and repeats keep the most."""
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
        """From dictionaries in the format of MUSE, one translation a line: source, tab or blanks, target.

        A source word may stand in several lines. With tabs, words may hold blanks, and a third column is the count.

        Raises:
            DataError: a file is missing or empty, or a line is no translation; names file and line.
        """
        return cls.of(found for path in paths for found in read_translations(path))

    def write(self, path: Path | str, *, counts: bool = True) -> None:
        """One translation a line, tabs between source, target and, with `counts`, count; the frequent ones first.

        Without counts it is a dictionary in the format of MUSE. Words in order of their types; gzip by suffix.

        Raises:
            DataError: a word holds a tab or a line feed.
        """
        order = np.lexsort((self.entries[:, 1], -self.counts, self.entries[:, 0]))
        write_lines(path, (self._line(path, entry, counts=counts) for entry in order.tolist()))

    def _line(self, path: Path | str, entry: int, *, counts: bool) -> str:
        source, target, count = self[entry]
        if any(mark in word for word in (source, target) for mark in "\t\n"):
            raise DataError(f"{path}: the word {source if chr(9) in source else target!r} holds a tab or a line feed")
        return f"{source}\t{target}\t{count:.17g}" if counts else f"{source}\t{target}"

    # ---- probabilities ----

    @property
    def forward(self) -> NDArray[np.float64]:
        """(m,) the share of each entry in all that its source type was linked to, NULL included: w(t|s).

        Koehn, Och and Marcu (2003), section 3.3.
        """
        return self._share(0)

    @property
    def backward(self) -> NDArray[np.float64]:
        """(m,) the share of each entry in all that its target type was linked to, NULL included: w(s|t)."""
        return self._share(1)

    @property
    def null_forward(self) -> NDArray[np.float64]:
        """For each target type, its share in all target words without a link: w(t|NULL)."""
        return _shares(self.target_unaligned, len(self.target_types))

    @property
    def null_backward(self) -> NDArray[np.float64]:
        """For each source type, its share in all source words without a link: w(s|NULL)."""
        return _shares(self.source_unaligned, len(self.source_types))

    def _share(self, side: int) -> NDArray[np.float64]:
        """(m,) the share of each entry in all of its type of a side; 0 where nothing was counted."""
        totals = self._totals(side)[self.entries[:, side]]
        return np.divide(self.counts, totals, out=np.zeros(len(self)), where=totals > 0)

    def _totals(self, side: int) -> NDArray[np.float64]:
        types, alone = ((self.source_types, self.source_unaligned), (self.target_types, self.target_unaligned))[side]
        linked = _sums(self.entries[:, side], self.counts, len(types))
        linked += 0 if alone is None else alone
        return linked

    # ---- parts of a lexicon ----

    def at_least(self, minimum: float) -> Lexicon:
        """The entries with at least this count."""
        return self._only(self.counts >= minimum)

    def top(self, most: int) -> Lexicon:
        """The most frequent translations of each source type, at most so many.

        Of equally frequent ones those of the rarer target come first: there it is the greater share.
        """
        order = np.lexsort((-self.backward, -self.counts, self.entries[:, 0]))
        sources = self.entries[order, 0]
        kept = np.zeros(len(self), np.bool_)
        kept[order[np.arange(len(self)) - np.searchsorted(sources, sources) < most]] = True
        return self._only(kept)

    def mutual(self) -> Lexicon:
        """The entries that are the most frequent of both their source and their target type; equals all stay."""
        kept = np.ones(len(self), np.bool_)
        for side, types in enumerate((self.source_types, self.target_types)):
            most = np.zeros(len(types))
            np.maximum.at(most, self.entries[:, side], self.counts)
            kept &= self.counts == most[self.entries[:, side]]
        return self._only(kept)

    def words(self) -> Lexicon:
        """The entries with a letter on both sides: no numbers, no punctuation."""
        letters = [
            np.array([any(map(str.isalpha, word)) for word in types], np.bool_)
            for types in (self.source_types, self.target_types)
        ]
        return self._only(letters[0][self.entries[:, 0]] & letters[1][self.entries[:, 1]])

    def _only(self, kept: NDArray[np.bool_]) -> Lexicon:
        return replace(self, entries=self.entries[kept], counts=self.counts[kept])

    # ---- other numberings ----

    def reversed(self) -> Lexicon:
        """The lexicon with its sides exchanged."""
        order = np.lexsort((self.entries[:, 0], self.entries[:, 1]))
        entries = np.ascontiguousarray(self.entries[order, ::-1])
        alone = (self.target_unaligned, self.source_unaligned)
        return Lexicon(self.target_types, self.source_types, entries, self.counts[order], *alone)

    def between(self, source_types: Sequence[str], target_types: Sequence[str], *, fold: bool = False) -> Lexicon:
        """The same entries in another numbering; those with a word that is not in it are left out.

        fold: whether case is no difference. An entry then stands for all spellings of its words in the new numbering,
            each with its full count, and entries that become one are summed up.
        """
        sides = [
            _Places(own, new, str.lower if fold else str)
            for own, new in ((self.source_types, source_types), (self.target_types, target_types))
        ]
        groups = [side.groups.take(side.own[self.entries[:, number]]) for number, side in enumerate(sides)]
        entry = np.repeat(np.arange(len(self)), groups[0].lengths * groups[1].lengths)
        nth = np.arange(len(entry)) - np.searchsorted(entry, entry)
        source = groups[0].values[groups[0].offsets[entry] + nth // np.maximum(groups[1].lengths[entry], 1)]
        target = groups[1].values[groups[1].offsets[entry] + nth % np.maximum(groups[1].lengths[entry], 1)]
        keys, counts = _summed([(source * len(target_types) + target, self.counts[entry])])
        alone = [
            side.move(old) for side, old in zip(sides, (self.source_unaligned, self.target_unaligned), strict=True)
        ]
        entries = _split(keys, len(target_types))
        return Lexicon(list(source_types), list(target_types), entries, counts, alone[0], alone[1])


class _Places:
    """Where the types of one numbering stand in another.

    own: (types,) the group of each type of the old numbering. groups: the new types of each group.
    """

    def __init__(self, own: Sequence[str], new: Sequence[str], fold: Callable[[str], str]) -> None:
        keys = WordTypes(dict.fromkeys(fold(word) for word in new))
        self._new = keys.find([fold(word) for word in new])
        order = np.argsort(self._new, kind="stable")
        sizes = np.append(np.bincount(self._new, minlength=len(keys)), 0)  # the last group, -1, is that of unknowns
        self.groups = Ragged.from_lengths(order, sizes)
        self.own = keys.find([fold(word) for word in own]) % len(sizes)

    def move(self, counts: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
        """Counts of the old types as counts of the new ones."""
        return None if counts is None else _sums(self.own, counts, len(self.groups))[self._new]


def _count_chunk(
    chunk: WordPairs, links: Ragged, width: int, alone: tuple[NDArray[np.float64], NDArray[np.float64]]
) -> NDArray[np.int64]:
    """Of each link, source type x width + target type; words without any are added to `alone`."""
    types = []
    for side, words in enumerate((chunk.source, chunk.target)):
        at = links.flat[:, side] + np.repeat(words.offsets[:-1] - words.offsets[0], links.lengths)
        types.append(words.flat[at].astype(np.int64))
        linked = np.zeros(len(words.flat), np.bool_)
        linked[at] = True
        alone[side][:] += np.bincount(words.flat[~linked], minlength=len(alone[side]))
    keys: NDArray[np.int64] = types[0] * width + types[1]
    return keys


def _summed(parts: Sequence[_Counted]) -> _Counted:
    """Sorted distinct keys with the sums of their counts."""
    keys = np.concatenate([np.zeros(0, np.int64), *(part[0] for part in parts)])
    counts = np.concatenate([np.zeros(0), *(part[1] for part in parts)])
    distinct, places = np.unique(keys, return_inverse=True)
    return distinct, _sums(places, counts, len(distinct))


def _sums(places: NDArray[np.integer], counts: NDArray[np.float64], total: int) -> NDArray[np.float64]:
    """The sum of the counts of each place."""
    return np.bincount(places, counts, minlength=total).astype(np.float64, copy=False)


def _split(keys: NDArray[np.int64], width: int) -> NDArray[np.int32]:
    return np.stack(np.divmod(keys, max(width, 1)), axis=1).astype(np.int32)


def _shares(counts: NDArray[np.float64] | None, types: int) -> NDArray[np.float64]:
    return np.zeros(types) if counts is None else counts / max(counts.sum(), 1.0)
