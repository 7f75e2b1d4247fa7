"""Drops pairs with one side much longer than the other."""

from typing import Literal

import numpy as np
from pydantic import Field

from interlace.core.ragged import IntArray
from interlace.data.filters import Chunk, Filter, Mask, characters
from interlace.text import Text, TextPairs


class Ratio(Filter):
    """Length of the longer side over the shorter one; a few extra units are allowed, so that short pairs are kept."""

    max_ratio: float = Field(
        3.0, ge=1, description="Maximum ratio (OpusFilter: 3; Moses' clean-corpus-n.perl: 9)."
    )
    unit: Literal["words", "characters"] = Field(
        "words",
        description="Unit of length; words need a word tokenizer that suits both languages.",
    )
    typical: float = Field(
        1.0,
        gt=0,
        description="Units of the target per unit of the source in this language pair; `check` measures it.",
    )
    slack: int = Field(
        5,
        ge=0,
        description="Extra units that are always allowed.",
    )

    def keep(self, chunk: Chunk) -> Mask:
        """(n,) where the longer side is at most `max_ratio` times the shorter one, plus `slack`, in source units."""
        if not isinstance(chunk, TextPairs):
            return np.ones(len(chunk), np.bool_)
        source = self.lengths(chunk.source)
        target = self.lengths(chunk.target) / self.typical
        limit = self.max_ratio * np.minimum(source, target) + self.slack
        return np.maximum(source, target) <= limit

    def lengths(self, text: Text) -> IntArray:
        """(n,) units per line."""
        if self.unit == "words":
            return text.words.lengths
        return characters(text)
