"""Drops lines that hold a column separator of other formats, such as `|||`."""

import numpy as np
from pydantic import Field

from interlace.data.filters import Chunk, Filter, Mask, on_all_sides
from interlace.text import Text


class Separator(Filter):
    """Phrase tables and external aligners read `|||` as the end of a column."""

    marks: list[str] = Field(["|||"], min_length=1, description="Strings that no side may contain.")

    def keep(self, chunk: Chunk) -> Mask:
        """(n,) where no side contains a mark."""
        return on_all_sides(chunk, self._without)

    def _without(self, text: Text) -> Mask:
        kept = np.ones(len(text), np.bool_)
        whole = "\n".join(text.lines)
        for mark in self.marks:
            if mark in whole:
                kept &= np.fromiter((mark not in line for line in text.lines), np.bool_, len(text))
        return kept
