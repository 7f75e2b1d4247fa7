"""Keep a share of the vocabulary and respell all other words: languages with shared words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from pydantic import Field, field_validator

from interlace.derived import DerivedText, Transformation
from interlace.derived.common.layout import pair_uniform, read_words, respelled
from interlace.derived.transliterate import Transliterate
from interlace.text import Text


class Overlap(Transformation):
    """Transliterates all words but a share of the vocabulary (Tang et al. 2022, table 7: 0, 25 and 50 %).

    Without a list of words the kept types are drawn by key. With one, its first words are kept: from a list sorted by
    frequency, the most frequent ones.
    """

    invertible: ClassVar[bool] = True

    share: float = Field(0.25, ge=0, le=1, description="Share of the word types that both languages have.")
    words: Path | None = Field(
        None, description="A list of words, one per line (a tab and a count may follow), of which the first are kept."
    )
    otherwise: Transliterate = Field(Transliterate(), description="How the other words are respelled.")

    @field_validator("otherwise")
    @classmethod
    def _has_no_share(cls, otherwise: Transliterate) -> Transliterate:
        if otherwise.share != 1:
            raise ValueError("set overlap.share instead of otherwise.share")
        return otherwise

    def derive(self, text: Text, key: int) -> DerivedText:
        """Return the derived lines."""

        def spell(words: Sequence[str]) -> list[str]:
            new = self.otherwise.spellings(words, key)
            if self.words is None:
                stays = (pair_uniform(words, new, key) < self.share).tolist()
            else:
                listed = read_words(self.words)
                kept = frozenset(listed[: round(self.share * len(listed))])
                stays = [one in kept or other in kept for one, other in zip(words, new, strict=True)]
            return [old if stay else other for old, other, stay in zip(words, new, stays, strict=True)]

        return respelled(text, spell)
