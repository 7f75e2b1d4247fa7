"""Rows with named columns: of a data set of the hub, or of a JSON Lines file."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

from interlace.core.errors import DataError, did_you_mean
from interlace.readers._hub import Address, is_hub, open_data_set
from interlace.text.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path


@dataclass(frozen=True)
class Row:
    """One row of a table, and where it stands, from 1."""

    path: Path
    number: int
    values: Mapping[str, Any]

    def value(self, column: str) -> Any:
        """What stands in a column.

        Raises:
            DataError: this row of a JSON Lines file has no such column.
        """
        if column not in self.values:
            raise self.error(f"there is no {column!r}{did_you_mean(column, self.values)}")
        return self.values[column]

    def text(self, column: str) -> str:
        """The text in a column."""
        value = self.value(column)
        if not isinstance(value, str):
            raise self.error(f"{column!r} is {value!r}, expected text")
        return value

    def error(self, message: str) -> DataError:
        """An error about this row."""
        return DataError(f"{self.path}, row {self.number}: {message}")


@dataclass
class Table:
    """A table that is read once.

    columns: those of the first row. names: of numbered labels and tags, by column. read: how many rows were.
    """

    path: Path
    columns: list[str]
    contents: Iterable[Mapping[str, Any]]
    names: Mapping[str, list[str]] = field(default_factory=dict)
    read: int = 0

    def rows(self) -> Iterator[Row]:
        """All rows."""
        for values in self.contents:
            self.read += 1
            yield Row(self.path, self.read, values)


def open_table(path: Path) -> Table:
    """The data set that `hub:..` names, or the file at a path.

    Raises:
        DataError: it is not there, empty or damaged. MissingDependencyError: as `open_data_set`.
    """
    if not is_hub(path):
        return _table(path, _objects(path), {})
    try:
        address = Address.read(str(path))
    except ValueError as error:
        raise DataError(str(error)) from None
    opened = open_data_set(address)
    return _table(path, iter(opened), opened.names)


def _table(path: Path, contents: Iterator[Mapping[str, Any]], names: Mapping[str, list[str]]) -> Table:
    first = next(contents, None)
    if first is None:
        raise DataError(f"{path}: it holds no rows")
    return Table(path, list(first), chain([first], contents), names)


def _objects(path: Path) -> Iterator[Mapping[str, Any]]:
    """The object on each line that is not empty."""
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            raise DataError(f"{path}, line {number}: this is no JSON: {error}") from error
        if not isinstance(found, dict):
            raise DataError(f"{path}, line {number}: {line[:60]!r}; expected an object with a value for each column")
        yield found
