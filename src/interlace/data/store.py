"""Rows of integers in a folder of `.npy` files with a `meta.json`: the storage of corpora and alignments.

The column `GROUP.NAME` is one file with the values of all rows, one after the other. Rows of a group's columns are
equally long; their offsets are in `GROUP.offsets.npy`. Files are written chunk by chunk and mapped into memory, so
writing holds one chunk, and reading touches only the pages of the rows that are read, however large the corpus is. A
column is stored as uint8, uint16 or int32, the smallest that holds its values; `ColumnFolder` returns int32.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Required
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import DTypeLike, NDArray
from typing_extensions import TypedDict

from interlace.core.errors import DataError
from interlace.core.files import atomic_folder, must_exist, raise_open_files_limit
from interlace.core.json_files import json_record, read_json
from interlace.core.ragged import Ragged, ranges
from interlace.data import RowNumbers
from interlace.data.vocab import Vocab

FORMAT = 4
META = "meta.json"
_HEADER = 128  # bytes of a `.npy` header, which numpy pads for a growing first axis
_BLOCK = 1 << 22  # values copied at a time
_REMEDY = "build the corpus again"


class ColumnFolder:
    """A folder with the rows of a corpus or of data about its rows; all columns are mapped into memory."""

    def __init__(self, folder: Path, meta: Mapping[str, Any]) -> None:
        self.folder = folder
        self.meta = dict(meta)
        self._columns: dict[str, Ragged] = {}
        for name in meta["columns"]:
            if name != _offsets(name):
                values = mapped(folder / f"{name}.npy", _REMEDY)
                offsets = mapped(folder / f"{_offsets(name)}.npy", _REMEDY)
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
    def counts(self) -> dict[str, Any]:
        """`rows` and further counts, such as `subwords` and `words` by language, or `links`."""
        return dict(self.meta["counts"])

    def __len__(self) -> int:
        return int(self.counts["rows"])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.folder)!r}, languages={self.languages!r}, rows={len(self)})"

    def check_same_rows(self, other: ColumnFolder, remedy: str) -> None:
        """Raise a DataError unless the rows of another folder belong to these."""
        facts = ("languages", "word tokenizer", "pairs", "links")
        for what, expected, value in zip(facts, self._facts, other._facts, strict=True):
            if value != expected and None not in {value, expected}:
                raise DataError(
                    f"{other.folder}: {what} {value!r}, but {self.folder} has {expected!r}; {remedy}"
                )

    @property
    def _facts(self) -> tuple[Any, ...]:
        """What rows of two folders must have in common; a corpus does not count links."""
        return self.languages, self.word_tokenizer, len(self), self.counts.get("links")

    def _take(self, rows: RowNumbers, *columns: str) -> list[Ragged]:
        """Return copies of the given rows of columns of one group."""
        rows = np.asarray(rows, np.int64)
        offsets = self._columns[columns[0]].offsets
        starts = offsets[rows]
        lengths = offsets[rows + 1] - starts
        index = ranges(starts, lengths)
        taken = []
        for name in columns:
            values = self._columns[name].values[index].astype(np.int32, copy=False)
            taken.append(Ragged.from_lengths(values, lengths))
        return taken


class _Column:
    """A `.npy` file under construction; its integers have the smallest type that holds all of them."""

    def __init__(self, path: Path, dtype: DTypeLike = np.uint8) -> None:
        self._path = path
        self._dtype = np.dtype(dtype)
        self._shape: tuple[int, ...] = (0,)
        self._file = path.open("w+b")
        self._file.seek(_HEADER)

    def append(self, values: NDArray[Any]) -> None:
        """Add values, (n, ...) integers."""
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
        wide = path.open("w+b")
        wide.seek(_HEADER)
        while len(block := np.fromfile(self._file, self._dtype, _BLOCK)):
            wide.write(block.astype(dtype).data)
        path.replace(self._path)
        self._file.close()
        self._file = wide
        self._dtype = dtype


def write_columns(
    folder: Path,
    chunks: Iterable[Mapping[str, Ragged]],
    meta: Mapping[str, Any],
    finish: Callable[[Path], object] = lambda _: None,
    *,
    can_be_empty: bool = False,
) -> None:
    """Write chunks of columns `GROUP.NAME` with equal numbers of rows; nothing is left behind after an error.

    meta: further entries of `meta.json`; read after the last chunk.
    finish: called with the temporary folder to write further files, before it is renamed to `folder`.
    """
    with atomic_folder(folder) as partial, ExitStack() as stack:
        files: dict[str, _Column] = {}
        ends: dict[str, int] = {}

        def file(name: str, dtype: DTypeLike = np.uint8) -> _Column:
            if name not in files:
                files[name] = _Column(partial / f"{name}.npy", dtype)
                stack.callback(files[name].close)
            return files[name]

        rows = 0
        for chunk in chunks:
            rows += len(next(iter(chunk.values())))
            groups = {_offsets(name): column for name, column in chunk.items()}
            for name, column in groups.items():
                offsets = column.offsets - column.offsets[0] + ends.get(name, 0)
                file(name, np.int64).append(offsets[1:] if name in ends else offsets)
                ends[name] = int(offsets[-1])
            for name, column in chunk.items():
                file(name).append(column.flat)
        if not (rows or can_be_empty):
            counts = [f"{count} {reason}" for reason, count in meta.get("notes", {}).items()]
            raise DataError(f"{folder}: nothing to write: {', '.join(counts) or 'no lines'}")
        stack.close()
        sizes = {name: (partial / f"{name}.npy").stat().st_size for name in files}
        finish(partial)
        content = {"format": FORMAT, **meta, "columns": sizes}
        text = json.dumps(content, indent=1, ensure_ascii=False)
        (partial / META).write_text(text + "\n", encoding="utf-8")


def _offsets(name: str) -> str:
    """Return the name of the offsets of a column's rows."""
    return f"{name.partition('.')[0]}.offsets"


