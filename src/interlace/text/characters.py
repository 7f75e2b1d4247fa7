"""Lines as one array of code points, and spans in it as rows per line.

Legend: C characters of all lines, each line followed by one line feed.
"""

import unicodedata
from collections.abc import Callable, Sequence

import numpy as np

from interlace.core.ragged import AnyArray, BoolArray, ByteArray, IntArray, Ragged

_BEYOND = 0x3001  # every white space character is below
_SPACES = np.array([chr(code).isspace() for code in range(_BEYOND)] + [False])


def code_points(lines: Sequence[str]) -> AnyArray:
    """(C,) code points of all lines; uint8 if all are ASCII, else uint32."""
    return points_of("\n".join([*lines, ""]))


def points_of(text: str) -> AnyArray:
    """(characters,) code points of a string; uint8 if all are ASCII, else uint32."""
    if text.isascii():
        return np.frombuffer(text.encode("ascii"), np.uint8)
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def is_space(points: AnyArray) -> BoolArray:
    """(C,) where `str.isspace` holds."""
    if points.dtype != np.uint8:
        points = np.minimum(points, _BEYOND)
    return _SPACES[points]


def line_starts(lines: Sequence[str]) -> IntArray:
    """(lines + 1,) start of each line in `code_points`, and the total length."""
    lengths = np.fromiter(map(len, lines), np.int64, len(lines))
    starts = np.zeros(len(lines) + 1, np.int64)
    np.cumsum(lengths + 1, out=starts[1:])
    return starts


def spans_by_line(starts: AnyArray, ends: AnyArray, lines: IntArray) -> Ragged:
    """Convert spans over all lines to spans per line; `lines` as from `line_starts`."""
    offsets = np.searchsorted(starts, lines).astype(np.int64)  # (lines + 1,)
    counts = np.diff(offsets)  # (lines,)
    line_begins = np.repeat(lines[:-1], counts)  # (spans,)
    spans = np.stack([starts - line_begins, ends - line_begins], axis=1)
    return Ragged(spans.astype(np.int32), offsets)


def at_graphemes(spans: Ragged, lines: Sequence[str]) -> Ragged:
    """Extend spans of characters, rows of (start, end) per line, to whole letters with their marks; empty ones stay.

    In decomposed text (NFD) a letter is a base character and marks, or several conjoining jamo; tokenizers that compose
    it place the subword on its base character alone.
    """
    classes = _CONTINUES.of_lines(lines)  # (C,)
    continues = classes == _CONTINUING
    positions = np.arange(len(classes))
    # the last base character at or before each character
    base = np.where(continues, 0, positions)
    base = np.maximum.accumulate(base)
    # the first base character at or after each character
    following = np.where(continues, len(classes), positions)
    following = np.minimum.accumulate(following[::-1])[::-1]

    # the start of each span's line, which ends with a line feed: a base character
    line_begins = line_starts(lines)[spans.rows()]
    starts = spans.flat[:, 0] + line_begins
    ends = spans.flat[:, 1] + line_begins
    is_filled = starts < ends
    extended_starts = np.maximum(base[starts], line_begins)
    starts = np.where(is_filled, extended_starts, starts) - line_begins
    ends = np.where(is_filled, following[ends], ends) - line_begins
    extended = np.stack([starts, ends], axis=1)
    return Ragged(extended.astype(spans.flat.dtype), spans.offsets - spans.offsets[0])


class CharacterClasses:
    """Classes of characters by code point, computed at a character's first occurrence."""

    def __init__(self, class_of: Callable[[str], int]) -> None:
        """Use `class_of`, which returns 1 to 255 for a character; 0 is the class of those that have not occurred."""
        self._class_of = class_of
        self._table = np.zeros(0x110000, np.uint8)

    def of(self, points: AnyArray) -> ByteArray:
        """(C,) the class of each code point."""
        classes: ByteArray = self._table[points]
        if not classes.all():
            for point in np.unique(points[classes == 0]).tolist():
                self._table[point] = self._class_of(chr(point))
            classes = self._table[points]
        return classes

    def table(self, points: AnyArray) -> ByteArray:
        """(0x110000,) the class of each code point, known at least for those in `points`."""
        self.of(points)
        return self._table

    def of_lines(self, lines: Sequence[str]) -> ByteArray:
        """(C,) the class of each character of all lines, each line followed by a line feed."""
        return self.of(code_points(lines))


_BASE = 1
_CONTINUING = 2


def _continues_letter(character: str) -> int:
    """Return whether a character belongs to the letter before: marks, joiners, vowels and finals of conjoining jamo."""
    is_jamo = "\u1160" <= character <= "\u11ff" or "\ud7b0" <= character <= "\ud7fb"
    is_joiner = character in "\u200c\u200d"
    is_mark = unicodedata.category(character)[0] == "M"
    return _CONTINUING if is_jamo or is_joiner or is_mark else _BASE


_CONTINUES = CharacterClasses(_continues_letter)
