"""What aligners read: usable pairs, word types as a model numbers them, and lexicon priors."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
from pydantic import Field

from interlace.alignment import WordPairs
from interlace.core.errors import DataError
from interlace.core.ragged import DoubleArray, Int32Array, IntArray, IntegerArray, Ragged
from interlace.text.types import WordTypes

if TYPE_CHECKING:
    from interlace.alignment.lexicon import Lexicon

log = logging.getLogger(__name__)

# a field of several aligners
Threads = Annotated[
    int, Field(ge=0, description="Threads; 0: one per processor. Results do not depend on it.")
]
UNKNOWN = -1
MAX_CELLS = 1 << 22  # source words x target words of a training pair; 2,048 words on both sides
MAX_PRIOR = 4e9  # links of a prior: aligners count in 64-bit integers, in units of 2**-30 links
_PENDING = -2  # not looked up yet


def check_usable(pairs: WordPairs, name: str) -> None:
    """Log how many pairs lack words on a side, for the aligner `name`; raise a DataError if all of them do."""
    usable = int(((pairs.source.lengths > 0) & (pairs.target.lengths > 0)).sum())
    if not usable:
        raise DataError(
            f"{name}: none of the {len(pairs)} pairs has words on both sides; nothing to align"
        )
    if usable < len(pairs):
        message = "%s: %d of %d pairs lack words on a side and get no links"
        log.warning(message, name, len(pairs) - usable, len(pairs))


def check_trainable(pairs: WordPairs, name: str) -> None:
    """Log how many pairs get no links; raise a DataError if all of them do."""
    check_usable(pairs, name)
    if not cells_of(pairs).any():
        raise DataError(
            f"{name}: all pairs with words on both sides are too long: pairs of more than {MAX_CELLS:,} source words "
            "times target words are not used; split into sentences"
        )
    warn_about_long(pairs, name)


def cells_of(pairs: WordPairs) -> IntArray:
    """(n,) source words times target words of each pair; 0 for pairs that are too long."""
    cells = pairs.source.lengths * pairs.target.lengths
    return np.where(cells <= MAX_CELLS, cells, 0)


def warn_about_long(pairs: WordPairs, name: str) -> None:
    """Log how many pairs are too long for the aligner `name`."""
    too_long = int((pairs.source.lengths * pairs.target.lengths > MAX_CELLS).sum())
    if too_long:
        message = "%s: %d of %d pairs have more than %d source words times target words and get no links"
        log.warning(message, name, too_long, len(pairs), MAX_CELLS)


def without_unusable_text(pairs: WordPairs) -> WordPairs:
    """Return the same pairs, with empty sides for pairs that get no links: too long, or without words on a side."""
    usable = cells_of(pairs) > 0
    if usable.all():
        return pairs
    sides = []
    for rows in (pairs.source, pairs.target):
        values = rows.flat[np.repeat(usable, rows.lengths)]
        sides.append(Ragged.from_lengths(values, np.where(usable, rows.lengths, 0)))
    return replace(pairs, source=sides[0], target=sides[1])


class Vocabulary(WordTypes):
    """The word types of one side in lower case, in the order of their first occurrence."""

    def add(self, spellings: Iterable[str]) -> Int32Array:
        """(n,) the number of each spelling; new ones are added."""
        return super().add(map(str.lower, spellings))

    def find(self, spellings: Iterable[str]) -> Int32Array:
        """(n,) the number of each spelling, UNKNOWN if it has none."""
        return super().find(map(str.lower, spellings))


class Renumbering:
    """A mapping from the word types of a text to those of a vocabulary; types are looked up when they occur."""

    def __init__(self, spellings: Sequence[str], vocabulary: Vocabulary) -> None:
        self._spellings = spellings
        self._vocabulary = vocabulary
        self._numbers = np.full(len(spellings), _PENDING, np.int32)

    def __call__(self, rows: Ragged, *, grow: bool = False) -> Ragged:
        """Return rows in the vocabulary's numbers, with offsets from 0. grow: add new types to the vocabulary."""
        return Ragged(self.of(np.asarray(rows.flat), grow=grow), rows.offsets - rows.offsets[0])

    def of(self, types: IntegerArray, *, grow: bool = False) -> Int32Array:
        """(n,) the vocabulary's number of each type of the text, UNKNOWN if it has none."""
        if (self._numbers[types] == _PENDING).any():
            occurs = np.zeros(len(self._numbers), bool)
            occurs[types] = True
            new = np.flatnonzero(occurs & (self._numbers == _PENDING))
            look_up = self._vocabulary.add if grow else self._vocabulary.find
            self._numbers[new] = look_up([self._spellings[number] for number in new.tolist()])
        return self._numbers[types]


class Vocabularies(NamedTuple):
    """The word types of both sides of a model."""

    source: Vocabulary
    target: Vocabulary

    @classmethod
    def of(
        cls, source: Sequence[str] = (), target: Sequence[str] = (), name: str = ""
    ) -> Vocabularies:
        """Number lower-cased spellings; raise a DataError, with the aligner's name, if a list holds a word twice."""
        vocabularies = cls(Vocabulary(source), Vocabulary(target))
        repeated = (
            len(source) - len(vocabularies.source),
            len(target) - len(vocabularies.target),
        )
        for side, count in zip(cls._fields, repeated, strict=True):
            if count:
                raise DataError(f"{name}: damaged model: {count} duplicate {side} words")
        return vocabularies

    @property
    def types(self) -> tuple[list[str], list[str]]:
        """The lower-cased spellings of both sides."""
        return self.source.spellings, self.target.spellings

    def renumber(self, pairs: WordPairs) -> tuple[Renumbering, Renumbering]:
        """Return how the types of a text are numbered here."""
        source = Renumbering(pairs.source_types, self.source)
        target = Renumbering(pairs.target_types, self.target)
        return source, target


@dataclass(frozen=True)
class Prior:
    """Pseudo-counts of links that an aligner starts with.

    entries: (m, 2) int32 types of a model's vocabularies, without duplicates. counts: (m,) links.
    """

    entries: Int32Array
    counts: DoubleArray

    @classmethod
    def of(cls, lexicon: Lexicon | None, vocabularies: Vocabularies) -> Prior:
        """Convert a lexicon to the numbers of vocabularies, which grow by its types.

        Entries that differ in case only are added. A DataError names an entry with an invalid count.
        """
        if lexicon is None or not len(lexicon):
            return cls(np.zeros((0, 2), np.int32), np.zeros(0))
        invalid = ~(np.isfinite(lexicon.counts) & (lexicon.counts >= 0))
        if invalid.any():
            source, target, count = lexicon[int(invalid.argmax())]
            raise DataError(
                f"priors: {source!r} - {target!r} has the count {count}; expected a number of at least 0"
            )
        total = lexicon.counts.sum()
        if total > MAX_PRIOR:
            raise DataError(
                f"priors: {total:g} links; expected at most {MAX_PRIOR:g}; divide all counts by a number"
            )
        source_types, target_types = lexicon.entries.astype(np.int64).T
        source_numbers = Renumbering(lexicon.source_types, vocabularies.source)
        target_numbers = Renumbering(lexicon.target_types, vocabularies.target)
        columns = [
            source_numbers.of(source_types, grow=True),
            target_numbers.of(target_types, grow=True),
        ]
        pairs = np.stack(columns, axis=1)
        entries, numbers = np.unique(pairs, axis=0, return_inverse=True)
        sums = np.bincount(numbers.reshape(-1), lexicon.counts, len(entries))
        counts = sums.astype(np.float64)
        return cls(entries, counts)
