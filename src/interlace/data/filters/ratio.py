"""Drops pairs with one side much longer than the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import Field

from interlace.data.filters import Filter
from interlace.data.filters._sides import characters
from interlace.text import TextPairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from interlace.text import Text


class Ratio(Filter):
    """The longer side over the shorter one; a few units more do not count, or short pairs would all be suspects."""

    most: float = Field(3.0, ge=1, description="Greatest ratio (OpusFilter: 3; Moses' clean-corpus-n.perl: 9).")
    unit: Literal["words", "characters"] = Field(
        "words", description="What is counted; words need a word tokenizer that suits both languages."
    )
    typical: float = Field(
        1.0, gt=0, description="Units of the target for one of the source, as usual in this pair; `check` measures it."
    )
    slack: int = Field(5, ge=0, description="So many units more never count against a pair.")

    def keep(self, chunk: Text | TextPairs, memory: Any = None) -> NDArray[np.bool_]:  # noqa: ARG002 - judges alone
        """(n,) where the longer side is at most `most` times the shorter one, plus `slack`, in units of the source."""
        if not isinstance(chunk, TextPairs):
            return np.ones(len(chunk), np.bool_)
        source, target = self.lengths(chunk.source), self.lengths(chunk.target) / self.typical
        fits: NDArray[np.bool_] = np.maximum(source, target) <= self.most * np.minimum(source, target) + self.slack
        return fits

    def lengths(self, text: Text) -> NDArray[np.int64]:
        """(n,) units of each line."""
        return text.words.lengths if self.unit == "words" else characters(text)
