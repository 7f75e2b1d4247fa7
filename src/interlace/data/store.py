"""Columns of integer lists in a folder of Arrow IPC files with a `meta.json`: the storage of corpora and alignments.

A shard is one Arrow file with one record batch, mapped into memory; numpy reads it without a copy, and
`load_dataset("arrow")` opens it too. Shards are cut by size, so writing holds one of them in memory and reading only
touched pages. Values are stored as int32, or as uint8 or uint16 (see `narrow`); `ColumnFolder` returns int32.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from interlace.core.errors import DataError
from interlace.core.files import atomic_folder, must_exist
from interlace.core.ragged import Ragged
from interlace.data import RowNumbers
from interlace.data.vocab import Vocab

FORMAT = 1
META = "meta.json"
SHARD_BYTES = 32 << 20


class ColumnFolder:
    """A folder with the rows of a corpus or of data about its rows; all shards are mapped into memory.

    meta: contents of `meta.json`.
    """

    def __init__(self, folder: Path, meta: Mapping[str, Any]) -> None:
        self.folder = folder
        self.meta = dict(meta)
        self._shards = [_mapped(folder / shard["file"]) for shard in meta["shards"]]
        self._bounds = np.cumsum([0, *(shard["rows"] for shard in meta["shards"])])

    @property
    def languages(self) -> tuple[str, ...]:
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
        return int(self._bounds[-1])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.folder)!r}, languages={self.languages!r}, rows={len(self)})"

    def check_same_rows(self, other: ColumnFolder, remedy: str) -> None:
        """Raise a DataError unless the rows of another folder belong to these."""
        for what, mine, theirs in (
            ("languages", self.languages, other.languages),
            ("word tokenizer", self.word_tokenizer, other.word_tokenizer),
            ("pairs", len(self), len(other)),
            ("links", self.counts.get("links"), other.counts.get("links")),  # which a corpus does not count
        ):
            if mine != theirs and None not in {mine, theirs}:
                raise DataError(f"{other.folder}: {what} {theirs!r}, but {self.folder} has {mine!r}; {remedy}")

    def _lengths(self, column: str) -> NDArray[np.int32]:
        """(rows,) values per row."""
        return np.concatenate([np.diff(shard[column][1]) for shard in self._shards])

    def _flats(self, column: str) -> list[NDArray[Any]]:
        """Return all values of a column as they are stored, an array per shard, not copied."""
        return [shard[column][0] for shard in self._shards]

    def _take(self, rows: RowNumbers, *columns: str) -> list[Ragged]:
        """Return copies of the given rows of columns whose rows are equally long, such as ids and words."""
        rows = np.asarray(rows, np.int64)
        owner = np.searchsorted(self._bounds, rows, side="right") - 1
        local = rows - self._bounds[owner]
        numbers = np.unique(owner).tolist()
        starts, lengths = np.empty_like(rows), np.empty_like(rows)
        for number in numbers:
            mine, offsets = owner == number, self._shards[number][columns[0]][1]
            starts[mine] = offsets[local[mine]]
            lengths[mine] = offsets[local[mine] + 1] - starts[mine]
        taken = Ragged.from_lengths(np.empty(0, np.int32), lengths)
        index = np.arange(taken.offsets[-1]) + np.repeat(starts - taken.offsets[:-1], lengths)
        if len(numbers) <= 1:
            shard = self._shards[numbers[0] if numbers else 0]
            return [Ragged(shard[name][0][index].astype(np.int32, copy=False), taken.offsets) for name in columns]
        gathered = [np.empty(len(index), np.int32) for _ in columns]
        owners = np.repeat(owner, lengths)
        for number in numbers:
            mine = owners == number
            for name, values in zip(columns, gathered, strict=True):
                values[mine] = self._shards[number][name][0][index[mine]]
        return [Ragged(values, taken.offsets) for values in gathered]


def narrow(values: NDArray[Any]) -> NDArray[Any]:
    """Return non-negative integers in the smallest type that holds them: uint8, uint16 or int32."""
    top = int(values.max(initial=0))
    return values.astype(np.uint8 if top < 1 << 8 else np.uint16 if top < 1 << 16 else np.int32)


def write_columns(
    folder: Path,
    chunks: Iterable[Mapping[str, Ragged]],
    meta: Mapping[str, Any],
    shard_bytes: int,
    finish: Callable[[Path], object] = lambda _: None,
) -> None:
    """Write chunks of columns with equal numbers of rows.

    meta: further entries of `meta.json`; read after the last chunk.
    finish: called with the temporary folder to write further files, before it is renamed to `folder`.

    Raises:
        DataError: there are no rows, or the disk is full; nothing is left behind.
    """
    with atomic_folder(folder) as partial:
        shards: list[dict[str, Any]] = []
        held: list[Mapping[str, Ragged]] = []
        size = 0
        for chunk in chunks:
            held.append(chunk)
            size += sum(column.flat.nbytes + column.offsets.nbytes // 2 for column in chunk.values())
            if size >= shard_bytes:
                shards.append(_write_shard(partial / f"{len(shards):05d}.arrow", held))
                held, size = [], 0
        if any(len(column) for chunk in held for column in chunk.values()):
            shards.append(_write_shard(partial / f"{len(shards):05d}.arrow", held))
        if not shards:
            counts = {"empty": meta.get("skipped") or 0, **(meta.get("notes") or {})}
            found = [f"{count} {what}" for what, count in counts.items() if count] or ["there are no lines"]
            why = f"all {counts['empty']} lines were empty" if len(found) == 1 and counts["empty"] else ", ".join(found)
            raise DataError(f"{folder}: nothing to write: {why}")
        finish(partial)
        text = json.dumps({"format": FORMAT, **meta, "shards": shards}, indent=1, ensure_ascii=False)
        (partial / META).write_text(text + "\n", encoding="utf-8")


def read_meta(folder: Path, kind: str, vocab: Vocab | None = None) -> dict[str, Any]:
    """Return the contents of `meta.json`.

    Raises:
        DataError: it or a shard is missing or damaged, it is of another kind or format, or has another vocabulary.
    """
    path = must_exist(folder / META, "corpus description")
    try:
        meta = json.loads(path.read_text(encoding="utf-8"))
        found, version, shards = meta["kind"], meta["format"], meta["shards"]
        vocabulary: dict[str, Any] = meta["vocabulary"] if vocab is not None else {}
    except (ValueError, KeyError, TypeError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: damaged ({error!r}); build the corpus again") from error
    if version != FORMAT:
        raise DataError(f"{path}: format {version}, this version reads format {FORMAT}; build the corpus again")
    if found != kind:
        raise DataError(f"{folder}: holds a {found} corpus, a {kind} corpus is expected")
    if vocab is not None and vocabulary["fingerprint"] != vocab.fingerprint:
        raise DataError(
            f"{folder}: built with the vocabulary {vocabulary['name']!r} ({vocabulary['size']} subwords, "
            f"fingerprint {vocabulary['fingerprint'][:8]}), not with {vocab.name!r} ({vocab.size} subwords, "
            f"fingerprint {vocab.fingerprint[:8]}); build the corpus again, or load the vocabulary it was built with"
        )
    for shard in shards:
        path = must_exist(folder / shard["file"], "shard")
        if (size := path.stat().st_size) != shard["bytes"]:
            raise DataError(
                f"{path}: truncated or changed: {size} bytes, {shard['bytes']} were written; build the corpus again"
            )
    return dict(meta)


def _write_shard(path: Path, chunks: list[Mapping[str, Ragged]]) -> dict[str, Any]:
    """Write chunks as one file; return its entry in `meta.json`."""
    columns = {name: Ragged.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}
    arrays = {}
    for name, column in columns.items():
        values = column.flat if column.flat.dtype.itemsize < np.int32().itemsize else column.flat.astype(np.int32)
        arrays[name] = pa.ListArray.from_arrays(pa.array(column.offsets.astype(np.int32)), pa.array(values))
    batch = pa.record_batch(arrays)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return {"file": path.name, "rows": batch.num_rows, "bytes": path.stat().st_size}


def _mapped(path: Path) -> dict[str, tuple[NDArray[Any], NDArray[np.int32]]]:
    """Return the values and offsets of each column of a shard as views of the mapped file."""
    try:
        batch = pa.ipc.open_file(pa.memory_map(str(path))).get_batch(0)
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{path}: damaged: {error}; build the corpus again") from error
    columns = zip(batch.schema.names, batch.columns, strict=True)
    return {name: (column.values.to_numpy(), column.offsets.to_numpy()) for name, column in columns}
