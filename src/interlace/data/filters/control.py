"""Drops lines with control characters and traces of broken decoding."""

import unicodedata

from interlace.data.filters import Chunk, Filter, Mask, count_by_line, on_all_sides
from interlace.text import Text
from interlace.text.characters import CharacterClasses

_FINE = 1
_BAD = 2


class Control(Filter):
    """C0 and C1 controls other than the tab, U+FFFD, U+FEFF, private use and unassigned code points."""

    def keep(self, chunk: Chunk) -> Mask:
        """(n,) where no side has one of them."""
        return on_all_sides(chunk, _is_clean)


def _is_clean(text: Text) -> Mask:
    broken = count_by_line(_CLASSES.of_lines(text.lines) == _BAD, text.lines)
    return broken == 0


def _class_of(character: str) -> int:
    if character in "\t\n":  # here a line feed only ends lines
        return _FINE
    # the replacement character; a byte order mark inside text
    broken = character in "\ufffd\ufeff"
    if broken or unicodedata.category(character) in {"Cc", "Cn", "Co", "Cs"}:
        return _BAD
    return _FINE


_CLASSES = CharacterClasses(_class_of)
