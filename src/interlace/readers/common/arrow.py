"""Arrow data of others, measured before it takes memory: a few bytes may stand for many rows, values or characters."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from interlace.core.errors import DataError
from interlace.text.lines import MAX_LINE, check_length

_MAX_ROWS = 1000  # that are converted to Python together
MAX_EXPANDED = (
    1 << 30
)  # bytes of a batch, or of all dictionaries of a file, that is stored in fewer
MAX_RATIO = 20  # of what may be larger
_MANY_ROWS = 1 << 20  # these take some bits each, except where a value is stored once for all
_DICT_SIZE = 4  # a dict of Python, in values


def small_parts(batch: Any, path: Path) -> Iterator[Any]:
    """Yield parts of a batch or table that are small in Python; raise a DataError for a row that is not."""
    if len(batch) > max(_MANY_ROWS, 8 * batch.nbytes):
        raise DataError(
            f"{path}: {len(batch):,} rows in {batch.nbytes:,} bytes; expected rows with texts of their own"
        )
    for start in range(0, len(batch), _MAX_ROWS):
        yield from _parts(batch.slice(start, _MAX_ROWS), path)


def _parts(batch: Any, path: Path) -> Iterator[Any]:
    size = sum(_size_of_column(column) for column in batch.columns)
    if size <= MAX_LINE:
        yield batch
    elif len(batch) == 1:
        check_length(size, str(path), "a row")
    else:
        half = len(batch) // 2
        yield from _parts(batch.slice(0, half), path)
        yield from _parts(batch.slice(half), path)


def _size_of_column(column: Any) -> int:
    """Return the number of values and bytes of text of a column, at any depth; a table has it in chunks."""
    return sum(_size(chunk) for chunk in getattr(column, "chunks", [column]))


def _size(array: Any) -> int:
    from pyarrow import compute, types

    kind = array.type
    count = len(array)
    if hasattr(array, "storage"):  # of an extension
        return _size(array.storage)
    if types.is_dictionary(kind):
        longest = _size(array.dictionary)
        return min(count * (1 + longest), count + _size_of_choices(array))
    if types.is_run_end_encoded(kind):
        return count * (1 + _size(array.values))
    if types.is_struct(kind):
        return count * _DICT_SIZE + sum(map(_size, array.flatten()))
    if types.is_nested(kind) and not types.is_union(kind):  # lists and maps
        values = int(compute.sum(compute.list_value_length(array)).as_py() or 0)
        if values > MAX_LINE:  # which would not all be memory if they were copied
            return values
        if types.is_list_view(kind) or types.is_large_list_view(
            kind
        ):  # lists may share their values
            return count + values * (1 + _size(array.values))
        return count + _size(array.flatten())
    return count + _bytes_of(array)


def _size_of_choices(array: Any) -> int:
    """Return the bytes of the chosen values of a dictionary of texts; of other values, an upper bound."""
    from pyarrow import compute, types

    kind = array.dictionary.type
    if not (types.is_string(kind) or types.is_large_string(kind)):
        return len(array) * _size(array.dictionary)
    lengths = compute.binary_length(array.dictionary).take(array.indices)
    return int(compute.sum(lengths).as_py() or 0)


def _bytes_of(array: Any) -> int:
    """Return the bytes of an array's texts; 0 for numbers."""
    from pyarrow import compute, types

    kind = array.type
    if types.is_fixed_size_binary(kind):
        return int(len(array) * kind.byte_width)
    if types.is_string_view(kind) or types.is_binary_view(kind):
        lengths = memoryview(array.buffers()[1]).cast("B").cast("i")[::4]
        return sum(lengths[array.offset : array.offset + len(array)])
    texts = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    if any(is_kind(kind) for is_kind in texts):
        return int(compute.sum(compute.binary_length(array)).as_py() or 0)
    return 0


def check_messages(source: Any, path: Path) -> None:
    """Raise a DataError if compressed buffers of an Arrow stream declare a size that is not to be expected of it."""
    import pyarrow as pa

    dictionaries = 0
    for message in pa.MessageReader.open_stream(source):
        if message.type not in {"record batch", "dictionary"}:
            continue
        size = _declared_bytes(message)
        limit = max(MAX_EXPANDED, MAX_RATIO * message.body.size)
        if message.type == "dictionary":
            dictionaries += size
            size = dictionaries
        if size > limit:
            raise DataError(
                f"{path}: {message.body.size:,} bytes that expand to {size:,}; at most {limit:,} are read"
            )


def _declared_bytes(message: Any) -> int:
    """Return the size of a message's buffers when they are expanded: each begins with its own.

    The message is a Flatbuffer: see `Message.fbs` in the specification of Arrow.
    """
    data = memoryview(message.metadata)
    batch = _table(data, _field(data, struct.unpack_from("<I", data)[0], 2))
    if message.type == "dictionary":
        batch = _table(data, _field(data, batch, 1))
    if not _field(data, batch, 3):  # not compressed
        return 0
    vector = _table(data, _field(data, batch, 2))
    body = memoryview(message.body)
    total = 0
    for number in range(struct.unpack_from("<I", data, vector)[0]):
        start, length = struct.unpack_from("<qq", data, vector + 4 + 16 * number)
        if length >= 8:
            total += max(
                struct.unpack_from("<q", body, start)[0], 0
            )  # -1: this one is not compressed
    return total


def _field(data: memoryview, table: int, number: int) -> int:
    """Return the position of a field of a table; 0 if it has none."""
    entries = table - struct.unpack_from("<i", data, table)[0]
    entry = 4 + 2 * number
    if entry >= struct.unpack_from("<H", data, entries)[0]:
        return 0
    offset = int(struct.unpack_from("<H", data, entries + entry)[0])
    return table + offset if offset else 0


def _table(data: memoryview, field: int) -> int:
    """Return the position of a table or vector that a field refers to."""
    return field + int(struct.unpack_from("<I", data, field)[0])
