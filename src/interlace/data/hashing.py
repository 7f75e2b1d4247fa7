"""Hashes of the words, lines and n-grams of text, modulo 2^64; the same on all machines.

Text is compared by words in NFKC and case-folded, so that quotes, widths, case, punctuation and spaces do not matter. A
word is a run of letters, digits and marks; a character of an unspaced script is a word by itself.

Shapes: N characters, T words, L lines, G n-grams.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from interlace.core.ragged import ranges
from interlace.text.scripts import is_unspaced
from interlace.text.word_tokenizers.common.characters import CharacterClasses

Hashes = NDArray[np.uint64]
Rows = NDArray[np.int64]

_END = "\0"  # ends a line in the joined text
_BETWEEN = 1  # what a character is: between words, part of a word, a word by itself
_LETTER = 2
_ALONE = 3
_BASE = np.uint64(0xD6E8FEB86659FD93)  # odd: multiplying by it loses nothing
_INVERSE = np.uint64(pow(int(_BASE), -1, 1 << 64))


@dataclass(frozen=True)
class HashedTokens:
    """The words of L lines: hashes (T,) uint64, and offsets (L + 1,), the first word of each line."""

    lines: Sequence[str]
    hashes: Hashes
    offsets: Rows

    @property
    def lengths(self) -> Rows:
        """(L,) words per line."""
        return np.diff(self.offsets)

    def line_hashes(self) -> Hashes:
        """(L,) a hash of each line's words in order."""
        return _hash_spans(self.hashes, self.offsets[:-1], self.offsets[1:])

    def ngrams(self, n: int) -> tuple[Hashes, Rows]:
        """(G,) a hash of every n-gram within a line, and (G,) its first word."""
        first_words = ranges(self.offsets[:-1], np.maximum(self.lengths - n + 1, 0))
        return _hash_spans(self.hashes, first_words, first_words + n), first_words

    def rows(self, words: Rows) -> Rows:
        """Return the line of each of these words, which are counted from 0 over all lines."""
        return np.searchsorted(self.offsets, words, side="right") - 1

    def ngram_text(self, n: int, number: int) -> str:
        """Return the words of an n-gram, which is counted from 0 over all lines."""
        _, first_words = self.ngrams(n)
        row = int(self.rows(first_words[number]))
        first = int(first_words[number] - self.offsets[row])
        return " ".join(tokens_of(self.lines[row])[first : first + n])


def hash_tokens(lines: Sequence[str]) -> HashedTokens:
    """Return hashes of the words of each line."""
    text = "".join(f"{line.replace(_END, ' ')}{_END}" for line in lines)
    points = np.frombuffer(_folded(text).encode("utf-32-le", "surrogatepass"), "<u4")  # (N,)
    kinds = _CLASSES.of(points)  # (N,)
    continues = np.zeros(len(points) + 1, np.bool_)  # whether a character is of the word before it
    continues[1:-1] = (kinds[1:] == _LETTER) & (kinds[:-1] == _LETTER)
    is_word = kinds != _BETWEEN
    starts = np.flatnonzero(is_word & ~continues[:-1])  # (T,)
    ends = np.flatnonzero(is_word & ~continues[1:]) + 1
    line_ends = np.flatnonzero(points == ord(_END))
    offsets = np.append(0, np.searchsorted(starts, line_ends))
    return HashedTokens(lines, _hash_spans(points, starts, ends), offsets)


def tokens_of(line: str) -> list[str]:
    """Return the words of one line as they are compared, for display."""
    words: list[str] = []
    previous_kind = _BETWEEN
    for character in _folded(line):
        kind = _class_of(character)
        if kind == _LETTER == previous_kind:
            words[-1] += character
        elif kind != _BETWEEN:
            words.append(character)
        previous_kind = kind
    return words


def _folded(text: str) -> str:
    text = text.casefold()
    if text.isascii() or unicodedata.is_normalized("NFKC", text):
        return text
    return unicodedata.normalize("NFKC", text).casefold()


def _class_of(character: str) -> int:
    if not (character.isalnum() or unicodedata.category(character)[0] == "M"):
        return _BETWEEN
    return _ALONE if is_unspaced(character) else _LETTER


_CLASSES = CharacterClasses(_class_of)


def _hash_spans(values: NDArray[Any], starts: Rows, ends: Rows) -> Hashes:
    """Return the hash of the values of each span, in order (Rabin and Karp 1987).

    The value of a, b, c is a + b B + c B^2. With the sums of all values times B^position, that of a span is the
    difference of two sums divided by B^start.
    """
    powers = np.ones(len(values) + 1, np.uint64)
    np.multiply.accumulate(np.full(len(values), _BASE), out=powers[1:])
    inverse_powers = np.ones(len(values) + 1, np.uint64)
    np.multiply.accumulate(np.full(len(values), _INVERSE), out=inverse_powers[1:])
    sums = np.zeros(len(values) + 1, np.uint64)
    np.cumsum(_scrambled(values.astype(np.uint64)) * powers[:-1], out=sums[1:])
    return _scrambled((sums[ends] - sums[starts]) * inverse_powers[starts])


def _scrambled(values: Hashes) -> Hashes:
    """Return the last steps of SplitMix64 (Steele, Lea & Flood 2014): each result bit depends on all input bits."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
