"""Part of the vocabulary stays as it is, all other words become new ones: languages that share words."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field, field_validator

from interlace.derived import Derived, Transformation
from interlace.derived._lists import read_words
from interlace.derived._respelling import draws, exchanged
from interlace.derived.transliterate import Transliterate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.text import Text


class Overlap(Transformation):
    """Words transliterated, but for a share of the vocabulary (Tang et al. 2022, table 7: 0, 25 and 50 %).

    Without a list of words the share is drawn from all types by key. With one, words out of it change, and of those in
    it the first stay: from a list that is sorted by frequency, the most frequent ones.
    """

    share: float = Field(0.25, ge=0, le=1, description="Share of the word types that both languages have.")
    words: Path | None = Field(
        None, description="A list of words, one a line (a tab and a count may follow), of which the first stay."
    )
    otherwise: Transliterate = Field(Transliterate(), description="What becomes of the other words.")

    @field_validator("otherwise")
    @classmethod
    def _has_no_share(cls, otherwise: Transliterate) -> Transliterate:
        if otherwise.share != 1:
            message = "which words stay is said by overlap.share; leave otherwise.share out"
            raise ValueError(message)
        return otherwise

    @property
    def undoes(self) -> bool:
        """Always: words are exchanged."""
        return True

    @property
    def spells_marks(self) -> bool:
        """Where what becomes of other words does."""
        return self.otherwise.spells_marks

    def derive(self, text: Text, key: int) -> Derived:
        """The derived lines."""
        return exchanged(text, lambda words: self._spelt(words, key))

    def _spelt(self, words: Sequence[str], key: int) -> list[str]:
        new = self.otherwise.spelt(words, key)
        if self.words is None:
            pairs = [min(one, other) for one, other in zip(words, new, strict=True)]
            stay = (draws(pairs, key) < self.share).tolist()
        else:
            listed = read_words(self.words)
            kept = frozenset(listed[: round(self.share * len(listed))])
            stay = [one in kept or other in kept for one, other in zip(words, new, strict=True)]
        return [one if stays else other for one, other, stays in zip(words, new, stay, strict=True)]
