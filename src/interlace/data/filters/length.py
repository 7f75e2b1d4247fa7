"""Drops lines that are too short or too long, in words or characters."""

from typing import Any

import numpy as np
from pydantic import Field

from interlace.data.filters import Chunk, Filter, Mask, characters, on_all_sides
from interlace.text import Text


class Length(Filter):
    """Bounds for every side. Words are those of the corpus's word tokenizer."""

    min_words: int = Field(1, ge=0, description="Minimum of words per side.")
    max_words: int = Field(
        100,
        ge=1,
        description="Maximum of words per side (clean-corpus-n.perl is usually run with 80 or 100).",
    )
    min_characters: int = Field(1, ge=0, description="Minimum of characters per side.")
    max_characters: int = Field(1000, ge=1, description="Maximum of characters per side.")

    def model_post_init(self, _context: Any) -> None:
        """Check that minima do not exceed maxima."""
        for unit in ("words", "characters"):
            low = getattr(self, f"min_{unit}")
            high = getattr(self, f"max_{unit}")
            if low > high:
                raise ValueError(f"min_{unit} = {low} is more than max_{unit} = {high}")

    def keep(self, chunk: Chunk) -> Mask:
        """(n,) where every side is within the bounds."""
        return on_all_sides(chunk, self._within)

    def _within(self, text: Text) -> Mask:
        words = text.words.lengths
        length = characters(text)
        kept = (words >= self.min_words) & (words <= self.max_words)
        return np.asarray(kept & (length >= self.min_characters) & (length <= self.max_characters))
