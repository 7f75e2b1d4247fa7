"""Tab-separated columns, one or two of them text; no quoting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from interlace.core.errors import DataError
from interlace.readers import Reader
from interlace.readers.common.tables import TsvRow, tsv_rows
from interlace.readers.common.text import chunks_of, plain_pairs, plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from interlace.text import Text, TextPairs


class Tsv(Reader):
    """A table with one sentence per cell. By default the header names the columns by language."""

    columns: tuple[str | int, ...] = Field(
        (), description="Column of each language, by name or number from 0; default: the languages' names."
    )
    header: bool = Field(True, description="Whether the first line names the columns.")
    label: str | int | None = Field(None, description="Column of a label, by name or number.")
    word_tokenizer: str = Field("whitespace", description="Word tokenizer (an entry of that registry).")

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[Text | TextPairs]:
        """Read one file after another; cells may be empty."""
        columns = self._columns(paths, languages)
        found = (row for path in paths for row in tsv_rows(path, columns, header=self.header))
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

    def _chunk(self, chunk: list[TsvRow], languages: list[str]) -> Text | TextPairs:
        labels = None if self.label is None else [row.cells[-1] for row in chunk]
        sides = [[row.cells[side] for row in chunk] for side in range(len(languages))]
        if len(languages) == 1:
            return plain_text(sides[0], languages[0], self.word_tokenizer, labels)
        return plain_pairs((sides[0], sides[1]), (languages[0], languages[1]), self.word_tokenizer, labels)
