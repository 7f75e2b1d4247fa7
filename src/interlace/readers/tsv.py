"""Tab-separated columns, one or two of them text; no quoting."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field

from interlace.core.display import listed
from interlace.core.errors import DataError
from interlace.readers import TokenizingReader
from interlace.readers.common.text import chunks_of, columns_of, expect, plain, tsv_rows
from interlace.text import Text, TextPairs

_Number = Annotated[int, Field(ge=0)]


class Tsv(TokenizingReader):
    """A table with one sentence per cell. By default the header names the columns by language."""

    columns: tuple[str | _Number, ...] = Field(
        (),
        description="Column of each language, by name or number from 0; default: the languages' names.",
    )
    header: bool = Field(True, description="Whether the first line names the columns.")
    label: str | _Number | None = Field(None, description="Column of a label, by name or number.")

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[Text | TextPairs]:
        """Read one file after another; cells may be empty."""
        expect(self, paths, languages, 1, 2)
        columns: list[str | int] = list(self.columns)
        if not columns:
            columns += languages if self.header else range(len(languages))
        if len(columns) != len(languages):
            raise DataError(
                f"the reader 'tsv' has {len(columns)} columns for {len(languages)} languages; one each"
            )
        if self.label is not None:
            columns.append(self.label)
        rows = (cells for path in paths for _, cells in tsv_rows(path, columns, self.header))
        for chunk in chunks_of(rows, f"{listed(paths)}: there is no row"):
            sides = columns_of(chunk)
            labels = None if self.label is None else sides.pop()
            yield plain(sides, languages, self.word_tokenizer, labels)
