"""Text before ids: lines, their words as character spans, and optional labels.

Readers yield `Text`, the toy corpus makes it, derived languages map it to new `Text`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import compress
from typing import TYPE_CHECKING

from interlace.core.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from interlace.core.ragged import Ragged


@dataclass(frozen=True)
class Text:
    """Lines of one language.

    words: a row a line of (start, end) character spans, shape (total, 2) int32, in order and disjoint.
    word_tokenizer: the name of what found the words; links and tags are only valid under the same one.
    tags: by kind (`"pos"`, `"names"`), one string a word a line; names are IOB2.
    labels: one string a line, or None.
    answers: a (start, end) character span a line, or None: where the answer to the line's question stands; (-1, -1)
        where it stands nowhere.
    notes: what the reader mended or left out in making these lines, and how often.
    heads: a row a line of int32, the word of the line that each word depends on, -1 for a root, or None; the relations
        are `tags["deprel"]`.
    """

    language: str
    lines: list[str]
    words: Ragged
    word_tokenizer: str = "whitespace"
    tags: dict[str, list[list[str]]] = field(default_factory=dict)
    labels: list[str] | None = None
    answers: list[tuple[int, int]] | None = None
    notes: dict[str, int] = field(default_factory=dict)
    heads: Ragged | None = None

    @classmethod
    def of(cls, lines: Sequence[str], language: str = "", word_tokenizer: str = "whitespace") -> Text:
        """Lines with the words that a word tokenizer finds.

        word_tokenizer: a name, as `interlace list word-tokenizers` has them.

        Raises:
            SettingsError: there is no such word tokenizer.
            MissingDependencyError: it needs a package that is not installed.
            DataError: a line holds a line feed, which ends lines.
        """
        from interlace.text.word_tokenizers import WORD_TOKENIZERS

        for number, line in enumerate(lines, 1):
            if "\n" in line:
                raise DataError(f"line {number} holds a line feed: {line[:60]!r}; expected a string for each line")
        return cls(
            language, list(lines), WORD_TOKENIZERS.build(word_tokenizer).of(language).split(lines), word_tokenizer
        )

    def __len__(self) -> int:
        return len(self.lines)

    def tokens(self, line: int) -> list[str]:
        """The words of one line as strings."""
        return [self.lines[line][start:end] for start, end in self.words[line]]

    def where(self, mask: NDArray[np.bool_]) -> Text:
        """The lines where the mask (n,) holds, with all that belongs to them; the notes stay."""
        if mask.all():
            return self
        return replace(
            self,
            lines=list(compress(self.lines, mask)),
            words=self.words.take(mask),
            tags={kind: list(compress(tags, mask)) for kind, tags in self.tags.items()},
            labels=None if self.labels is None else list(compress(self.labels, mask)),
            answers=None if self.answers is None else list(compress(self.answers, mask)),
            heads=None if self.heads is None else self.heads.take(mask),
        )


@dataclass(frozen=True)
class TextPairs:
    """Two sides of equal length: translations, premise and hypothesis (labels stand on the pair), passage and question.

    links: a row a line of (source word, target word) index pairs, shape (total, 2) int32, or None.
    answers: the texts that count as answers, a list a pair (empty where there is none), or None.
    ids: what a file calls its pairs, or None; they may repeat.
    notes: what the reader mended or left out in making these pairs, and how often.
    """

    source: Text
    target: Text
    links: Ragged | None = None
    labels: list[str] | None = None
    answers: list[list[str]] | None = None
    ids: list[str] | None = None
    notes: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        source: Sequence[str],
        target: Sequence[str],
        languages: tuple[str, str] = ("source", "target"),
        word_tokenizer: str = "whitespace",
    ) -> TextPairs:
        """Lines and their translations with the words that a word tokenizer finds, as `Text.of` does.

        Raises:
            DataError: the sides differ in lines, or a line holds a line feed.
        """
        if len(source) != len(target):
            raise DataError(f"{len(source)} source lines, but {len(target)} target lines; the sides must correspond")
        return cls(Text.of(source, languages[0], word_tokenizer), Text.of(target, languages[1], word_tokenizer))

    def __len__(self) -> int:
        return len(self.source)

    def where(self, mask: NDArray[np.bool_]) -> TextPairs:
        """The pairs where the mask (n,) holds, with all that belongs to them; the notes stay."""
        if mask.all():
            return self
        return replace(
            self,
            source=self.source.where(mask),
            target=self.target.where(mask),
            links=None if self.links is None else self.links.take(mask),
            labels=None if self.labels is None else list(compress(self.labels, mask)),
            answers=None if self.answers is None else list(compress(self.answers, mask)),
            ids=None if self.ids is None else list(compress(self.ids, mask)),
        )
