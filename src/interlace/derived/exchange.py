"""The words of a list are exchanged among themselves: a vocabulary in random order."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from interlace.core.errors import DataError
from interlace.derived import Derived, Transformation
from interlace.derived._lists import read_words
from interlace.derived._respelling import draws, exchanged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interlace.text import Text


class Exchange(Transformation):
    """Each word of a list becomes the word that it is paired with, and that one becomes it; other words stay.

    Both languages then have the same words with other meanings. Pairs are drawn by key, whatever the order of the
    list; where there is an odd word, it stays.
    """

    words: Path | None = Field(None, description="The words, one a line (a tab and a count may follow); required.")

    @property
    def lacks(self) -> str:
        """The words, where none are named."""
        return "" if self.words else "the change 'exchange' needs a list of words; name a file by exchange.words"

    @property
    def undoes(self) -> bool:
        """Always: words are exchanged."""
        return True

    @property
    def spells_marks(self) -> bool:
        """Where one of the words is a mark."""
        return self.words is not None and any(not any(map(str.isalnum, word)) for word in read_words(self.words))

    def derive(self, text: Text, key: int) -> Derived:
        """The derived lines.

        Raises:
            DataError: no list is named, or it cannot be read.
        """
        if self.words is None:
            raise DataError(self.lacks)
        partner = _paired(tuple(sorted(read_words(self.words))), key)
        return exchanged(text, lambda words: _swapped(words, partner))


def _swapped(words: Sequence[str], partner: dict[str, str]) -> list[str]:
    return [partner.get(word, word) for word in words]


@lru_cache(maxsize=4)
def _paired(words: tuple[str, ...], key: int) -> dict[str, str]:
    order = [words[place] for place in draws(words, key).argsort(kind="stable").tolist()]
    half = len(order) // 2
    pairs = list(zip(order[:half], order[half:], strict=False))
    return dict(pairs) | {other: one for one, other in pairs}
