"""What is found in text, and in which rows: a kind of problem with examples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from interlace.core.display import escaped

Level = Literal["error", "warning", "note"]
"""Of a finding. Error: a corpus cannot be built. Warning: should be checked. Note: handled, or too rare to matter."""

MAX_EXCERPTS = 3  # kept per finding
_EXCERPT = 80  # characters


@dataclass(frozen=True)
class RowNames:
    """Names of consecutive rows, such as `train.en:12`; `first` is the number of row 0."""

    prefix: str
    first: int = 1

    def __call__(self, row: int) -> str:
        """Return the name of a row."""
        return f"{self.prefix}{self.first + row}"

    def after(self, rows: int) -> RowNames:
        """Return the names of the rows behind so many of these."""
        return RowNames(self.prefix, self.first + rows)


@dataclass(frozen=True)
class Excerpt:
    """Text at one place; `where` is `"train.en:12"` or `"line 12"`."""

    where: str
    text: str

    @classmethod
    def of(cls, where: str, *texts: str) -> Excerpt:
        """Return the beginning of the text with control characters escaped; several texts are the sides of a pair."""
        shortened = []
        for text in texts:
            is_long = len(text) > _EXCERPT
            shortened.append(f"{text[: _EXCERPT - 1]}…" if is_long else text)
        shown = ""
        for character in " | ".join(shortened):
            shown += character if character.isprintable() else escaped(character)
        return cls(where, shown)


@dataclass(frozen=True)
class Finding:
    """One kind of problem with a short name: `count` lines or pairs of `total`; about: its meaning and remedy."""

    level: Level
    what: str
    count: int
    total: int
    about: str
    examples: tuple[Excerpt, ...] = ()
