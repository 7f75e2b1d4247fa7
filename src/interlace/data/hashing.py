"""Hashes of the words, lines and n-grams of text, computed by compiled loops modulo 2^64; the same on all machines.

Text is compared by words in NFKC and case-folded, so that quotes, widths, case, punctuation and spaces do not matter. A
word is a run of letters, digits and marks; a character of an unspaced script is a word by itself.

Shapes: N characters, T words, L lines, G n-grams.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from interlace.text.scripts import is_unspaced
from interlace.text.word_tokenizers.common.characters import CharacterClasses

Hashes = NDArray[np.uint64]
Rows = NDArray[np.int64]

_END = "\0"  # ends a line in the joined text
_BETWEEN, _LETTER, _ALONE = 1, 2, 3  # what a character is: between words, part of a word, a word by itself
_BASE = np.uint64(0xD6E8FEB86659FD93)  # odd: multiplying by it loses nothing
_ONE = np.uint64(1)


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
        """(L,) a hash of each line's words in order; 0 for lines without words."""
        found = np.zeros(len(self.lines), np.uint64)
        _hash_lines(self.hashes, self.offsets, found)
        return found

    def ngrams(self, n: int) -> tuple[Hashes, Rows]:
        """(G,) a hash of every n-gram within a line, and (G,) its first word."""
        found, starts = np.empty(len(self.hashes), np.uint64), np.empty(len(self.hashes), np.int64)
        count = _hash_ngrams(self.hashes, self.offsets, n, found, starts)
        return found[:count], starts[:count]

    def rows(self, words: Rows) -> Rows:
        """Return the line of each of these words, which are counted from 0 over all lines."""
        return np.searchsorted(self.offsets, words, side="right") - 1

    def ngram_text(self, n: int, number: int) -> str:
        """Return the words of an n-gram, which is counted from 0 over all lines."""
        start = self.ngrams(n)[1][number]
        row = int(self.rows(start))
        first = int(start - self.offsets[row])
        return " ".join(tokens_of(self.lines[row])[first : first + n])


def hash_tokens(lines: Sequence[str]) -> HashedTokens:
    """Return hashes of the words of each line."""
    text = "".join(f"{line.replace(_END, ' ')}{_END}" for line in lines)
    points = np.frombuffer(_folded(text).encode("utf-32-le", "surrogatepass"), "<u4")  # (N,)
    hashes, offsets = np.empty(len(points), np.uint64), np.zeros(len(lines) + 1, np.int64)
    words = _hash_words(points, _CLASSES.of(points), hashes, offsets)
    return HashedTokens(lines, hashes[:words].copy(), offsets)


def tokens_of(line: str) -> list[str]:
    """Return the words of one line as they are compared, for display."""
    found: list[str] = []
    last = _BETWEEN
    for character in _folded(line):
        kind = _class_of(character)
        if kind == _LETTER == last:
            found[-1] += character
        elif kind != _BETWEEN:
            found.append(character)
        last = kind
    return found


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


@njit(cache=True, nogil=True)
def _scrambled(value: np.uint64) -> np.uint64:
    """Return the last steps of SplitMix64 (Steele, Lea & Flood 2014): each result bit depends on all input bits."""
    value += np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@njit(cache=True, nogil=True)
def _hash_words(points: NDArray[np.uint32], kinds: NDArray[np.uint8], hashes: Hashes, offsets: Rows) -> int:
    """Write the hashes of all words and the offsets of all lines; return the number of words."""
    words, line = 0, 1
    word = np.uint64(0)
    inside = False
    for at in range(len(points)):
        if inside and kinds[at] != _LETTER:
            hashes[words] = word
            words += 1
            inside = False
        if kinds[at] == _LETTER:
            word = _scrambled((word if inside else np.uint64(0)) + np.uint64(points[at]))
            inside = True
        elif kinds[at] == _ALONE:
            hashes[words] = _scrambled(np.uint64(points[at]))
            words += 1
        elif points[at] == 0:  # the end of a line
            offsets[line] = words
            line += 1
    return words


@njit(cache=True, nogil=True)
def _hash_lines(hashes: Hashes, offsets: Rows, found: Hashes) -> None:
    """Write the hash of each line's words to `found` (L,)."""
    for line in range(len(offsets) - 1):
        value = np.uint64(0)
        for at in range(offsets[line], offsets[line + 1]):
            value = _scrambled(value ^ hashes[at])
        found[line] = value


@njit(cache=True, nogil=True)
def _hash_ngrams(hashes: Hashes, offsets: Rows, n: int, found: Hashes, starts: Rows) -> int:
    """Write the hashes of all n-grams within lines, and their first words; return the number of n-grams."""
    ngrams = 0
    oldest = _ONE
    for _ in range(n):
        oldest *= _BASE
    for line in range(len(offsets) - 1):
        value = np.uint64(0)
        for at in range(offsets[line], offsets[line + 1]):
            value = value * _BASE + hashes[at]
            if at - offsets[line] >= n:
                value -= hashes[at - n] * oldest
            if at - offsets[line] >= n - 1:
                found[ngrams] = _scrambled(value)
                starts[ngrams] = at - n + 1
                ngrams += 1
    return ngrams
