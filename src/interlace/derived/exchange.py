"""Exchange the words of a list among themselves: a permuted vocabulary."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from interlace.core.errors import DataError
from interlace.derived import DerivedText, Transformation
from interlace.derived.common.layout import read_words, respelled, uniform
from interlace.text import Text


class Exchange(Transformation):
    """Pairs the words of a list at random and exchanges the words of each pair; other words stay.

    Both languages then have the same words with other meanings. Pairs depend on the key, not on the order of the list;
    of an odd number of words one stays.
    """

    invertible: ClassVar[bool] = True
    required: ClassVar[tuple[str, str]] = ("words", "a list of words; set exchange.words to a file")

    words: Path | None = Field(None, description="The words, one per line (a tab and a count may follow); required.")

    @property
    def respells_punctuation(self) -> bool:
        """Whether one of the words is a punctuation mark."""
        return self.words is not None and any(not any(map(str.isalnum, word)) for word in read_words(self.words))

    def derive(self, text: Text, key: int) -> DerivedText:
        """Return the derived lines.

        Raises:
            DataError: no list is set, or it cannot be read.
        """
        if self.words is None:
            raise DataError(self.missing)
        partner = _paired(tuple(sorted(read_words(self.words))), key)
        return respelled(text, lambda words: [partner.get(word, word) for word in words])


@lru_cache(maxsize=4)
def _paired(words: tuple[str, ...], key: int) -> dict[str, str]:
    order = [words[place] for place in uniform(words, key).argsort(kind="stable").tolist()]
    half = len(order) // 2
    pairs = list(zip(order[:half], order[half:], strict=False))
    return dict(pairs) | {other: one for one, other in pairs}
