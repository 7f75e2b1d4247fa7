"""Drops lines that hold a mark with which tables separate their columns, such as `|||`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from interlace.data.filters import Filter
from interlace.data.filters._sides import on_all_sides

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.text import Text, TextPairs


class Separator(Filter):
    """Phrase tables and outside aligners take `|||` for the end of a column."""

    marks: list[str] = Field(["|||"], min_length=1, description="Strings that no side may hold.")

    def keep(self, chunk: Text | TextPairs, memory: Any = None) -> NDArray[np.bool_]:  # noqa: ARG002 - judges alone
        """(n,) where no side holds a mark."""
        return on_all_sides(chunk, self._without)

    def _without(self, text: Text) -> NDArray[np.bool_]:
        kept = np.ones(len(text), np.bool_)
        whole = "\n".join(text.lines)
        for mark in self.marks:
            if mark in whole:
                kept &= np.fromiter((mark not in line for line in text.lines), np.bool_, len(text))
        return kept
