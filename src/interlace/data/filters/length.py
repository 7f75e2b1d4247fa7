"""Drops lines that are too short or too long, in words or characters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from interlace.data.filters import Filter
from interlace.data.filters._sides import characters, on_all_sides

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from interlace.text import Text, TextPairs


class Length(Filter):
    """Bounds for every side. Words are those of the corpus's word tokenizer: `blanks` finds one word in a Chinese line."""

    min_words: int = Field(1, ge=0, description="Fewest words of a side.")
    max_words: int = Field(
        100, ge=1, description="Most words of a side (clean-corpus-n.perl is most often run with 80 or 100)."
    )
    min_characters: int = Field(1, ge=0, description="Fewest characters of a side.")
    max_characters: int = Field(1000, ge=1, description="Most characters of a side.")

    def model_post_init(self, _context: Any) -> None:
        """Something must fit between the bounds."""
        for unit, least, most in (
            ("words", self.min_words, self.max_words),
            ("characters", self.min_characters, self.max_characters),
        ):
            if least > most:
                message = f"min_{unit} = {least} is more than max_{unit} = {most}"
                raise ValueError(message)

    def keep(self, chunk: Text | TextPairs, memory: Any = None) -> NDArray[np.bool_]:  # noqa: ARG002 - judges alone
        """(n,) where every side lies within the bounds."""
        return on_all_sides(chunk, self._within)

    def _within(self, text: Text) -> NDArray[np.bool_]:
        words, length = text.words.lengths, characters(text)
        kept: NDArray[np.bool_] = (words >= self.min_words) & (words <= self.max_words)
        return kept & (length >= self.min_characters) & (length <= self.max_characters)
