"""Tables of named columns: JSON Lines and Parquet files, and data sets of the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

from interlace.core.display import listed
from interlace.core.errors import DataError, did_you_mean
from interlace.core.files import must_exist
from interlace.core.json_files import JsonObject, parse_json
from interlace.readers import is_hub
from interlace.readers.common.arrow import small_parts
from interlace.readers.common.hub import first_line, open_dataset
from interlace.text.lines import read_lines

_BATCH_ROWS = 1000
_MEAN_BYTES = 1 << 26  # that a batch may have if all rows are of mean length
_BATCH_BYTES = 1 << 30  # that a batch may have if all rows hold the longest value
_MAX_EXPANDED = 1 << 30  # bytes of a column chunk that is stored in fewer
_MAX_RATIO = 20  # of what may be larger


@dataclass(frozen=True)
class Row:
    """A row of a table, whose number counts from 1."""

    path: Path
    number: int
    values: Mapping[str, Any]

    def error(self, message: str) -> DataError:
        """Return an error about this row."""
        return DataError(f"{self.path}: row {self.number}: {message}")

    def get(self, column: str) -> Any:
        """Return the value of a column."""
        if column not in self.values:
            raise self.error(f"there is no {column!r}{did_you_mean(column, self.values)}")
        return self.values[column]

    def text(self, column: str) -> str:
        """Return the value of a column of texts."""
        value = self.get(column)
        if not isinstance(value, str):
            raise self.error(f"{column!r} is {value!r:.60}, expected a string")
        return value


@dataclass
class ColumnTable:
    """A table that is read once.

    columns: those of the schema, or of the first row. read: gives the rows with the values of some columns.
    names: names of numbered labels and tags, by column. count: rows read so far.
    """

    path: Path
    columns: list[str]
    read: Callable[[list[str]], Iterable[Mapping[str, Any]]]
    names: Mapping[str, list[str]] = field(default_factory=dict)
    count: int = 0

    @classmethod
    def open(cls, path: Path) -> ColumnTable:
        """Open the data set that `hub:..` names, or a file; raise a DataError if it is missing or damaged."""
        if is_hub(path):
            return _open_hub(path)
        if path.suffix != ".parquet":
            return _open_json_lines(path)
        with _damage(path):
            return _open_parquet(must_exist(path))

    def rows(self, columns: list[str]) -> Iterator[Row]:
        """Yield and count all rows with the values of some columns."""
        for values in self.read(columns):
            self.count += 1
            yield Row(self.path, self.count, values)


def _open_hub(path: Path) -> ColumnTable:
    dataset = open_dataset(path)

    def batches(columns: list[str]) -> Iterator[Any]:
        for table in dataset.select_columns(columns).with_format("arrow").iter(_BATCH_ROWS):
            yield from table.to_batches()

    return _table_of_batches(path, dataset.features.arrow_schema, batches)


def _open_json_lines(path: Path) -> ColumnTable:
    objects = _objects(path)
    beginning = list(islice(objects, 1))
    columns = [column for first_object in beginning for column in first_object]
    return ColumnTable(path, columns, lambda _: chain(beginning, objects))


def _objects(path: Path) -> Iterator[JsonObject]:
    """Yield the object on each non-empty line."""
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        try:
            value = parse_json(line, unique=True)
        except ValueError as error:
            raise DataError(f"{path}, line {number}: invalid JSON: {error}") from error
        if not isinstance(value, dict):
            raise DataError(
                f"{path}, line {number}: {line[:60]!r}; expected an object with a value for each column"
            )
        yield value


def _table_of_batches(
    path: Path, schema: Any, batches: Callable[[list[str]], Iterable[Any]]
) -> ColumnTable:
    """Return a table of Arrow's record batches; `batches` gives those with some columns."""

    def read(columns: list[str]) -> Iterator[Mapping[str, Any]]:
        with _damage(path):
            for batch in batches(columns):
                batch.validate(full=True)  # Arrow trusts what it reads
                for part in small_parts(batch, path):
                    yield from _python_rows(part, path)

    try:
        names = _label_names(schema)
    except (LookupError, ValueError, TypeError, AttributeError) as error:
        raise DataError(
            f"{path}: damaged metadata of `datasets`, expected the features: {error}"
        ) from error
    return ColumnTable(path, schema.names, read, names)