def _smallest(values: NDArray[Any]) -> DTypeLike:
    """Return the smallest type of integers for these values."""
    top = int(values.max(initial=0))
    if values.min(initial=0) < 0 or top >= 1 << 16:
        return np.int32
    return np.uint8 if top < 1 << 8 else np.uint16


@json_record
class _Version(TypedDict):
    format: int


@json_record
class _VocabRecord(TypedDict):
    name: str
    fingerprint: str


@json_record
class _Meta(TypedDict, total=False):
    """What is read of `meta.json`; `columns` has their sizes in bytes."""

    kind: Required[str]
    languages: Required[list[str]]
    word_tokenizer: Required[str]
    counts: Required[dict[str, Any]]
    columns: Required[dict[str, int]]
    vocabulary: _VocabRecord | None


def read_meta(folder: Path, kind: str, vocab: Vocab | None = None) -> dict[str, Any]:
    """Return `meta.json`; raise a DataError if it or a column is damaged, or of another kind, format or vocabulary."""
    path = must_exist(folder / META, "corpus description")
    version = read_json(path, _Version, remedy=_REMEDY)["format"]
    if version != FORMAT:
        raise DataError(f"{path}: format {version}, this version reads format {FORMAT}; {_REMEDY}")
    meta: _Meta = read_json(path, _Meta, remedy=_REMEDY)
    if meta["kind"] != kind:
        raise DataError(f"{folder}: holds a {meta['kind']} corpus, a {kind} corpus is expected")
    vocabulary: Any = meta.get("vocabulary") or {"name": "none", "fingerprint": ""}
    if vocab is not None and vocabulary["fingerprint"] != vocab.fingerprint:
        raise DataError(
            f"{folder}: built with the vocabulary {vocabulary['name']!r}, fingerprint "
            f"{vocabulary['fingerprint'][:8]}, not with {vocab.name!r}, fingerprint {vocab.fingerprint[:8]}; "
            f"{_REMEDY}, or load the vocabulary it was built with"
        )
    for name, written in meta["columns"].items():
        path = must_exist(folder / f"{name}.npy", "column")
        size = path.stat().st_size
        if size != written:
            raise DataError(
                f"{path}: truncated or changed: {size} bytes, {written} were written; {_REMEDY}"
            )
    return dict(meta)


_maps: WeakValueDictionary[tuple[int, ...], NDArray[Any]] = WeakValueDictionary()  # of files in use


def mapped(path: Path, remedy: str) -> NDArray[Any]:
    """Map the array of a `.npy` file, once in a process; raise a DataError if it is missing or damaged.

    Every map keeps a file descriptor, and systems allow a process 256 or 1,024 of them unless it asks for more.
    """
    path = must_exist(path, "column")
    found = path.stat()
    key = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
    array = _maps.get(key)
    if array is None:
        array = _map(path, remedy)
        _maps[key] = array
    return array.view(np.ndarray)


def _map(path: Path, remedy: str) -> NDArray[Any]:
    for is_last in (False, True):
        try:
            array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
        except (ValueError, OSError, EOFError) as error:
            if not (isinstance(error, OSError) and error.errno == errno.EMFILE):
                raise DataError(f"{path}: damaged: {error}; {remedy}") from error
            limit = raise_open_files_limit()
            if is_last:
                message = f"{path}: too many open files, the limit is {limit}; raise it, as by `ulimit -n 65536`"
                raise DataError(message) from error
        else:
            break
    return array
