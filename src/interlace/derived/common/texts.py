"""Derived texts with their alignments, which can be composed, and followed to the words of other tokenizers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged, ranges
from interlace.derived.common.arrays import Ints
from interlace.text import Text

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True)
class DerivedText:
    """Text of a derived language, in which each word of the original has one counterpart in the same line.

    text: as many lines as the original, in its order, with tags and labels; its language is the original's.
    places: (W,) for each word of the original, the number of its counterpart in the derived line.
    """

    text: Text
    places: Ints

    @property
    def links(self) -> Ragged:
        """A row per line of (word of the original, word of the derived line), sorted, shape (W, 2) int32."""
        words = self.text.words
        links = np.stack([words.columns(), self.places], axis=1)
        return Ragged.from_lengths(links.astype(np.int32), words.lengths)


def unchanged(text: Text) -> DerivedText:
    """Return the text with each word as its own counterpart."""
    return DerivedText(text, text.words.columns())


def followed_by(derived: DerivedText, changed: DerivedText, name: str) -> DerivedText:
    """Return `changed`, which the transformation `name` made of the derived text, aligned with the original.

    Raise a DataError unless it gives each word one counterpart in its line.
    """
    words = derived.text.words
    line_starts = np.repeat(words.offsets[:-1] - words.offsets[0], words.lengths)
    has_words = np.array_equal(changed.text.words.lengths, words.lengths)
    if not has_words or not _is_permutation(changed.places, line_starts):
        raise DataError(
            f"the transformation {name!r} must give each word exactly one counterpart in its line"
        )
    return replace(changed, places=changed.places[derived.places + line_starts])


def _is_permutation(places: Ints, line_starts: Ints) -> bool:
    """Whether the words at these places of their lines are all words."""
    if len(places) != len(line_starts):
        return False
    return np.array_equal(np.sort(places + line_starts), np.arange(len(places)))


# ---- words of other tokenizers ----


def links_between(
    words: Ragged,
    original: Ragged,
    derived: DerivedText,
    derived_words: Ragged,
) -> Ragged:
    """Return the alignment of other tokenizations of the original and the derived lines.

    Words are linked if a word of the original that shares a character with the one has a counterpart that shares one
    with the other.

    words: spans in the original lines. original: the words that were transformed. derived_words: spans in the derived
    lines.
    """
    line_starts = np.repeat(original.offsets[:-1] - original.offsets[0], original.lengths)
    counterparts = _overlaps(derived.text.words, derived_words)[derived.places + line_starts]
    linked = _overlaps(words, original) @ counterparts  # (words, derived words) over all lines
    linked.sort_indices()
    linked_words, targets = linked.nonzero()
    sources = words.columns()[linked_words]
    links = np.stack([sources, derived_words.columns()[targets]], axis=1).astype(np.int32)
    lines = words.rows()[linked_words]
    return Ragged.from_lengths(links, np.bincount(lines, minlength=len(words)))


def _overlaps(words: Ragged, other_words: Ragged) -> csr_array:
    """(words, other words) which share a character, over all lines; spans are in order and disjoint."""
    from scipy.sparse import csr_array

    width = 1 + max(words.flat.max(initial=0), other_words.flat.max(initial=0))
    begins, ends = _positions(words, width)
    other_begins, other_ends = _positions(other_words, width)
    starts = np.searchsorted(other_ends, begins, "right")  # the next other word that ends later
    counts = np.maximum(np.searchsorted(other_begins, ends, "left") - starts, 0)
    columns = ranges(starts, counts)
    offsets = np.append(0, np.cumsum(counts))
    shape = (len(begins), len(other_begins))
    return csr_array((np.ones(len(columns), np.bool_), columns, offsets), shape)


def _positions(words: Ragged, width: int) -> Ints:
    """(2, W) begin and end of each word, counted over all lines as if each had `width` characters."""
    line_starts = words.rows() * width
    return (words.flat.astype(np.int64) + line_starts[:, None]).T
