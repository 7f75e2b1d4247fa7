"""Code that several filters share: sides of a chunk, and characters counted by class and line."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.text import TextPairs
from interlace.text.word_tokenizers.common.characters import code_points, line_starts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from interlace.text import Text

_UNKNOWN = 0  # the class of a character that has not occurred yet


def sides(chunk: Text | TextPairs) -> tuple[Text, ...]:
    """Return one text, or the two of pairs."""
    return (chunk.source, chunk.target) if isinstance(chunk, TextPairs) else (chunk,)


def on_all_sides(chunk: Text | TextPairs, holds: Callable[[Text], NDArray[np.bool_]]) -> NDArray[np.bool_]:
    """(n,) where a condition holds on every side."""
    return reduce(np.logical_and, map(holds, sides(chunk)))


def characters(text: Text) -> NDArray[np.int64]:
    """(n,) characters per line."""
    return np.fromiter(map(len, text.lines), np.int64, len(text))


class CharacterClasses:
    """Classes of characters by code point, computed at a character's first occurrence."""

    def __init__(self, class_of: Callable[[str], int]) -> None:
        self._class_of = class_of  # returns 1 to 255
        self._table = np.zeros(0x110000, np.uint8)

    def of(self, lines: Sequence[str]) -> NDArray[np.uint8]:
        """(C,) the class of each character of all lines, each line followed by a line feed."""
        points: NDArray[Any] = code_points(lines)
        found: NDArray[np.uint8] = self._table[points]
        if not found.all():
            for point in np.unique(points[found == _UNKNOWN]).tolist():
                self._table[point] = self._class_of(chr(point))
            found = self._table[points]
        return found


def count_by_line(marks: NDArray[np.bool_], lines: Sequence[str]) -> NDArray[np.int64]:
    """(n,) marked characters per line; `marks` cover all lines and their line feeds."""
    if not lines:
        return np.zeros(0, np.int64)
    return np.asarray(np.add.reduceat(marks, line_starts(lines)[:-1], dtype=np.int64))
