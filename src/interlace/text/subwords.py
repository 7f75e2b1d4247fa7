"""The word that each subword belongs to, from character spans.

A subword belongs to the word of its first non-space character; if that is outside of all words, or the subword is white
space only, to the next word of the line; if none follows, to the last word; on a line without words, to none (-1).

Words never begin or end with white space, so this is the word that contains the *first* character of the subword, or
else the next one. Positions count characters or bytes, the same for words and subwords.

Legend: n lines; T subwords and W words of all lines; C characters (or bytes) of all lines.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def word_at(
    at: NDArray[Any], ends: NDArray[Any], subwords: NDArray[Any], words: NDArray[Any], length: int
) -> NDArray[np.int32]:
    """(T,) word of each subword, from positions in the concatenated lines.

    Args:
        at: (T,) first character of each subword.
        ends: (W,) end of each word.
        subwords: (n,) number of subwords per line.
        words: (n,) number of words per line.
        length: C, greater than every position.
    """
    ended = np.zeros(length + 1, np.int32)
    ended[ends] = 1
    np.cumsum(ended, out=ended)  # number of words that end at or before each position
    last = np.cumsum(words)
    first = last - words
    found = np.clip(ended[at], np.repeat(first, subwords), np.repeat(last - 1, subwords)) - np.repeat(first, subwords)
    return np.asarray(found, np.int32)
