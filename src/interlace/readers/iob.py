"""Tokens with IOB2 tags, one per line, an empty line between sentences (CoNLL 2003, WikiANN, MasakhaNER)."""

from __future__ import annotations

from collections import Counter
from sys import intern
from typing import TYPE_CHECKING

from pydantic import Field

from interlace.core.errors import DataError
from interlace.readers import Reader
from interlace.readers.common.text import (
    Join,
    TaggedLine,
    chunks_of,
    is_iob,
    join_tokens,
    one_language,
    repaired_iob,
    tagged_text,
)
from interlace.text.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from interlace.text import Text


class Iob(Reader):
    """Named entities. Columns are separated by tabs, or by spaces in lines without a tab; further columns are ignored.

    An `I-` that does not continue an entity of its type becomes a `B-` and is counted.
    """

    token: int = Field(0, description="Column of the token, from 0.")
    tag: int = Field(-1, description="Column of the tag, from 0; -1 is the last one.")
    join: Join = Field("auto", description="Separator of tokens in the line; auto: a space, none in unspaced scripts.")

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[Text]:
        """Read one file after another; the words are the file's tokens, the tags are in `tags["names"]`."""
        language = one_language("iob", paths, languages)
        notes: Counter[str] = Counter()
        for chunk in chunks_of(sentence for path in paths for sentence in self._sentences(path, notes)):
            yield tagged_text(chunk, language, "names", "iob", notes)
            notes.clear()

    def _sentences(self, path: Path, notes: Counter[str]) -> Iterator[TaggedLine]:
        rows: list[tuple[str, str]] = []
        found = False
        for number, line in enumerate(read_lines(path), 1):
            if line.strip(" \t") and not line.startswith("-DOCSTART-"):
                token, tag = self._cells(path, number, line)
                if token:
                    rows.append((token, tag))
                else:
                    notes["tokens of white space left out"] += 1
            elif rows:
                yield self._sentence(rows, notes)
                rows, found = [], True
        if rows:
            yield self._sentence(rows, notes)
        elif not found:
            raise DataError(f"{path}: the file holds no sentence")

    def _cells(self, path: Path, number: int, line: str) -> tuple[str, str]:
        cells = line.split("\t") if "\t" in line else line.split(" ")
        if len(cells) < 2 or not all(-len(cells) <= column < len(cells) for column in (self.token, self.tag)):
            raise DataError(f"{path}, line {number}: {len(cells)} columns, expected a token and a tag: {line[:60]!r}")
        tag = cells[self.tag].strip()
        if not is_iob(tag):
            raise DataError(f"{path}, line {number}: tag {tag!r}, expected O, B-TYPE or I-TYPE (IOB2)")
        return cells[self.token].strip(), intern(tag)  # one string per tag instead of one per word

    def _sentence(self, rows: list[tuple[str, str]], notes: Counter[str]) -> TaggedLine:
        line, spans = join_tokens([token for token, _ in rows], self.join)
        return line, spans, repaired_iob([tag for _, tag in rows], notes)
