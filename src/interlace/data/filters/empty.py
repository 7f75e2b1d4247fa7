"""Drops lines without a word, and pairs with such a side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from interlace.data.filters import Filter
from interlace.data.filters._sides import on_all_sides

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from interlace.text import Text, TextPairs


class Empty(Filter):
    """A corpus leaves such lines out by itself; this rule is for looking at files."""

    def keep(self, chunk: Text | TextPairs, memory: Any = None) -> NDArray[np.bool_]:  # noqa: ARG002 - judges alone
        """(n,) where every side has a word."""
        return on_all_sides(chunk, lambda text: text.words.lengths > 0)
