"""Drops pairs whose sides are equal: untranslated text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from interlace.data.filters import Filter
from interlace.text import TextPairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.text import Text


class IdenticalSides(Filter):
    """Names and numbers may be the same in both languages, so short pairs can be exempted."""

    min_words: int = Field(1, ge=1, description="Minimum of words of a pair that is dropped.")
    ignore_case: bool = Field(True, description="Whether sides that differ only in case are equal.")

    def keep(self, chunk: Text | TextPairs) -> NDArray[np.bool_]:
        """(n,) where the sides differ."""
        if not isinstance(chunk, TextPairs):
            return np.ones(len(chunk), np.bool_)
        rows = zip(chunk.source.lines, chunk.target.lines, strict=True)
        same = np.fromiter((self._same(source, target) for source, target in rows), np.bool_, len(chunk))
        kept: NDArray[np.bool_] = ~same | (chunk.source.words.lengths < self.min_words)
        return kept

    def _same(self, source: str, target: str) -> bool:
        source, target = source.strip(), target.strip()
        return source == target or (self.ignore_case and source.casefold() == target.casefold())
