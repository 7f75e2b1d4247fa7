"""Small linked text for tests of aligners."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from interlace.alignment import WordPairs
from interlace.core.ragged import Ragged
from interlace.text import TextPairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.aligners import Alignments

HOUSE = [
    ("das haus", "the house"),
    ("das buch", "the book"),
    ("ein buch", "a book"),
    ("ein haus", "a house"),
    ("das kleine haus", "the small house"),
]


def word_pairs(
    source: list[str], target: list[str], languages: tuple[str, str] = ("en", "de")
) -> WordPairs:
    """WordPairs of source and target lines of words between blanks."""
    return WordPairs.of([TextPairs.of(source, target, languages)])


def pairs_of(lines: Sequence[tuple[str, str]]) -> WordPairs:
    """WordPairs of (source, target) lines of words between blanks."""
    return WordPairs.of(
        [TextPairs.of([source for source, _ in lines], [target for _, target in lines])]
    )


def random_pairs(count: int, seed: int = 0, types: int = 30, longest: int = 9) -> WordPairs:
    """A language of numbered words and its translation, some words dropped, some moved."""
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(count):
        words = rng.integers(0, types, rng.integers(1, longest)).tolist()
        other = [word for word in words if rng.random() > 0.2] or words[:1]
        if len(other) > 2 and rng.random() < 0.3:
            other[0], other[1] = other[1], other[0]
        lines.append(
            (" ".join(f"s{word}" for word in words), " ".join(f"t{word}" for word in other))
        )
    return pairs_of(lines)


def linked_houses() -> tuple[WordPairs, Ragged]:
    """the house = das Haus; the small house = das kleine; house ! = Haus (the mark is not linked)."""
    pairs = word_pairs(
        ["the house", "the small house", "house !"], ["das Haus", "das kleine", "Haus"]
    )
    return pairs, Ragged.of([[(0, 0), (1, 1)], [(0, 0), (1, 1)], [(0, 0)]], width=2)


def check_alignments(aligned: Alignments, pairs: WordPairs) -> None:
    """Assert the contract of `Alignments`: links of every line and within it, sorted, each once with a confidence."""
    links, confidence = aligned.links, aligned.confidence
    assert len(aligned) == len(links) == len(pairs)
    assert (links.offsets[0], links.offsets[-1]) == (0, len(links.values))
    assert (links.values.dtype, confidence.dtype) == (np.dtype(np.int32), np.dtype(np.float32))
    assert (links.values.shape, confidence.shape) == (
        (len(links.values), 2),
        (len(links.values),),
    )
    assert (confidence > 0).all()
    assert (confidence <= 1).all()
    assert (links.values >= 0).all()
    assert (links.values[:, 0] < np.repeat(pairs.source.lengths, links.lengths)).all()
    assert (links.values[:, 1] < np.repeat(pairs.target.lengths, links.lengths)).all()
    places = np.column_stack([links.rows(), links.values])
    np.testing.assert_array_equal(np.unique(places, axis=0), places)
