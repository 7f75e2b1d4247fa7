"""Rows of numbers in a folder of `.npy` files with a `meta.json`: the storage of corpora and alignments.

The column `GROUP.NAME` is one file with the values of all rows, one after the other. Rows of a group's columns are
equally long; their offsets are in `GROUP.offsets.npy`. Files are written chunk by chunk and mapped into memory, so
writing holds one chunk, and reading touches only the pages of the rows that are read, however large the corpus is. A
column is stored as uint8, uint16 or int32, the smallest that holds its values; `ColumnFolder` returns int32.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar, Self
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import DTypeLike
from typing_extensions import TypedDict

from interlace.core.errors import DataError
from interlace.core.files import atomic_folder, must_exist
from interlace.core.json_files import JsonMapping, JsonObject, json_record, read_json
from interlace.core.ragged import AnyArray, IntArray, Ragged
from interlace.core.system import raise_open_files_limit
from interlace.data import RowNumbers

FORMAT = 5
META = "meta.json"
_HEADER = 128  # bytes of a `.npy` header, which numpy pads for a growing first axis
_BLOCK = 1 << 22  # values copied at a time
_REMEDY = "build the corpus again"


class ColumnFolder:
    """A folder with the rows of a corpus or of data about its rows; all columns are mapped into memory."""

    KIND: ClassVar[str]

    @classmethod
    def open(cls, folder: Path | str) -> Self:
        """Map the folder into memory; raise a DataError if the folder is missing, damaged or truncated."""
        folder = Path(folder)
        return cls(folder, read_meta(folder, cls.KIND))

    def __init__(self, folder: Path, meta: JsonMapping) -> None:
        self.folder = folder
        self.meta = dict(meta)
        self._columns: dict[str, Ragged] = {}
        for name in meta["columns"]:
            if name != _offsets(name):
                values = mapped(folder / f"{name}.npy")
                offsets = mapped(folder / f"{_offsets(name)}.npy")
                self._columns[name] = Ragged(values, offsets)

    @property
    def languages(self) -> tuple[Any, ...]:
        """The language of each side."""
        return tuple(self.meta["languages"])

    @property
    def word_tokenizer(self) -> str:
        """The name of the word tokenizer."""
        return str(self.meta["word_tokenizer"])

    @property
    def counts(self) -> JsonObject:
        """`rows` and further counts, such as `subwords` and `words` by language, or `links`."""
        return dict(self.meta["counts"])

    def __len__(self) -> int:
        return int(self.counts["rows"])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.folder)!r}, languages={self.languages!r}, rows={len(self)})"

    def check_same_rows(self, other: ColumnFolder, remedy: str) -> None:
        """Raise a DataError unless the rows of another folder belong to these."""
        for what, expected in self._facts.items():
            value = other._facts[what]
            if value != expected and None not in {value, expected}:
                raise DataError(
                    f"{other.folder}: {what} {value!r}, but {self.folder} has {expected!r}; {remedy}"
                )

    @property
    def _facts(self) -> JsonObject:
        """What rows of two folders must have in common; a corpus does not count links."""
        return {
            "languages": self.languages,
            "word tokenizer": self.word_tokenizer,
            "pairs": len(self),
            "links": self.counts.get("links"),
        }

    def _take(self, rows: RowNumbers, *columns: str) -> list[Ragged]:
        """Return copies of the given rows of columns."""
        taken = []
        for name in columns:
            column = self._columns[name].take(rows)
            taken.append(Ragged(column.values.astype(np.int32, copy=False), column.offsets))
        return taken


class _Column:
    """A `.npy` file under construction; its integers have the smallest type that holds all of them."""

    def __init__(self, path: Path, dtype: DTypeLike) -> None:
        self._path = path
        self._dtype = np.dtype(dtype)
        self._shape: tuple[int, ...] = (0,)
        self._file = path.open("w+b")
        self._file.seek(_HEADER)

    def __len__(self) -> int:
        return self._shape[0]

    def append(self, values: AnyArray) -> None:
        """Add values, (n, ...)."""
        wider = np.promote_types(self._dtype, _smallest(values))
        if wider != self._dtype:
            self._widen(wider)
        self._file.write(np.ascontiguousarray(values, self._dtype).data)
        self._shape = (self._shape[0] + len(values), *values.shape[1:])

    def close(self) -> None:
        """Write the header."""
        self._file.seek(0)
        described = {
            "descr": np.lib.format.dtype_to_descr(self._dtype),
            "fortran_order": False,
            "shape": self._shape,
        }
        np.lib.format.write_array_header_1_0(self._file, described)
        self._file.close()

    def _widen(self, dtype: np.dtype[Any]) -> None:
        """Copy what is written to values of another type."""
        self._file.seek(_HEADER)
        path = self._path.with_suffix(".wide")
        with path.open("wb") as wide:
            wide.seek(_HEADER)
            while len(block := np.fromfile(self._file, self._dtype, _BLOCK)):
                wide.write(block.astype(dtype).data)
            end = wide.tell()
        self._file.close()  # Windows replaces no open file
        path.replace(self._path)
        self._file = self._path.open("r+b")
        self._file.seek(end)
        self._dtype = dtype


def write_columns(
    folder: Path,
    chunks: Iterable[Mapping[str, Ragged]],
    meta: JsonMapping,
    *,
    can_be_empty: bool = False,
) -> None:
    """Write chunks of columns `GROUP.NAME`, with equal numbers of rows in a group; after an error nothing is left.

    meta: further entries of `meta.json`, with `counts` of rows; read after the last chunk.
    """
    with atomic_folder(folder) as partial:
        names = _write_arrays(partial, chunks)
        if not (meta["counts"]["rows"] or can_be_empty):
            counts = [f"{count} {reason}" for reason, count in meta.get("notes", {}).items()]
            raise DataError(f"{folder}: nothing to write: {', '.join(counts) or 'no lines'}")
        sizes = {name: (partial / f"{name}.npy").stat().st_size for name in names}
        content = {"format": FORMAT, **meta, "columns": sizes}
        text = json.dumps(content, indent=1, ensure_ascii=False)
        (partial / META).write_text(text + "\n", encoding="utf-8")


def _write_arrays(folder: Path, chunks: Iterable[Mapping[str, Ragged]]) -> list[str]:
    """Write the values of each column and the offsets of each group; return the names of the files."""
    files: dict[str, _Column] = {}
    with ExitStack() as stack:

        def opened(name: str, dtype: DTypeLike) -> _Column:
            if name not in files:
                files[name] = _Column(folder / f"{name}.npy", dtype)
                stack.callback(files[name].close)
            return files[name]

        for chunk in chunks:
            offsets: dict[str, IntArray] = {}  # the same for all columns of a group
            for name, column in chunk.items():
                file = opened(name, np.uint8)
                offsets[_offsets(name)] = column.offsets - column.offsets[0] + len(file)
                file.append(column.flat)
            for name, values in offsets.items():
                file = opened(name, np.int64)
                is_begun = len(file) > 0
                file.append(values[1:] if is_begun else values)
    return list(files)


def _offsets(name: str) -> str:
    """Return the name of the offsets of a column's rows."""
    return f"{name.partition('.')[0]}.offsets"


