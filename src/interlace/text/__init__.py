"""Text before token ids: lines, words as character spans, and optional labels.

Readers and the toy corpus produce `Text`; derived languages map it to new `Text`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from interlace.core.errors import DataError
from interlace.core.ragged import BoolArray, IntArray, Ragged

_SURROGATE = re.compile("[\ud800-\udfff]")


def check_lines(lines: Sequence[str]) -> None:
    """Raise a DataError if a line contains a line feed, or a lone surrogate, which UTF-8 cannot encode."""
    for number, line in enumerate(lines, 1):
        if "\n" in line:
            raise DataError(
                f"line {number} contains a line feed: {line[:60]!r}; expected one string a line"
            )
        surrogate = None if line.isascii() else _SURROGATE.search(line)
        if surrogate is not None:
            raise DataError(
                f"line {number} contains {surrogate[0]!r} at {surrogate.start()}, which is not a character"
            )


LanguagePair = tuple[str, str]  # codes of source and target


@dataclass(frozen=True)
class Text:
    """Lines of one language.

    words: per line (start, end) character spans, shape (total, 2) int32, in order and disjoint.
    word_tokenizer: name of the tokenizer that found the words; alignments and tags are valid only with the same one.
    tags: by kind (`"pos"`, `"names"`), per line one string a word; names are IOB2.
    labels: one string a line, or None.
    answers: per line the (start, end) character span of the answer to its question, (-1, -1) for none; or None.
    notes: corrections and omissions by the reader, with counts.
    heads: per line int32, the head of each word, -1 for a root, or None; the relations are `tags["deprel"]`.
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
    def of(
        cls, lines: Sequence[str], language: str = "", word_tokenizer: str = "whitespace"
    ) -> Text:
        """Tokenize lines (`interlace list word-tokenizers`); line feeds or lone surrogates in them are a DataError."""
        from interlace.text.word_tokenizers import WORD_TOKENIZERS

        check_lines(lines)
        words = WORD_TOKENIZERS.build(word_tokenizer).of(language).split(lines)
        return cls(language, list(lines), words, word_tokenizer)

    def __len__(self) -> int:
        return len(self.lines)

    def tokens(self, line: int) -> list[str]:
        """Return the words of one line."""
        return [self.lines[line][start:end] for start, end in self.words[line]]

    def where(self, mask: BoolArray) -> Text:
        """Select lines by a mask (n,), with their labels; the notes stay."""
        return self if mask.all() else self.take(np.flatnonzero(mask))

    def take(self, rows: IntArray) -> Text:
        """Select lines by their numbers, with their labels; the notes stay."""
        columns = _taken(self, ("lines", "words", "labels", "answers", "heads"), rows)
        tags = {}
        for kind, tags_of_lines in self.tags.items():
            tags[kind] = [tags_of_lines[row] for row in rows.tolist()]
        return replace(self, **columns, tags=tags)


def _taken(text: Text | TextPairs, names: Sequence[str], rows: IntArray) -> dict[str, Any]:
    """Return the selected rows of the columns, ragged arrays or lists, that a text has."""
    columns: dict[str, Any] = {}
    numbers = rows.tolist()
    for name in names:
        column = getattr(text, name)
        if isinstance(column, Ragged):
            columns[name] = column.take(rows)
        elif column is not None:
            columns[name] = [column[number] for number in numbers]
    return columns


@dataclass(frozen=True)
class TextPairs:
    """Pairs of lines: translations, premise and hypothesis (with labels), passage and question.

    links: per pair (source word, target word) indices, shape (total, 2) int32, or None.
    answers: per pair the accepted answers (empty for none), or None.
    ids: the names of the pairs in the file, or None; they may repeat.
    notes: corrections and omissions by the reader, with counts.
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
        languages: LanguagePair = ("source", "target"),
        word_tokenizer: str = "whitespace",
    ) -> TextPairs:
        """Tokenize lines and their translations, as `Text.of`; raise a DataError if their numbers differ."""
        if len(source) != len(target):
            raise DataError(
                f"{len(source)} source lines, but {len(target)} target lines; the sides must correspond"
            )
        return cls(
            Text.of(source, languages[0], word_tokenizer),
            Text.of(target, languages[1], word_tokenizer),
        )

    def __len__(self) -> int:
        return len(self.source)

    def where(self, mask: BoolArray) -> TextPairs:
        """Select pairs by a mask (n,), with their labels; the notes stay."""
        return self if mask.all() else self.take(np.flatnonzero(mask))

    def take(self, rows: IntArray) -> TextPairs:
        """Select pairs by their numbers, with their labels; the notes stay."""
        columns = _taken(self, ("links", "labels", "answers", "ids"), rows)
        return replace(
            self, source=self.source.take(rows), target=self.target.take(rows), **columns
        )
