"""Drops lines that are too short or too long, in words or characters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from interlace.data.filters import Filter
from interlace.data.filters.common import characters, on_all_sides

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from interlace.text import Text, TextPairs


class Length(Filter):
    """Bounds for every side. Words are those of the corpus's word tokenizer."""

    min_words: int = Field(1, ge=0, description="Minimum of words per side.")
    max_words: int = Field(
        100, ge=1, description="Maximum of words per side (clean-corpus-n.perl is usually run with 80 or 100)."
    )
    min_characters: int = Field(1, ge=0, description="Minimum of characters per side.")
    max_characters: int = Field(1000, ge=1, description="Maximum of characters per side.")

    def model_post_init(self, _context: Any) -> None:
        """Check that minima do not exceed maxima."""
        for unit, low, high in (
            ("words", self.min_words, self.max_words),
            ("characters", self.min_characters, self.max_characters),
        ):
            if low > high:
                message = f"min_{unit} = {low} is more than max_{unit} = {high}"
                raise ValueError(message)

    def keep(self, chunk: Text | TextPairs) -> NDArray[np.bool_]:
        """(n,) where every side is within the bounds."""
        return on_all_sides(chunk, self._within)

    def _within(self, text: Text) -> NDArray[np.bool_]:
        words, length = text.words.lengths, characters(text)
        kept: NDArray[np.bool_] = (words >= self.min_words) & (words <= self.max_words)
        return kept & (length >= self.min_characters) & (length <= self.max_characters)
