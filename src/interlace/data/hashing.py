"""Hashes of lines and of n-grams of their words, modulo 2^64; the same on all machines.

Text is compared by words in NFKC and case-folded, so that quotes, widths, case, punctuation and spaces do not matter. A
word is a run of letters, digits and marks; a character of an unspaced script is a word by itself.

Shapes: N characters, T words, L lines, G n-grams.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from interlace.core.ragged import AnyArray, IntArray, ranges
from interlace.text.characters import CharacterClasses, points_of
from interlace.text.scripts import is_unspaced

Hashes = NDArray[np.uint64]
Rows = IntArray

_END = "\0"  # ends a line in the joined text
_BETWEEN = 1  # what a character is: between words, part of a word, a word by itself
_LETTER = 2
_ALONE = 3
_BASE = np.uint64(0xD6E8FEB86659FD93)  # odd: multiplying by it loses nothing
_INVERSE = np.uint64(pow(int(_BASE), -1, 1 << 64))


@dataclass(frozen=True)
class HashedLines:
    """The words of L lines: hashes (T,) uint64, and offsets (L + 1,), the first word of each line."""

    words: Hashes
    offsets: Rows

    @property
    def lengths(self) -> Rows:
        """(L,) words per line."""
        return np.diff(self.offsets)

    def whole(self) -> Hashes:
        """(L,) a hash of each line's words in order."""
        return _hash_spans(self.words, self.offsets[:-1], self.offsets[1:])

    def ngrams(self, n: int) -> tuple[Hashes, Rows]:
        """(G,) a hash of every n-gram within a line, and (G,) its line."""
        counts = np.maximum(self.lengths - n + 1, 0)
        first_words = ranges(self.offsets[:-1], counts)
        hashes = _hash_spans(self.words, first_words, first_words + n)
        lines = np.repeat(np.arange(len(counts)), counts)
        return hashes, lines


def hash_lines(lines: Sequence[str]) -> HashedLines:
    """Return hashes of the words of each line.

    Of `Ab, c`, which is compared as `ab, c`, the characters 0 and 1 are a word, and so is 4: starts 0, 4 and ends 2, 5.
    """
    text = "".join(f"{line.replace(_END, ' ')}{_END}" for line in lines)
    normalized = unicodedata.normalize("NFKC", text.casefold())
    points = points_of(normalized.casefold())  # (N,)
    kinds = _CLASSES.of(points)  # (N,)
    is_letter = kinds == _LETTER
    # whether a character is of the word before it
    continues = np.zeros(len(points) + 1, np.bool_)
    continues[1:-1] = is_letter[1:] & is_letter[:-1]
    is_word = kinds != _BETWEEN
    begins = is_word & ~continues[:-1]
    stops = is_word & ~continues[1:]
    starts = np.flatnonzero(begins)  # (T,)
    ends = np.flatnonzero(stops) + 1
    line_ends = np.flatnonzero(points == ord(_END))
    words_before = np.searchsorted(starts, line_ends)
    words = _hash_spans(points, starts, ends)
    return HashedLines(words, np.append(0, words_before))


def _class_of(character: str) -> int:
    if not (character.isalnum() or unicodedata.category(character)[0] == "M"):
        return _BETWEEN
    return _ALONE if is_unspaced(character) else _LETTER


_CLASSES = CharacterClasses(_class_of)


def _hash_spans(values: AnyArray, starts: Rows, ends: Rows) -> Hashes:
    """Return the hash of the values of each span, in order (Rabin and Karp 1987).

    The value of a, b, c is a + b B + c B^2. With the sums of all values times B^position, that of a span is the
    difference of two sums divided by B^start.
    """
    powers = _powers(_BASE, len(values))
    inverse_powers = _powers(_INVERSE, len(values))
    terms = _scrambled(values.astype(np.uint64)) * powers[:-1]
    sums = np.zeros(len(values) + 1, np.uint64)
    np.cumsum(terms, out=sums[1:])
    differences = sums[ends] - sums[starts]
    quotients = differences * inverse_powers[starts]
    return _scrambled(quotients)


def _powers(base: np.uint64, count: int) -> Hashes:
    """(count + 1,) powers from 0."""
    powers = np.full(count + 1, base)
    powers[0] = 1
    return np.multiply.accumulate(powers)


def _scrambled(values: Hashes) -> Hashes:
    """Return the last steps of SplitMix64 (Steele, Lea & Flood 2014): each result bit depends on all input bits."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
