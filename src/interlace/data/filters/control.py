"""Drops lines with characters that no text has: control characters, and what broken decoding leaves."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

from pydantic import Field

from interlace.data.filters import Filter
from interlace.data.filters._sides import Classes, by_line, on_all_sides

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from interlace.text import Text, TextPairs

_BROKEN = "\ufffd\ufeff"  # the replacement character; a byte order mark amid text
_FINE, _BAD = 1, 2


class Control(Filter):
    """C0 and C1 controls other than the tab, U+FFFD, U+FEFF, private use and unassigned code points."""

    most: int = Field(0, ge=0, description="So many such characters a side are borne.")

    def keep(self, chunk: Text | TextPairs, memory: Any = None) -> NDArray[np.bool_]:  # noqa: ARG002 - judges alone
        """(n,) where every side has at most `most` of them."""
        return on_all_sides(chunk, lambda text: by_line(_CLASSES.of(text.lines) == _BAD, text.lines) <= self.most)


def _class_of(character: str) -> int:
    if character in "\t\n":  # a line feed only ends lines here
        return _FINE
    return _BAD if character in _BROKEN or unicodedata.category(character) in {"Cc", "Cn", "Co", "Cs"} else _FINE


_CLASSES = Classes(_class_of)
