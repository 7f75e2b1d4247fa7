"""Keep a share of the vocabulary and respell all other words: languages with shared words."""

from collections.abc import Sequence

from pydantic import Field

from interlace.derived import DerivedText, Transformation
from interlace.derived.common.layout import pair_uniform, respelled
from interlace.derived.transliterate import Transliterate
from interlace.text import Text


class Overlap(Transformation):
    """Transliterates all words but a share of the vocabulary, drawn by key (Tang et al. 2022, table 7: 0, 25, 50 %)."""

    share: float = Field(
        0.25, ge=0, le=1, description="Share of the word types that both languages have."
    )
    otherwise: Transliterate = Field(
        Transliterate(), description="How the other words are respelled."
    )

    @property
    def shares_words(self) -> bool:
        """Whether a share is set, or the other words keep marks or digits."""
        return self.share > 0 or self.otherwise.shares_words

    def derive(self, text: Text, key: int) -> DerivedText:
        """Return the derived lines."""

        def spell(words: Sequence[str]) -> list[str]:
            new = self.otherwise.spellings(words)
            stays = (pair_uniform(words, new, key) < self.share).tolist()
            return [
                old if stay else respelled_word
                for old, respelled_word, stay in zip(words, new, stays, strict=True)
            ]

        return respelled(text, spell)