def _smallest(values: AnyArray) -> DTypeLike:
    """Return the smallest type of integers for these values; fractions keep theirs."""
    if values.dtype.kind == "f":
        return values.dtype
    top = int(values.max(initial=0))
    if values.min(initial=0) < 0 or top >= 1 << 16:
        return np.int32
    return np.uint8 if top < 1 << 8 else np.uint16


@json_record
class _Meta(TypedDict):
    """What is read of `meta.json`; `columns` has their sizes in bytes."""

    format: int
    kind: str
    languages: list[str]
    word_tokenizer: str
    counts: JsonObject
    columns: dict[str, int]


def read_meta(folder: Path, kind: str) -> JsonObject:
    """Return `meta.json`; raise a DataError if it or a column is damaged, or of another kind or format."""
    path = must_exist(folder / META, "corpus description")
    meta: _Meta = read_json(path, _Meta, remedy=_REMEDY)
    if meta["format"] != FORMAT:
        raise DataError(
            f"{path}: format {meta['format']}, this version reads format {FORMAT}; {_REMEDY}"
        )
    if meta["kind"] != kind:
        raise DataError(f"{folder}: holds a {meta['kind']} corpus, a {kind} corpus is expected")
    for name, written in meta["columns"].items():
        path = must_exist(folder / f"{name}.npy", "column")
        size = path.stat().st_size
        if size != written:
            raise DataError(
                f"{path}: truncated or changed: {size} bytes, {written} were written; {_REMEDY}"
            )
    return dict(meta)


_maps: WeakValueDictionary[tuple[int, ...], AnyArray] = WeakValueDictionary()  # of files in use


def mapped(path: Path) -> AnyArray:
    """Map the array of a `.npy` file, once in a process; raise a DataError if it is missing or damaged.

    Every map keeps a file descriptor, and systems allow a process 256 or 1,024 of them unless it asks for more.
    """
    path = must_exist(path, "column")
    state = path.stat()
    key = (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)
    array = _maps.get(key)
    if array is None:
        raise_open_files_limit()
        try:
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        except (ValueError, OSError, EOFError) as error:
            message = f"{path}: damaged, or too many files are open: {error}; {_REMEDY}"
            raise DataError(message) from error
        _maps[key] = array
    return array.view(np.ndarray)
