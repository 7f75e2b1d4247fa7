"""Drops lines that are too short or too long, in words."""

from typing import Any

from pydantic import Field

from interlace.data.filters import Chunk, Filter, Mask, on_all_sides
from interlace.text import Text


class Length(Filter):
    """Bounds for every side. Words are those of the corpus's word tokenizer."""

    min_words: int = Field(
        1,
        ge=0,
        description="Minimum of words per side.",
    )
    max_words: int = Field(
        100,
        ge=1,
        description="Maximum of words per side (clean-corpus-n.perl is usually run with 80 or 100).",
    )

    def model_post_init(self, _context: Any) -> None:
        """Check that the minimum does not exceed the maximum."""
        if self.min_words > self.max_words:
            raise ValueError(
                f"min_words = {self.min_words} is more than max_words = {self.max_words}"
            )

    def keep(self, chunk: Chunk) -> Mask:
        """(n,) where every side is within the bounds."""
        return on_all_sides(chunk, self._within)

    def _within(self, text: Text) -> Mask:
        words = text.words.lengths
        return (words >= self.min_words) & (words <= self.max_words)
