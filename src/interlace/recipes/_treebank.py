"""Sentences with their trees, looked up by what is written: so text in any format gets the trees of a treebank.

Whoever has a parser runs it over the text once and keeps CoNLL-U; that text, its translations and labels then need no
parser any more. White space is no difference, because formats of tokens put other blanks between words.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from interlace.errors import DataError
from interlace.ragged import Ragged
from interlace.readers import READERS
from interlace.synthetic._parts import concatenated

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from interlace.text import Text


@dataclass(frozen=True)
class Treebank:
    """Parsed sentences.

    text: all of them, with heads and the tags "pos" and "deprel". rows: the sentence that is written so, by what is
        left of its line without white space; of equal ones the first. files: where they stand, for messages.
    """

    text: Text
    rows: dict[str, int]
    files: str

    @classmethod
    def read(cls, paths: Sequence[Path], language: str) -> Treebank:
        """From CoNLL-U files.

        Raises:
            DataError: a file is missing or is not as CoNLL-U is.
        """
        reader: Any = READERS.build("conllu")
        chunks: list[Text] = list(reader.read_chunks(list(paths), [language]))
        text, _ = concatenated([(chunk, chunk.words) for chunk in chunks])
        rows: dict[str, int] = {}
        for row, line in enumerate(text.lines):
            rows.setdefault(_key(line), row)
        return cls(text, rows, ", ".join(str(path) for path in paths[:3]) + (" .." if len(paths) > 3 else ""))

    def parsed(self, text: Text) -> Text:
        """The text with the words, heads and tags of the trees of its lines; its own tags stay.

        Raises:
            DataError: a line has no tree, or its own words are not those of the tree; quotes it.
        """
        rows = np.array([self._row(line) for line in text.lines], np.int64)
        trees = {kind: [tags[row] for row in rows.tolist()] for kind, tags in self.text.tags.items()}
        words = self._words(text, rows)
        if text.tags and words != text.words:
            line = next(at for at in range(len(text)) if not np.array_equal(words[at], text.words[at]))
            raise DataError(
                f"the words of {text.lines[line][:80]!r} are {' | '.join(text.tokens(line))}, but others in its tree in "
                f"{self.files}; tags can only move with trees of the same words"
            )
        heads = None if self.text.heads is None else self.text.heads.take(rows)
        splitter = text.splitter if text.tags else self.text.splitter
        return replace(text, words=words, tags={**trees, **text.tags}, heads=heads, splitter=splitter)

    def _row(self, line: str) -> int:
        row = self.rows.get(_key(line), -1)
        if row < 0:
            raise DataError(
                f"no tree for the line {line[:80]!r} in {self.files}; parse it, and name the CoNLL-U in 'trees'"
            )
        return row

    def _words(self, text: Text, rows: np.ndarray) -> Ragged:
        """Where the words of the trees stand in the lines as they are written here."""
        words = self.text.words.take(rows)
        flat = words.flat.copy()
        for at, row in enumerate(rows.tolist()):
            if (line := text.lines[at]) != self.text.lines[row]:
                begin, end = words.offsets[at : at + 2]
                flat[begin:end] = _moved(flat[begin:end], self.text.lines[row], line)
        return Ragged(flat, words.offsets)


def _key(line: str) -> str:
    return "".join(line.split())


def _moved(spans: np.ndarray, before: str, after: str) -> np.ndarray:
    """Spans of one line in another that differs in white space only; a word keeps its first and last character."""
    marks = np.cumsum([not sign.isspace() for sign in before]) - 1  # the number of each character that is no blank
    places = np.flatnonzero([not sign.isspace() for sign in after])
    return np.stack([places[marks[spans[:, 0]]], places[marks[spans[:, 1] - 1]] + 1], axis=1).astype(spans.dtype)
