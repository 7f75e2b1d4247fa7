"""Words and the order of lines in Moses' phrase tables.

Lines are sorted by bytes, as Moses' tools expect (`LC_ALL=C sort`). The order is computed from integers, without making
the lines: a word is compared as its spelling followed by a blank, the end of a phrase as the separator that follows it.
None of these is a prefix of another, so comparing them one by one compares the lines.
"""

import re
from bisect import bisect
from collections.abc import Sequence

import numpy as np

from interlace.core.ragged import Int32Array, IntArray, Ragged

SEPARATOR = "|||"
_SPECIAL = re.compile(r"[|\t\n\r ]|&(?=(?:amp;)*#(?:9|10|13|32|124);)")


def line_order(phrases: Ragged, spellings: Sequence[str]) -> IntArray:
    """Return the indices that sort phrases (rows of indices of spellings) as the lines that begin with them."""
    ranks, end = word_ranks(spellings)
    rank_rows = Ragged(ranks[phrases.flat], phrases.offsets - phrases.offsets[0])
    columns = rank_rows.padded(end).T
    if not len(columns):
        return np.arange(len(phrases))
    return np.lexsort(columns[::-1])


def word_ranks(spellings: Sequence[str]) -> tuple[Int32Array, int]:
    """Return the rank of each word in the order of lines, and that of the end of a phrase."""
    keys = [escape(word) + " " for word in spellings]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    ranks = np.empty(len(keys), np.int32)
    ranks[order] = np.arange(1, 2 * len(keys), 2)
    smaller = bisect(sorted(keys), f"{SEPARATOR} ")
    return ranks, 2 * smaller


def escape(word: str) -> str:
    """Escape `|` as Moses does, and white space likewise; no two words become one.

    >>> escape("a|b"), escape("&#124;"), escape("&amp;")
    ('a&#124;b', '&amp;#124;', '&amp;')
    """
    return _SPECIAL.sub(_reference, word)


def _reference(match: re.Match[str]) -> str:
    if match[0] == "&":
        return "&amp;"
    return f"&#{ord(match[0])};"
