"""Derived texts and pairs with their alignments, which can be checked and composed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from interlace.alignment.links import reverse_links, sorted_links
from interlace.core.errors import DataError
from interlace.core.ragged import Ragged, ranges
from interlace.text import Text, TextPairs


@dataclass(frozen=True)
class DerivedText:
    """Text of a derived language.

    text: as many lines as the original, in its order, with tags and labels; its language is the original's.
    links: a row per line of (word of the original, word of the derived line), sorted, shape (total, 2) int32.
    """

    text: Text
    links: Ragged


@dataclass(frozen=True)
class DerivedPairs:
    """Pairs with both sides transformed; source, target: links from the words of each side to the derived ones."""

    pairs: TextPairs
    source: Ragged
    target: Ragged


# ---- links ----


def unchanged(text: Text) -> DerivedText:
    """Return the text with each word linked to itself."""
    offsets = text.words.offsets - text.words.offsets[0]
    columns = text.words.columns().astype(np.int32)
    return DerivedText(text, Ragged(np.stack([columns, columns], axis=1), offsets))


def checked(derived: DerivedText, text: Text, name: str) -> DerivedText:
    """Return the derived text; raise a DataError unless each word has one counterpart, in order."""
    links = derived.links
    lengths = text.words.lengths
    is_one_to_one = np.array_equal(links.lengths, lengths)
    is_one_to_one &= np.array_equal(derived.text.words.lengths, lengths)
    is_one_to_one &= np.array_equal(links.flat[:, 0], links.columns())
    if is_one_to_one:
        line_starts = np.repeat(links.offsets[:-1] - links.offsets[0], lengths)
        targets = np.sort(links.flat[:, 1] + line_starts)  # (W,) over all lines
        is_one_to_one = np.array_equal(targets, np.arange(len(targets)))
    if not is_one_to_one:
        raise DataError(
            f"the transformation {name!r} must give each word exactly one counterpart, in order of the words"
        )
    return derived


def followed_by(links: Ragged, next_links: Ragged) -> Ragged:
    """Compose links that give each word one counterpart, in order.

    >>> reverse = Ragged.of([[(0, 2), (1, 1), (2, 0)]], width=2)
    >>> followed_by(reverse, Ragged.of([[(0, 1), (1, 2), (2, 0)]], width=2)).to_lists()
    [[[0, 0], [1, 2], [2, 1]]]
    """
    line_starts = np.repeat(
        next_links.offsets[:-1] - next_links.offsets[0], next_links.lengths
    )  # (W,)
    targets = next_links.flat[links.flat[:, 1] + line_starts, 1]
    return Ragged(np.stack([links.flat[:, 0], targets], axis=1), links.offsets - links.offsets[0])


def composed(links_in: Ragged, links_out: Ragged) -> Ragged:
    """Compose links: i-k for each i-j of `links_in` and j-k of `links_out`; both sorted, as is the result.

    >>> links_in = Ragged.of([[(0, 0), (0, 1), (1, 2)]], width=2)
    >>> composed(links_in, Ragged.of([[(1, 3), (2, 0), (2, 1)]], width=2)).to_lists()
    [[[0, 3], [1, 0], [1, 1]]]
    """
    rows = links_in.rows()
    width = 1 + max(
        int(links_in.flat[:, 1].max(initial=0)), int(links_out.flat[:, 0].max(initial=0))
    )
    middle_words = rows * width + links_in.flat[:, 1]  # (links in,) numbered over all lines
    second_words = links_out.rows() * width + links_out.flat[:, 0]  # (links out,) sorted
    starts = np.searchsorted(second_words, middle_words, "left")
    counts = np.searchsorted(second_words, middle_words, "right") - starts
    sources = np.repeat(links_in.flat[:, 0], counts)
    targets = links_out.flat[ranges(starts, counts), 1]
    links = np.stack([sources, targets], axis=1).astype(np.int32)
    return sorted_links(np.repeat(rows, counts), links, len(links_in))


def overlaps(words: Ragged, other_words: Ragged) -> Ragged:
    """Link two tokenizations of the same lines, (i, j) where words share a character; spans in order and disjoint.

    >>> overlaps(Ragged.of([[(0, 3), (4, 6)]], width=2), Ragged.of([[(0, 1), (1, 3), (4, 6)]], width=2)).to_lists()
    [[[0, 0], [0, 1], [1, 2]]]
    """
    width = 1 + max(
        int(words.flat[:, 1].max(initial=0)), int(other_words.flat[:, 1].max(initial=0))
    )
    begins, ends = _positions(words, width)
    other_begins, other_ends = _positions(other_words, width)
    first = np.searchsorted(
        other_ends, begins, "right"
    )  # (words,) the first other word that ends behind the begin
    counts = np.maximum(np.searchsorted(other_begins, ends, "left") - first, 0)
    rows = np.repeat(words.rows(), counts)
    line_starts = (other_words.offsets[:-1] - other_words.offsets[0])[rows]
    targets = ranges(first, counts) - line_starts
    links = np.stack([np.repeat(words.columns(), counts), targets], axis=1).astype(np.int32)
    return Ragged.from_lengths(links, np.bincount(rows, minlength=len(words)))


def _positions(words: Ragged, width: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """(2, W) begin and end of each word, counted over all lines as if each had `width` characters."""
    line_starts = words.rows() * width
    return (words.flat.astype(np.int64) + line_starts[:, None]).T


# ---- pairs ----


def derived_pairs(pairs: TextPairs, apply: Callable[[Text], DerivedText]) -> DerivedPairs:
    """Transform both sides of pairs; labels stay, links follow their words."""
    source = apply(pairs.source)
    target = apply(pairs.target)
    derived = replace(pairs, source=source.text, target=target.text)
    if pairs.links is not None:
        links = composed(composed(reverse_links(source.links), pairs.links), target.links)
        derived = replace(derived, links=links)
    return DerivedPairs(derived, source.links, target.links)
