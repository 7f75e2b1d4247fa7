"""Drops pairs whose sides are equal: untranslated text."""

import numpy as np
from pydantic import Field

from interlace.data.filters import Chunk, Filter, Mask
from interlace.text import TextPairs


class IdenticalSides(Filter):
    """Case is ignored. Names and numbers may be the same in both languages, so short pairs can be exempted."""

    min_words: int = Field(
        1,
        ge=1,
        description="Minimum of words of a pair that is dropped.",
    )

    def keep(self, chunk: Chunk) -> Mask:
        """(n,) where the sides differ."""
        if not isinstance(chunk, TextPairs):
            return np.ones(len(chunk), np.bool_)
        lines = zip(chunk.source.lines, chunk.target.lines, strict=True)
        is_same = [
            source.strip().casefold() == target.strip().casefold() for source, target in lines
        ]
        is_short = chunk.source.words.lengths < self.min_words
        return ~np.array(is_same, np.bool_) | is_short
