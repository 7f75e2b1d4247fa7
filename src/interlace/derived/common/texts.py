"""Derived texts with their alignments, which can be composed, and followed to the words of other tokenizers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from interlace.core.errors import DataError
from interlace.core.ragged import Ragged, ranges
from interlace.derived.common.arrays import Ints
from interlace.text import Text


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


def first_words(words: Ragged) -> Ints:
    """(W,) the number of the first word of each word's line, over all lines."""
    return np.arange(len(words.flat)) - words.columns()


def unchanged(text: Text) -> DerivedText:
    """Return the text with each word as its own counterpart."""
    return DerivedText(text, text.words.columns())


def followed_by(derived: DerivedText, changed: DerivedText, name: str) -> DerivedText:
    """Return `changed`, which the transformation `name` made of the derived text, aligned with the original.

    Raise a DataError unless it gives each word one counterpart in its line.
    """
    words = derived.text.words
    line_starts = first_words(words)
    has_words = np.array_equal(changed.text.words.lengths, words.lengths)
    if not has_words or not _is_permutation(changed.places, line_starts):
        raise DataError(
            f"the transformation {name!r} must give each word exactly one counterpart in its line"
        )
    # from a word of the original to its place in the line of `derived`, and on to that of `changed`
    places = changed.places[derived.places + line_starts]
    return replace(changed, places=places)


def _is_permutation(places: Ints, starts: Ints) -> bool:
    """Whether the words at these places of their lines are all words; starts: as from `first_words`."""
    if len(places) != len(starts) or places.min(initial=0) < 0:
        return False
    positions = np.sort(places + starts)
    return np.array_equal(positions, np.arange(len(starts)))


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
    counterparts = derived.places + first_words(original)
    original_starts, original_counts = _overlaps(words, original)
    derived_starts, derived_counts = _overlaps(derived.text.words, derived_words)
    shared = counterparts[ranges(original_starts, original_counts)]
    shared_counts = derived_counts[shared]
    word_numbers = np.repeat(np.arange(len(original_counts)), original_counts)
    derived_numbers = ranges(derived_starts[shared], shared_counts)
    size = max(len(derived_words.flat), 1)
    keys = np.unique(np.repeat(word_numbers, shared_counts) * size + derived_numbers)
    linked_words, linked_derived_words = np.divmod(keys, size)  # over all lines
    sources = words.columns()[linked_words]
    targets = derived_words.columns()[linked_derived_words]
    links = np.stack([sources, targets], axis=1)
    lines = words.rows()[linked_words]
    counts = np.bincount(lines, minlength=len(words))
    return Ragged.from_lengths(links.astype(np.int32), counts)


def _overlaps(words: Ragged, other_words: Ragged) -> tuple[Ints, Ints]:
    """(words,) the first other word that shares a character, over all lines, and how many do; spans are disjoint."""
    width = 1 + max(words.flat.max(initial=0), other_words.flat.max(initial=0))
    begins, ends = _positions(words, width)
    other_begins, other_ends = _positions(other_words, width)
    starts = np.searchsorted(other_ends, begins, "right")  # the next other word that ends later
    counts = np.maximum(np.searchsorted(other_begins, ends, "left") - starts, 0)
    return starts, counts


def _positions(words: Ragged, width: int) -> Ints:
    """(2, W) begin and end of each word, counted over all lines as if each had `width` characters."""
    starts = words.rows() * width
    return words.flat.T + starts