def _label_names(schema: Any) -> dict[str, list[str]]:
    """Return the names of numbered labels and tags by column, from what `datasets` stores in a schema."""
    metadata = schema.metadata or {}
    stored = parse_json(metadata.get(b"huggingface", b"{}"))
    features = stored.get("info", {}).get("features", {})
    names: dict[str, list[str]] = {}
    for column, feature in features.items():
        element = feature
        while isinstance(element, list) or "feature" in element:  # a list of labels
            if isinstance(element, list):
                element = element[0]
            else:
                element = element["feature"]
        if "names" in element:
            names[column] = [str(name) for name in element["names"]]
    return names


def _python_rows(part: Any, path: Path) -> list[JsonObject]:
    """Return the rows of a batch; raise a DataError that names the columns if Python has no such value."""
    try:
        rows: list[JsonObject] = part.to_pylist()
    except (ValueError, OverflowError) as error:
        # such as a time after the year 9999, or text that is not UTF-8
        columns = listed(f"{field.name!r} ({field.type})" for field in part.schema)
        raise DataError(
            f"{path}: columns {columns}: a value cannot be read: {error}"
        ) from error
    return rows


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    """Convert errors of pyarrow."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, UnicodeError) as error:
        raise DataError(f"{path}: damaged data: {first_line(error)}") from error


def _open_parquet(path: Path) -> ColumnTable:
    """Open a Parquet file; the more a value can hold that is stored once, the fewer rows are decoded together."""
    from pyarrow import parquet

    file = parquet.ParquetFile(path)

    def batches(columns: list[str]) -> Iterable[Any]:
        rows = _BATCH_ROWS
        for group in range(file.metadata.num_row_groups):
            for number in range(file.metadata.num_columns):
                chunk = file.metadata.row_group(group).column(number)
                if chunk.path_in_schema.partition(".")[0] in columns:
                    _check_expansion(path, chunk)
                    rows = min(rows, _max_rows(path, chunk))
        return file.iter_batches(rows, columns=columns)

    return _table_of_batches(path, file.schema_arrow, batches)


def _check_expansion(path: Path, chunk: Any) -> None:
    """Raise a DataError if a column chunk expands to more than is to be expected of its compressed size."""
    size = chunk.total_uncompressed_size
    limit = max(_MAX_EXPANDED, _MAX_RATIO * chunk.total_compressed_size)
    if size > limit:
        raise DataError(
            f"{path}: column {chunk.path_in_schema!r} has {chunk.total_compressed_size:,} bytes that expand to "
            f"{size:,}; at most {limit:,} are read"
        )


def _max_rows(path: Path, chunk: Any) -> int:
    """Return how many rows of a column chunk may be decoded together."""
    mean = chunk.total_uncompressed_size // max(chunk.num_values, 1)
    rows = int(_MEAN_BYTES // max(mean, 1))
    longest = _longest_value(path, chunk)
    if longest:
        rows = min(rows, _BATCH_BYTES // longest)
    return max(rows, 1)


def _longest_value(path: Path, chunk: Any) -> int:
    """Return the size that the longest repeated value of a column chunk can have in bytes; 0 if no value repeats.

    That is the size of the dictionary, which begins with its Thrift header: type, uncompressed and compressed size.
    """
    if "DELTA_BYTE_ARRAY" in chunk.encodings:
        return int(chunk.total_uncompressed_size)
    if not any("DICTIONARY" in encoding for encoding in chunk.encodings):
        return 0
    # old files do not tell the place of the dictionary, which comes first
    start = (
        chunk.dictionary_page_offset if chunk.has_dictionary_page else chunk.data_page_offset
    )
    with path.open("rb") as file:
        file.seek(start)
        header = file.read(16)
    position = header.find(b"\x15", 1) + 1
    size = 0
    for index, byte in enumerate(header[position : position + 5]):
        size |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            break
    return size >> 1  # zigzag
