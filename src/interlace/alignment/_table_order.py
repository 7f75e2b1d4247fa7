"""The order of lines in a phrase table: that of their bytes, which Moses' tools expect (`LC_ALL=C sort`).

It is found from numbers, without making the lines. A word counts as its spelling with a blank behind it, the end of a
phrase as the separator that follows it. None of these begins another, so comparing them one by one compares the lines.
"""

from __future__ import annotations

import re
from bisect import bisect
from typing import TYPE_CHECKING

import numpy as np

from interlace.core.ragged import Ragged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

SEPARATOR = "|||"
_SPECIAL = re.compile(r"[|\t\n\r ]|&(?=(?:amp;)*#(?:9|10|13|32|124);)")
_ESCAPE = re.compile(r"&(?:#(9|10|13|32|124)|amp(?=;(?:amp;)*#(?:9|10|13|32|124);));")


def escaped(word: str) -> str:
    """A word as tables spell it: `|` as Moses writes it, and blanks likewise.

    What looks escaped already is kept apart, so that each word is read again as it was.

    >>> escaped("a|b"), escaped("&#124;"), escaped("&amp;")
    ('a&#124;b', '&amp;#124;', '&amp;')
    """
    return _SPECIAL.sub(lambda found: "&amp;" if found[0] == "&" else f"&#{ord(found[0])};", word)


def unescaped(word: str) -> str:
    """The word that `escaped` spelt so.

    >>> unescaped("a&#124;b"), unescaped("&amp;#124;"), unescaped("&amp;")
    ('a|b', '&#124;', '&amp;')
    """
    return _ESCAPE.sub(lambda found: chr(int(found[1])) if found[1] else "&", word) if "&" in word else word


def line_order(phrases: Ragged, spellings: Sequence[str]) -> NDArray[np.int64]:
    """The phrases (rows of numbers of spellings) in the order in which lines that begin with them are sorted."""
    keys = [escaped(word) + " " for word in spellings]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    ranks = np.empty(len(keys), np.int32)
    ranks[order] = np.arange(1, 2 * len(keys), 2)
    end = 2 * bisect([keys[number] for number in order], f"{SEPARATOR} ")
    columns = Ragged(ranks[phrases.flat], phrases.offsets - phrases.offsets[0]).padded(end).T
    return np.lexsort(columns[::-1]) if len(columns) else np.arange(len(phrases))
