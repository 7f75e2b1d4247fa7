"""Tables of tab-separated columns without quoting: a quote is a character like any other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from interlace.core.errors import DataError, did_you_mean
from interlace.text.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


@dataclass(frozen=True)
class Row:
    """One line of a table: chosen cells in the order they were asked for, and where it stands."""

    path: Path
    line: int
    cells: list[str]

    def error(self, message: str) -> DataError:
        """An error about this line."""
        return DataError(f"{self.path}, line {self.line}: {message}")


def rows(
    path: Path, columns: Sequence[str | int | tuple[str, ...]], *, header: bool, optional: Sequence[str] = ()
) -> Iterator[Row]:
    """The chosen columns of each line, by name or by number from 0.

    columns: a name, a number from 0, or several names of which the header's is meant.
    optional: names that follow `columns`, whose cells are empty where the header does not have them.

    Raises:
        DataError: a column is not there, or a line is too short; names file and line.
    """
    lines = enumerate(read_lines(path), 1)
    names: list[str] = []
    if header:
        names = next(lines)[1].split("\t")
    places = [_place(path, column, names, header=header) for column in columns]
    spare = [names.index(name) if name in names else -1 for name in optional]
    width = max([*places, *spare], default=0) + 1
    for number, line in lines:
        cells = line.split("\t")
        if len(cells) < max(width, len(names)):
            if not line.strip():
                continue  # an empty line at the end of a file
            expected = f"the header names {len(names)}" if header else f"column {width - 1} (counted from 0) is needed"
            raise DataError(f"{path}, line {number}: {len(cells)} tab-separated columns, {expected}")
        yield Row(path, number, [*(cells[place] for place in places), *(cells[p] if p >= 0 else "" for p in spare)])


def _place(path: Path, column: str | int | tuple[str, ...], names: list[str], *, header: bool) -> int:
    if isinstance(column, tuple):
        there = [name for name in column if name in names]
        if not there:
            known = ", ".join(map(repr, column))
            near = next(filter(None, (did_you_mean(name, names) for name in column)), "; name yours in the reader")
            raise DataError(f"{path}: the header has none of the columns {known}{near}")
        column = there[0]
    if isinstance(column, int):
        if header and column >= len(names):
            raise DataError(f"{path}: there is no column {column}; the header names {len(names)}, counted from 0")
        return column
    if not header:
        raise DataError(f"{path}: column {column!r} is asked for by name, but header = false; give its number from 0")
    if column not in names:
        raise DataError(f"{path}: the header has no column {column!r}{did_you_mean(column, names)}")
    return names.index(column)
