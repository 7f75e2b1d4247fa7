"""Tokens with IOB2 tags, one a line, an empty line between sentences (CoNLL 2003, WikiANN, MasakhaNER)."""

from __future__ import annotations

from collections import Counter
from sys import intern
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from interlace.core.errors import DataError
from interlace.readers import Reader
from interlace.readers._common import Tagged, chunks_of, joined, one_language, tagged_text
from interlace.readers._entities import begun, is_iob
from interlace.text.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from interlace.text import Text


class Iob(Reader):
    """Named entities. Columns stand apart by a tab, or by blanks where a line has no tab; further ones are passed over.

    An `I-` that does not go on with an entity of its type becomes a `B-` and is counted.
    """

    token: int = Field(0, description="Column of the token, from 0.")
    tag: int = Field(-1, description="Column of the tag, from 0; -1 is the last one.")
    join: Literal["auto", "blank", "nothing"] = Field(
        "auto", description="What stands between tokens in the line; auto: a blank, but nothing in unspaced scripts."
    )

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[Text]:
        """The files one after another; the tags are in `tags["names"]`, the words are the file's tokens."""
        language = one_language("iob", paths, languages)
        notes: Counter[str] = Counter()
        for chunk in chunks_of(sentence for path in paths for sentence in self._sentences(path, notes)):
            yield tagged_text(chunk, language, "names", "iob", notes)
            notes.clear()

    def _sentences(self, path: Path, notes: Counter[str]) -> Iterator[Tagged]:
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
            raise DataError(f"{path}: no sentence in the file")

    def _cells(self, path: Path, number: int, line: str) -> tuple[str, str]:
        cells = line.split("\t") if "\t" in line else line.split(" ")
        if len(cells) < 2 or not all(-len(cells) <= place < len(cells) for place in (self.token, self.tag)):
            raise DataError(
                f"{path}, line {number}: {len(cells)} columns, a token and a tag are expected: {line[:60]!r}"
            )
        tag = cells[self.tag].strip()
        if not is_iob(tag):
            raise DataError(f"{path}, line {number}: tag {tag!r}, expected O, B-TYPE or I-TYPE (IOB2)")
        return cells[self.token].strip(), intern(tag)  # one string a tag, not one a word

    def _sentence(self, rows: list[tuple[str, str]], notes: Counter[str]) -> Tagged:
        blanks = {"auto": None, "blank": True, "nothing": False}[self.join]
        line, spans = joined([token for token, _ in rows], blanks=blanks)
        return line, spans, begun([tag for _, tag in rows], notes)
