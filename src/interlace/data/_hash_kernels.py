"""Numba kernels of `data.contamination`, compiled once: hashes of words, lines and n-grams, modulo 2^64."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Hashes = NDArray[np.uint64]
    Offsets = NDArray[np.int64]

END = 0  # the character that ends a line
LETTER, ALONE = 2, 3  # what a character is: part of a word, a word by itself
_BASE = np.uint64(0xD6E8FEB86659FD93)  # odd: multiplying by it loses nothing
_ONE = np.uint64(1)


@njit(cache=True, nogil=True)
def _scrambled(value: np.uint64) -> np.uint64:
    """Return the last steps of SplitMix64 (Steele, Lea & Flood 2014): each result bit depends on all input bits."""
    value += np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@njit(cache=True, nogil=True)
def hash_words(points: NDArray[np.uint32], kinds: NDArray[np.uint8], hashes: Hashes, offsets: Offsets) -> int:
    """Hash the words of all lines; a line ends at the character 0.

    points: (N,) uint32 characters; kinds: (N,) uint8; hashes: (N,) uint64 and offsets: (L + 1,) int64, written to.
    Returns the number of words.
    """
    words, line = 0, 1
    word = np.uint64(0)
    inside = False
    for at in range(len(points)):
        if inside and kinds[at] != LETTER:
            hashes[words] = word
            words += 1
            inside = False
        if kinds[at] == LETTER:
            word = _scrambled((word if inside else np.uint64(0)) + np.uint64(points[at]))
            inside = True
        elif kinds[at] == ALONE:
            hashes[words] = _scrambled(np.uint64(points[at]))
            words += 1
        elif points[at] == END:
            offsets[line] = words
            line += 1
    return words


@njit(cache=True, nogil=True)
def hash_lines(hashes: Hashes, offsets: Offsets, found: Hashes) -> None:
    """Hash the words of each line, in order, into `found` (L,); 0 for a line without words."""
    for line in range(len(offsets) - 1):
        value = np.uint64(0)
        for at in range(offsets[line], offsets[line + 1]):
            value = _scrambled(value ^ hashes[at])
        found[line] = value


@njit(cache=True, nogil=True)
def hash_grams(hashes: Hashes, offsets: Offsets, n: int, found: Hashes, starts: Offsets) -> int:
    """Hash all n-grams of words within lines; `starts` are their first words. Returns the number of n-grams."""
    grams = 0
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
                found[grams] = _scrambled(value)
                starts[grams] = at - n + 1
                grams += 1
    return grams
