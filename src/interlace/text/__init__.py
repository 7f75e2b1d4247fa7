"""Text before ids: lines, their words as character spans, and optional labels.

Readers yield `Text`, the micro-world makes it, derived languages map it to new `Text`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from interlace.ragged import Ragged


@dataclass(frozen=True)
class Text:
    """Lines of one language.

    words: a row a line of (start, end) character spans, shape (total, 2) int32, in order and disjoint.
    splitter: the name of what found the words; links and tags are only valid under the same one.
    tags: by kind (`"pos"`, `"names"`), one string a word a line; names are IOB2.
    labels: one string a line, or None.
    answers: a (start, end) character span a line, or None: the extractive answer to the line's question.
    notes: what the reader mended or left out in making these lines, and how often.
    """

    language: str
    lines: list[str]
    words: Ragged
    splitter: str = "blanks"
    tags: dict[str, list[list[str]]] = field(default_factory=dict)
    labels: list[str] | None = None
    answers: list[tuple[int, int]] | None = None
    notes: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.lines)

    def tokens(self, line: int) -> list[str]:
        """The words of one line as strings."""
        return [self.lines[line][start:end] for start, end in self.words[line]]


@dataclass(frozen=True)
class TextPairs:
    """Two sides of equal length: translations, or premise and hypothesis (labels stand on the pair).

    links: a row a line of (source word, target word) index pairs, shape (total, 2) int32, or None.
    notes: what the reader mended or left out in making these pairs, and how often.
    """

    source: Text
    target: Text
    links: Ragged | None = None
    labels: list[str] | None = None
    notes: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.source)
