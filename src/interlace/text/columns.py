"""Lines as arrays of characters, from which batches of text are gathered without a loop over lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from interlace.core.ragged import AnyArray, Ragged
from interlace.text import Text
from interlace.text.characters import points_of

LINE_FEED = ord("\n")


@dataclass(frozen=True)
class TextColumns:
    """n lines.

    characters: n rows of code points; each row ends with a line feed, and has no other.
    words: n rows of (start, end) int32 spans of characters.
    """

    characters: Ragged
    words: Ragged

    @classmethod
    def of(cls, text: Text) -> TextColumns:
        """Return the lines and words of a text."""
        return cls.read("\n".join([*text.lines, ""]), text.words)

    @classmethod
    def read(cls, string: str, words: Ragged) -> TextColumns:
        """Return lines from a string in which a line feed follows each of them."""
        characters = points_of(string)
        ends = np.flatnonzero(characters == LINE_FEED) + 1
        return cls(Ragged(characters, np.append(0, ends)), words)

    @classmethod
    def concatenate(cls, parts: Sequence[TextColumns]) -> TextColumns:
        """Return the lines of all parts, in order."""
        characters = Ragged.concatenate([part.characters for part in parts])
        return cls(characters, Ragged.concatenate([part.words for part in parts]))

    def __len__(self) -> int:
        return len(self.words)

    def take(self, rows: AnyArray | Sequence[int]) -> TextColumns:
        """Return a copy of the given lines."""
        return TextColumns(self.characters.take(rows), self.words.take(rows))

    @property
    def string(self) -> str:
        """All lines, each followed by a line feed."""
        return self.characters.flat.astype("<u4").tobytes().decode("utf-32-le")

    @property
    def lines(self) -> list[str]:
        """The lines as strings."""
        return self.string.split("\n")[:-1]

    def text(self, language: str = "") -> Text:
        """Return the lines and words as a text."""
        return Text(language, self.lines, self.words)
