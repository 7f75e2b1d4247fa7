"""Tab-separated columns, one or two of them text; no quoting."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field

from interlace.core.display import listed
from interlace.core.errors import DataError
from interlace.readers import Reader
from interlace.readers.common.text import chunks_of, columns_of, expect, plain, tsv_rows
from interlace.text import Text, TextPairs

_Number = Annotated[int, Field(ge=0)]


class Tsv(Reader):
    """A table with one sentence per cell. By default the header names the columns by language."""

    columns: tuple[str | _Number, ...] = Field(
        (),
        description="Column of each language, by name or number from 0; default: the languages' names.",
    )
    header: bool = Field(True, description="Whether the first line names the columns.")
    label: str | _Number | None = Field(None, description="Column of a label, by name or number.")
    word_tokenizer: str = Field(
        "whitespace", description="Word tokenizer (an entry of that registry)."
    )

    def read_chunks(self, paths: list[Path], languages: list[str]) -> Iterator[Text | TextPairs]:
        """Read one file after another; cells may be empty."""
        fits = bool(paths) and len(languages) in {1, 2}
        expect("tsv", "files of one language or two", paths, languages, fits=fits)
        columns: list[str | int] = list(self.columns)
        if not columns and self.header:
            columns = list(languages)
        elif not columns:
            columns = list(range(len(languages)))
        if len(columns) != len(languages):
            raise DataError(
                f"the reader 'tsv' has {len(columns)} columns for {len(languages)} languages; one each"
            )
        if self.label is not None:
            columns.append(self.label)
        rows = (row.cells for path in paths for row in tsv_rows(path, columns, header=self.header))
        below = " below the header" if self.header else ""
        for chunk in chunks_of(rows, f"{listed(paths)}: no row{below}"):
            sides = columns_of(chunk)
            labels = None if self.label is None else sides.pop()
            yield plain(sides, languages, self.word_tokenizer, labels)
