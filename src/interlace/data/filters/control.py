"""Drops lines with control characters and traces of broken decoding."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from pydantic import Field

from interlace.data.filters import Filter
from interlace.data.filters.common import CharacterClasses, count_by_line, on_all_sides

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from interlace.text import Text, TextPairs

_BROKEN = "\ufffd\ufeff"  # the replacement character; a byte order mark inside text
_FINE, _BAD = 1, 2


class Control(Filter):
    """C0 and C1 controls other than the tab, U+FFFD, U+FEFF, private use and unassigned code points."""

    max_count: int = Field(0, ge=0, description="Maximum of such characters per side.")

    def keep(self, chunk: Text | TextPairs) -> NDArray[np.bool_]:
        """(n,) where every side has at most `max_count` of them."""

        def fits(text: Text) -> NDArray[np.bool_]:
            return count_by_line(_CLASSES.of(text.lines) == _BAD, text.lines) <= self.max_count

        return on_all_sides(chunk, fits)


def _class_of(character: str) -> int:
    if character in "\t\n":  # here a line feed only ends lines
        return _FINE
    return _BAD if character in _BROKEN or unicodedata.category(character) in {"Cc", "Cn", "Co", "Cs"} else _FINE


_CLASSES = CharacterClasses(_class_of)
