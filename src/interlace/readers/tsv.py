"""Tab-separated columns, one of them or two chosen as text; no quoting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from interlace.core.errors import DataError
from interlace.readers import Reader
from interlace.readers._columns import Row, rows
from interlace.readers._common import chunks_of, plain_pairs, plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from interlace.text import Text, TextPairs


class Tsv(Reader):
    """A table with a sentence a cell. By default its header names the columns by language."""

    columns: tuple[str | int, ...] = Field(
        (), description="The column of each language, by name or number from 0; empty: named like the languages."
    )
    header: bool = Field(True, description="Whether the first line names the columns.")
    label: str | int | None = Field(None, description="A column with a label of the line, by name or number.")
    word_tokenizer: str = Field("blanks", description="What finds the words (a member of the room of word tokenizers).")

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[Text | TextPairs]:
        """The files one after another; a cell may be empty."""
        columns = self._columns(paths, languages)
        found = (row for path in paths for row in rows(path, columns, header=self.header))
        for chunk in chunks_of(found):
            yield self._chunk(chunk, languages)

    def _columns(self, paths: list[Path], languages: list[str]) -> list[str | int]:
        if not paths or len(languages) not in {1, 2}:
            raise DataError(
                f"the reader 'tsv' takes files of one language or two, found {len(paths)} files for "
                f"{len(languages)} languages ({', '.join(languages)})"
            )
        columns = list(self.columns) or (list(languages) if self.header else list(range(len(languages))))
        if len(columns) != len(languages):
            raise DataError(f"the reader 'tsv' has {len(columns)} columns for {len(languages)} languages; one each")
        return columns if self.label is None else [*columns, self.label]

    def _chunk(self, chunk: list[Row], languages: list[str]) -> Text | TextPairs:
        labels = None if self.label is None else [row.cells[-1] for row in chunk]
        sides = [[row.cells[side] for row in chunk] for side in range(len(languages))]
        if len(languages) == 1:
            return plain_text(sides[0], languages[0], self.word_tokenizer, labels)
        return plain_pairs((sides[0], sides[1]), (languages[0], languages[1]), self.word_tokenizer, labels)
