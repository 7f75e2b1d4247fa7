"""Tables of tab-separated columns without quoting: a quote is an ordinary character."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from interlace.core.errors import DataError, did_you_mean
from interlace.text.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


@dataclass(frozen=True)
class TsvRow:
    """Selected cells of one line of a table."""

    path: Path
    line: int
    cells: list[str]

    def error(self, message: str) -> DataError:
        """Return an error about this line."""
        return DataError(f"{self.path}, line {self.line}: {message}")


def tsv_rows(
    path: Path, columns: Sequence[str | int | tuple[str, ...]], *, header: bool, optional: Sequence[str] = ()
) -> Iterator[TsvRow]:
    """Yield the selected columns of each line.

    columns: a name, a number from 0, or several names of which the first that the header has is read.
    optional: names of further columns; their cells are empty if the header does not have them.

    Raises:
        DataError: a column is missing, or a line is too short; names file and line.
    """
    lines = enumerate(read_lines(path), 1)
    names: list[str] = []
    if header:
        names = next(lines)[1].split("\t")
    required = [_index(path, column, names, header=header) for column in columns]
    extra = [names.index(name) if name in names else -1 for name in optional]
    width = max([*required, *extra], default=0) + 1
    for number, line in lines:
        cells = line.split("\t")
        if len(cells) < max(width, len(names)):
            if not line.strip():
                continue  # an empty line at the end of a file
            expected = f"the header names {len(names)}" if header else f"column {width - 1} (counted from 0) is needed"
            raise DataError(f"{path}, line {number}: {len(cells)} tab-separated columns, {expected}")
        yield TsvRow(path, number, [*(cells[at] for at in required), *(cells[at] if at >= 0 else "" for at in extra)])


def _index(path: Path, column: str | int | tuple[str, ...], names: list[str], *, header: bool) -> int:
    if isinstance(column, tuple):
        present = [name for name in column if name in names]
        if not present:
            known = ", ".join(map(repr, column))
            near = next(filter(None, (did_you_mean(name, names) for name in column)), "; name yours in the reader")
            raise DataError(f"{path}: the header has none of the columns {known}{near}")
        column = present[0]
    if isinstance(column, int):
        if header and column >= len(names):
            raise DataError(f"{path}: there is no column {column}; the header names {len(names)}, counted from 0")
        return column
    if not header:
        raise DataError(f"{path}: column {column!r} is a name, but header = false; give its number from 0")
    if column not in names:
        raise DataError(f"{path}: the header has no column {column!r}{did_you_mean(column, names)}")
    return names.index(column)
