"""Entities from rows of IOB2 tags, and how those of two taggings agree (conlleval; seqeval computes the same).

Tag 0 is O; of type k, 2k + 1 is B and 2k + 2 is I. Any row is read, the way conlleval reads it: an I that goes on with
no entity of its type begins one. What is no tag (-1) is outside.

Legend: W words of all rows, E entities, K types.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from interlace.core.ragged import Ragged


@dataclass(frozen=True)
class Entities:
    """Spans of words, counted over all rows.

    starts, stops, types: (E,) half-open spans and the number of the type, in order.
    opened: (E,) whether it begins with an I.
    """

    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    types: NDArray[np.int64]
    opened: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.starts)


@dataclass(frozen=True)
class Found:
    """How many entities are right, found, and there to be found; one number a type, or of all together."""

    right: int
    found: int
    gold: int

    @property
    def precision(self) -> float:
        """Percent of those found that are right; 0 where none is found."""
        return 100 * self.right / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """Percent of those there that are found; 0 where none is there."""
        return 100 * self.right / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of both, in percent; 0 where nothing is right."""
        return 200 * self.right / (self.found + self.gold) if self.right else 0.0


def tag_numbers(types: Sequence[str]) -> dict[str, int]:
    """The number of every tag of these types.

    >>> tag_numbers(["PER"])
    {'O': 0, 'B-PER': 1, 'I-PER': 2}
    """
    tags = ["O", *(f"{part}-{kind}" for kind in types for part in "BI")]
    return {tag: number for number, tag in enumerate(tags)}


def entities(tags: Ragged) -> Entities:
    """The entities of rows of tags."""
    flat = np.maximum(np.asarray(tags.flat, np.int64), 0)
    types = (flat - 1) // 2  # -1 outside
    goes_on = np.zeros(len(flat), np.bool_)  # an I behind a word of its type, in the same row
    goes_on[1:] = (flat[1:] % 2 == 0) & (types[1:] >= 0) & (types[1:] == types[:-1]) & (np.diff(tags.rows()) == 0)
    starts = np.flatnonzero((types >= 0) & ~goes_on)
    last = types >= 0
    last[:-1] &= ~goes_on[1:]
    return Entities(starts, np.flatnonzero(last) + 1, types[starts], flat[starts] % 2 == 0)


def compare(found: Entities, gold: Entities, kinds: int) -> tuple[Found, list[Found]]:
    """How entities agree: over all types together, and for each type. Right is the same span of the same type."""
    right = _agree(found, gold)
    counts = [np.bincount(types, minlength=kinds) for types in (found.types[right], found.types, gold.types)]
    by_type = [Found(*(int(count[kind]) for count in counts)) for kind in range(kinds)]
    return Found(int(right.sum()), len(found), len(gold)), by_type


def by_row(
    found: Entities, gold: Entities, rows: NDArray[np.int64], count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Twice the entities that are right, and those found and there together, of each row; F1 is the first by the other.

    rows: (W,) the row of each word; count: how many rows.
    """
    right, every, there = (
        np.bincount(rows[starts], minlength=count).astype(np.float64)
        for starts in (found.starts[_agree(found, gold)], found.starts, gold.starts)
    )
    return 2 * right, every + there


def _agree(found: Entities, gold: Entities) -> NDArray[np.bool_]:
    """(E,) which of those found are there: the same span of the same type."""
    width = 1 + max(found.stops.max(initial=0), gold.stops.max(initial=0))
    kinds = 1 + max(found.types.max(initial=0), gold.types.max(initial=0))
    keys = [(side.starts * width + side.stops) * kinds + side.types for side in (found, gold)]
    return np.isin(*keys)
