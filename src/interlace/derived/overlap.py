"""Keep a share of the vocabulary and respell all other words: languages with shared words."""

from collections.abc import Sequence

import numpy as np
from pydantic import Field

from interlace.derived import DerivedText, Transformation
from interlace.derived.common.layout import respelled
from interlace.derived.transliterate import Transliterate
from interlace.text import Text
from interlace.text.characters import code_points, line_starts


class Overlap(Transformation):
    """Transliterates all words but a share of the vocabulary, drawn by key (Tang et al. 2022, table 7: 0, 25, 50 %)."""

    share: float = Field(
        0.25, ge=0, le=1, description="Share of the word types that both languages have."
    )

    def derive(self, text: Text, key: int) -> DerivedText:
        """Return the derived lines."""
        from interlace.derived.common.kernels import hash_words

        def spell(words: Sequence[str]) -> list[str]:
            new_words = Transliterate().spellings(words)
            # A word and its replacement share one draw, so that both stay or they exchange places.
            drawn = [min(pair) for pair in zip(words, new_words, strict=True)]
            bounds = line_starts(drawn)
            bits = np.empty(len(drawn), np.uint64)
            hash_words(code_points(drawn), bounds[:-1], bounds[1:] - 1, np.uint64(key), bits)
            stays = (bits >> np.uint64(11)) / 2.0**53 < self.share
            spellings = np.where(stays, np.array(words, object), np.array(new_words, object))
            return list(spellings)

        return respelled(text, spell)
