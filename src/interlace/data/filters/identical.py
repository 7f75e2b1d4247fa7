"""Drops pairs whose sides are the same: text that was never translated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from interlace.data.filters import Filter
from interlace.text import TextPairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.text import Text


class Identical(Filter):
    """Names and numbers may well be the same in both languages, so short pairs can be spared."""

    min_words: int = Field(1, ge=1, description="Fewest words of a pair that is dropped.")
    ignore_case: bool = Field(True, description="Whether sides that differ in case alone are the same.")

    def keep(self, chunk: Text | TextPairs, memory: Any = None) -> NDArray[np.bool_]:  # noqa: ARG002 - judges alone
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
