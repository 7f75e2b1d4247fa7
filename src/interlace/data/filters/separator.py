"""Drops lines that hold a column separator of other formats, such as `|||`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from interlace.data.filters import Filter
from interlace.data.filters.common import on_all_sides

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.text import Text, TextPairs


class Separator(Filter):
    """Phrase tables and external aligners read `|||` as the end of a column."""

    marks: list[str] = Field(["|||"], min_length=1, description="Strings that no side may contain.")

    def keep(self, chunk: Text | TextPairs) -> NDArray[np.bool_]:
        """(n,) where no side contains a mark."""
        return on_all_sides(chunk, self._without)

    def _without(self, text: Text) -> NDArray[np.bool_]:
        kept = np.ones(len(text), np.bool_)
        whole = "\n".join(text.lines)
        for mark in self.marks:
            if mark in whole:
                kept &= np.fromiter((mark not in line for line in text.lines), np.bool_, len(text))
        return kept
