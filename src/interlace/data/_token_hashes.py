"""Lines as 64-bit hashes of their words, all of a chunk at once: case, punctuation and blanks make no difference.

A word is a run of letters, digits and marks; a character of a script without blanks is a word by itself. Text is
compared in NFKC and folded to one case, so that other quotes, widths or capitals do not hide an overlap.

Legend: N characters, T words, L lines, G runs of n words.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from interlace.text.scripts import is_unspaced

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Hashes = NDArray[np.uint64]

_END = "\0"  # of a line; in a line it is nothing
_UNKNOWN, _BETWEEN, _LETTER, _ALONE = 0, 1, 2, 3  # what a character is; the kernels know the last two
_POINTS = 0x110000


@dataclass(frozen=True)
class Tokens:
    """hashes: (T,) of the words; offsets: (L + 1,) where the lines' words begin."""

    hashes: Hashes
    offsets: NDArray[np.int64]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(L,) words of each line."""
        return np.diff(self.offsets)

    def lines(self) -> Hashes:
        """(L,) a hash of each line's words in their order; 0 for lines without words."""
        from interlace.data._token_hashes_kernels import hash_lines

        found = np.zeros(len(self.offsets) - 1, np.uint64)
        hash_lines(self.hashes, self.offsets, found)
        return found

    def grams(self, n: int) -> tuple[Hashes, NDArray[np.int64]]:
        """(G,) a hash of every n words in a row within a line, and (G,) the place of the first of them."""
        from interlace.data._token_hashes_kernels import hash_grams

        found, starts = np.empty(len(self.hashes), np.uint64), np.empty(len(self.hashes), np.int64)
        count = hash_grams(self.hashes, self.offsets, n, found, starts)
        return found[:count], starts[:count]


def hash_tokens(lines: Sequence[str]) -> Tokens:
    """The words of each line as hashes, the same on all machines."""
    from interlace.data._token_hashes_kernels import hash_words

    text = "".join(f"{line}{_END}" for line in lines)
    if text.count(_END) > len(lines):
        text = "".join(f"{line.replace(_END, ' ')}{_END}" for line in lines)
    points = np.frombuffer(folded(text).encode("utf-32-le", "surrogatepass"), "<u4")  # (N,)
    hashes, offsets = np.empty(len(points), np.uint64), np.zeros(len(lines) + 1, np.int64)
    words = hash_words(points, _kinds(points), hashes, offsets)
    return Tokens(hashes[:words].copy(), offsets)


def tokens_of(line: str) -> list[str]:
    """The words of one line as they are compared: the slow twin of `hash_tokens`, to show them."""
    found: list[str] = []
    last = _BETWEEN
    for sign in folded(line):
        kind = _kind(sign)
        if kind == _LETTER == last:
            found[-1] += sign
        elif kind != _BETWEEN:
            found.append(sign)
        last = kind
    return found


def folded(text: str) -> str:
    """Text as it is compared."""
    text = text.casefold()
    if text.isascii() or unicodedata.is_normalized("NFKC", text):
        return text
    return unicodedata.normalize("NFKC", text).casefold()


def _kinds(points: NDArray[np.uint32]) -> NDArray[np.uint8]:
    """(N,) what each character is; characters are looked at when they are first met."""
    table = _kind_table()
    kinds = table[points]
    if not kinds.all():
        for point in np.unique(points[kinds == _UNKNOWN]).tolist():
            table[point] = _kind(chr(point))
        kinds = table[points]
    return kinds


def _kind(sign: str) -> int:
    if not (sign.isalnum() or unicodedata.category(sign)[0] == "M"):
        return _BETWEEN
    return _ALONE if is_unspaced(sign) else _LETTER


@cache
def _kind_table() -> NDArray[np.uint8]:
    return np.zeros(_POINTS, np.uint8)
