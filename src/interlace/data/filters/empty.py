"""Drops lines without a word, and pairs with such a side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace.data.filters import Filter
from interlace.data.filters.common import on_all_sides

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from interlace.text import Text, TextPairs


class Empty(Filter):
    """A corpus skips such lines anyway; this rule is for `interlace check`."""

    def keep(self, chunk: Text | TextPairs) -> NDArray[np.bool_]:
        """(n,) where every side has a word."""
        return on_all_sides(chunk, lambda text: text.words.lengths > 0)
