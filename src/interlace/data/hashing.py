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
_BETWEEN = 1  # what a character is: between words, part of a word, a word by itself
_LETTER = 2
_ALONE = 3
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
        line_hashes = np.zeros(len(self.lines), np.uint64)
        _hash_lines(self.hashes, self.offsets, line_hashes)
        return line_hashes

    def ngrams(self, n: int) -> tuple[Hashes, Rows]:
        """(G,) a hash of every n-gram within a line, and (G,) its first word."""
        ngram_hashes = np.empty(len(self.hashes), np.uint64)
        first_words = np.empty(len(self.hashes), np.int64)
        count = _hash_ngrams(self.hashes, self.offsets, n, ngram_hashes, first_words)
        return ngram_hashes[:count], first_words[:count]

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
    hashes = np.empty(len(points), np.uint64)
    offsets = np.zeros(len(lines) + 1, np.int64)
    word_count = _hash_words(points, _CLASSES.of(points), hashes, offsets)
    return HashedTokens(lines, hashes[:word_count].copy(), offsets)


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


@njit(cache=True, nogil=True)
def _scrambled(value: np.uint64) -> np.uint64:
    """Return the last steps of SplitMix64 (Steele, Lea & Flood 2014): each result bit depends on all input bits."""
    value += np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@njit(cache=True, nogil=True)
def _hash_words(
    points: NDArray[np.uint32], kinds: NDArray[np.uint8], hashes: Hashes, offsets: Rows
) -> int:
    """Write the hashes of all words and the offsets of all lines; return the number of words.

    The lines `a bc` and `d` have three words, and the offsets 0, 2 and 3.
    """
    words = 0
    line = 1
    word = np.uint64(0)
    inside = False
    for position in range(len(points)):
        kind = kinds[position]
        if inside and kind != _LETTER:
            hashes[words] = word
            words += 1
            inside = False
        if kind == _LETTER:
            before = word if inside else np.uint64(0)
            word = _scrambled(before + np.uint64(points[position]))
            inside = True
        elif kind == _ALONE:
            hashes[words] = _scrambled(np.uint64(points[position]))
            words += 1
        elif points[position] == 0:  # the end of a line
            offsets[line] = words
            line += 1
    return words


@njit(cache=True, nogil=True)
def _hash_lines(hashes: Hashes, offsets: Rows, line_hashes: Hashes) -> None:
    """Write the hash of each line's words to `line_hashes` (L,)."""
    for line in range(len(offsets) - 1):
        value = np.uint64(0)
        for word in range(offsets[line], offsets[line + 1]):
            value = _scrambled(value ^ hashes[word])
        line_hashes[line] = value


@njit(cache=True, nogil=True)
def _hash_ngrams(
    hashes: Hashes, offsets: Rows, n: int, ngram_hashes: Hashes, first_words: Rows
) -> int:
    """Write the hashes of all n-grams within lines, and their first words; return the number of n-grams.

    The value of the words a, b, c is (a B + b) B + c (Rabin and Karp 1987): the next bigram takes away the oldest word
    times B^n, so that b, c has the value b B + c.
    """
    ngrams = 0
    oldest_factor = _ONE
    for _ in range(n):
        oldest_factor *= _BASE
    for line in range(len(offsets) - 1):
        value = np.uint64(0)
        first = offsets[line]
        for word in range(first, offsets[line + 1]):
            value = value * _BASE + hashes[word]
            if word - first >= n:
                value -= hashes[word - n] * oldest_factor
            if word - first >= n - 1:
                ngram_hashes[ngrams] = _scrambled(value)
                first_words[ngrams] = word - n + 1
                ngrams += 1
    return ngrams
