"""Words are what stands between white space (Unicode's, as `str.split()` sees it)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from interlace.ragged import Ragged
from interlace.text.words import Splitter

if TYPE_CHECKING:
    from collections.abc import Sequence

_WORD = re.compile(r"[^\s\x1c-\x1f]+")


class Blanks(Splitter):
    """Words are what stands between white space; the default, and the right one for tokenised text."""

    def split(self, lines: Sequence[str]) -> Ragged:
        """A row a line of (start, end) character spans."""
        return Ragged.of([[match.span() for match in _WORD.finditer(line)] for line in lines], width=2)
