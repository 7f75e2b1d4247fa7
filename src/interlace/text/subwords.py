"""From words as character spans to the word each subword belongs to.

The rule: a subword belongs to the word of its first character that is no white space; where that stands outside every
word, or the subword is white space only, to the next word of the line; where none follows, to the line's last word;
on a line without words, to none (-1).

A word never begins or ends with white space. So the word that holds a subword's *first* character, or else the next
one, is always the word the rule names: between white space and the character it leads to, no other word fits.
Positions may count characters or bytes, as long as words and subwords count alike.

Legend: n lines; T subwords and W words of all lines; C characters (or bytes) of all lines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.core.ragged import Ragged


def words_of_subwords(starts: Ragged, words: Ragged, lengths: NDArray[Any]) -> NDArray[np.int32]:
    """(T,) the word of each subword, counted from 0 in its line.

    Args:
        starts: n rows, the first character of each subword, counted from the line's start.
        words: n rows of (start, end) spans, in order and disjoint.
        lengths: (n,) characters a line.
    """
    lines = np.zeros(len(words) + 1, np.int64)
    np.cumsum(np.asarray(lengths, np.int64) + 1, out=lines[1:])
    ends = words.flat[:, 1] + np.repeat(lines[:-1], words.lengths)
    at = starts.flat + np.repeat(lines[:-1], starts.lengths)
    return word_at(at, ends, starts.lengths, words.lengths, int(lines[-1]))


def word_at(
    at: NDArray[Any], ends: NDArray[Any], subwords: NDArray[Any], words: NDArray[Any], length: int
) -> NDArray[np.int32]:
    """(T,) the same from positions in the text of all lines together.

    Args:
        at: (T,) first character of each subword.
        ends: (W,) the end of each word.
        subwords: (n,) how many a line has.
        words: (n,) how many a line has.
        length: C, greater than every position.
    """
    ended = np.zeros(length + 1, np.int32)
    ended[ends] = 1
    np.cumsum(ended, out=ended)  # words that end at or before each position: the number of the next one
    last = np.cumsum(words)
    first = last - words
    found = np.clip(ended[at], np.repeat(first, subwords), np.repeat(last - 1, subwords)) - np.repeat(first, subwords)
    return np.asarray(found, np.int32)
