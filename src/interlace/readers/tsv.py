"""Tab-separated columns, one or two of them text; no quoting."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field

from interlace.core.errors import DataError
from interlace.readers.common.text import RowReader, tsv_rows

_Number = Annotated[int, Field(ge=0)]


class Tsv(RowReader):
    """A table with one sentence per cell. By default the header names the columns by language."""

    columns: tuple[str | _Number, ...] = Field(
        (),
        description="Column of each language, by name or number from 0; default: the languages' names.",
    )
    header: bool = Field(True, description="Whether the first line names the columns.")
    label: str | _Number | None = Field(
        None, description="Column of a label, by name or number."
    )

    @property
    def has_labels(self) -> bool:
        """Whether rows end with a label."""
        return self.label is not None

    def rows(
        self, languages: list[str], path: Path, notes: Counter[str]
    ) -> Iterator[list[str]]:
        """Yield the cell of each language, and the label; cells may be empty."""
        del notes
        columns: list[str | int] = list(self.columns)
        if not columns:
            columns += languages if self.header else range(len(languages))
        if len(columns) != len(languages):
            raise DataError(
                f"the reader 'tsv' has {len(columns)} columns for {len(languages)} languages; one each"
            )
        if self.label is not None:
            columns.append(self.label)
        for _, cells in tsv_rows(path, columns, self.header):
            yield cells
