"""Arrow data of others, measured before it becomes objects of Python: a few bytes may stand for many values."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from interlace.core.errors import DataError
from interlace.core.files import MAX_LINE
from interlace.text.lines import check_length

_MAX_ROWS = 1000  # that are converted to Python together
_DICT_SIZE = 4  # a dict of Python, in values


def small_parts(batch: Any, path: Path) -> Iterator[Any]:
    """Yield parts of a record batch that are small in Python; raise a DataError for a row that is not."""
    for start in range(0, len(batch), _MAX_ROWS):
        yield from _parts(batch.slice(start, _MAX_ROWS), path)


def _parts(batch: Any, path: Path) -> Iterator[Any]:
    size = 0
    for field, column in zip(batch.schema, batch.columns, strict=True):
        size += _size(column, f"{path}: column {field.name!r}")
    if size <= MAX_LINE:
        yield batch
    elif len(batch) == 1:
        check_length(size, str(path), "a row")
    else:
        half = len(batch) // 2
        yield from _parts(batch.slice(0, half), path)
        yield from _parts(batch.slice(half), path)


def _size(array: Any, place: str) -> int:
    """Return the number of values and bytes of text of an array, at any depth."""
    from pyarrow import compute, types

    kind = array.type
    count = len(array)
    if types.is_null(kind) or types.is_primitive(kind):
        return count
    if _is_text(kind):
        lengths = compute.binary_length(array)
        return count + _sum(lengths)
    if types.is_dictionary(kind) and _is_text(kind.value_type):
        lengths = compute.binary_length(array.dictionary)
        return count + _sum(lengths.take(array.indices))
    if types.is_dictionary(kind):
        return count * (1 + _size(array.dictionary, place))
    if types.is_struct(kind):
        size = count * _DICT_SIZE
        for field in array.flatten():
            size += _size(field, place)
        return size
    lists = (types.is_list, types.is_large_list, types.is_fixed_size_list, types.is_map)
    if any(is_kind(kind) for is_kind in lists):
        values = _sum(compute.list_value_length(array))
        if values > MAX_LINE:  # which would be copied
            return values
        return count + _size(array.flatten(), place)
    raise DataError(
        f"{place}: values of type {kind}; expected text, numbers, and lists of these"
    )


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    texts = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    return any(is_kind(kind) for is_kind in texts)


def _sum(lengths: Any) -> int:
    from pyarrow import compute

    return int(compute.sum(lengths).as_py() or 0)
