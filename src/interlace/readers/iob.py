"""Tokens with IOB2 tags, one per line, an empty line between sentences (CoNLL 2003, WikiANN, MasakhaNER)."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from sys import intern
from typing import ClassVar

from pydantic import Field

from interlace.core.errors import DataError
from interlace.readers import Reader
from interlace.readers.common import text as common
from interlace.text import Text
from interlace.text.lines import read_lines


class Iob(Reader):
    """Named entities. Columns are separated by tabs, or by spaces in lines without a tab; further columns are ignored.

    An `I-` that does not continue an entity of its type becomes a `B-` and is counted.
    """

    joins_words: ClassVar[bool] = True

    token: int = Field(0, description="Column of the token, from 0.")
    tag: int = Field(-1, description="Column of the tag, from 0; -1 is the last one.")

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[Text]:
        """Read one file after another; the words are the file's tokens, the tags are in `tags["names"]`."""
        common.expect(
            "iob",
            "files of one language",
            paths,
            languages,
            fits=bool(paths) and len(languages) == 1,
        )
        for chunk, notes in common.chunks_with_notes(paths, self._sentences):
            yield common.tagged_text(chunk, languages[0], "names", "iob", notes)

    def _sentences(self, path: Path, notes: Counter[str]) -> Iterator[common.TaggedLine]:
        tokens: list[str] = []
        tags: list[str] = []
        is_empty = True
        for number, row in enumerate(chain(read_lines(path), [""]), 1):
            if row.strip(" \t") and not row.startswith("-DOCSTART-"):
                token, tag = self._cells(path, number, row)
                if token:
                    tokens.append(token)
                    tags.append(tag)
                    common.check_sentence(tokens, path, number)
                else:
                    notes["tokens of white space left out"] += 1
            elif tokens:
                line, spans = common.join_tokens(tokens)
                yield common.TaggedLine(line, spans, common.repaired_iob(tags, notes))
                tokens = []
                tags = []
                is_empty = False
        if is_empty:
            raise DataError(f"{path}: the file holds no sentence")

    def _cells(self, path: Path, number: int, line: str) -> tuple[str, str]:
        """Return the token and the tag of a line."""
        cells = line.split("\t") if "\t" in line else line.split(" ")
        if len(cells) < 2 or not all(
            -len(cells) <= column < len(cells) for column in (self.token, self.tag)
        ):
            raise DataError(
                f"{path}, line {number}: {len(cells)} columns, expected a token and a tag: {line[:60]!r}"
            )
        tag = cells[self.tag].strip()
        if not common.is_iob(tag):
            raise DataError(
                f"{path}, line {number}: tag {tag!r}, expected O, B-TYPE or I-TYPE (IOB2)"
            )
        return cells[self.token].strip(), intern(tag)  # one string per tag instead of one per word
