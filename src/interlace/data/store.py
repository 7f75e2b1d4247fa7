"""Columns of integer lists in a folder of Arrow IPC files with a `meta.json`: the storage of corpora and alignments.

A shard is one Arrow file with one record batch, mapped into memory; numpy reads it without a copy, and
`load_dataset("arrow")` opens it too. Shards are cut by size, so writing holds one of them in memory and reading only
touched pages. Values are stored as int32, or as uint8 or uint16 (see `narrow`); `ColumnStore.take` returns int32.
"""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from interlace.core.errors import DataError
from interlace.core.files import atomic_folder, must_exist
from interlace.core.ragged import Ragged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from interlace.data import RowNumbers
    from interlace.data.vocab import Vocab

    Column = tuple[NDArray[Any], NDArray[np.int32]]  # values, offsets

FORMAT = 1
META = "meta.json"
SHARD_BYTES = 32 << 20
_NARROW = (np.uint8, np.uint16)


class ColumnStore:
    """All shards of a folder, mapped into memory."""

    def __init__(self, folder: Path, shards: Sequence[Mapping[str, Any]]) -> None:
        self._shards = [_mapped(folder / shard["file"]) for shard in shards]
        self._bounds = np.cumsum([0, *(shard["rows"] for shard in shards)])

    def __len__(self) -> int:
        return int(self._bounds[-1])

    @cached_property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self._shards[0])

    def lengths(self, column: str) -> NDArray[np.int32]:
        """(rows,) values per row."""
        return np.concatenate([np.diff(shard[column][1]) for shard in self._shards])

    def flats(self, column: str) -> list[NDArray[Any]]:
        """Return all values of a column as they are stored, an array per shard, not copied."""
        return [shard[column][0] for shard in self._shards]

    def take(self, columns: Sequence[str], rows: RowNumbers) -> list[Ragged]:
        """Return copies of the given rows of columns whose rows are equally long, such as ids and words."""
        rows = np.asarray(rows, np.int64)
        owner = np.searchsorted(self._bounds, rows, side="right") - 1
        local = rows - self._bounds[owner]
        shards = [(shard, owner == shard) for shard in np.unique(owner).tolist()]
        starts, lengths = np.empty_like(rows), np.empty_like(rows)
        for shard, mine in shards:
            offsets = self._shards[shard][columns[0]][1]
            starts[mine] = offsets[local[mine]]
            lengths[mine] = offsets[local[mine] + 1] - starts[mine]
        taken = Ragged.from_lengths(np.empty(0, np.int32), lengths)
        index = np.arange(taken.offsets[-1]) + np.repeat(starts - taken.offsets[:-1], lengths)
        owners = np.repeat(owner, lengths) if len(shards) > 1 else None
        gathered = [self._gathered(column, index, owners, [shard for shard, _ in shards]) for column in columns]
        return [Ragged(values, taken.offsets) for values in gathered]

    def _gathered(
        self, column: str, index: NDArray[np.int64], owners: NDArray[np.int64] | None, shards: Sequence[int]
    ) -> NDArray[np.int32]:
        """Return values by their index in the shard that owns them; `owners` is None for at most one shard."""
        if owners is None:
            return self._shards[shards[0] if shards else 0][column][0][index].astype(np.int32, copy=False)
        values = np.empty(len(index), np.int32)
        for shard in shards:
            mine = owners == shard
            values[mine] = self._shards[shard][column][0][index[mine]]
        return values


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
                shards.append(_write_shard(partial, len(shards), held))
                held, size = [], 0
        if any(len(column) for chunk in held for column in chunk.values()):
            shards.append(_write_shard(partial, len(shards), held))
        if not shards:
            raise DataError(f"{folder}: nothing to write: {_why_empty(meta)}")
        finish(partial)
        text = json.dumps({"format": FORMAT, **meta, "shards": shards}, indent=1, ensure_ascii=False)
        (partial / META).write_text(text + "\n", encoding="utf-8")


def read_meta(folder: Path, kind: str, vocab: Vocab | None = None) -> dict[str, Any]:
    """Return the contents of `meta.json`.

    Raises:
        DataError: it is missing, damaged, of another kind or format, or the corpus has another vocabulary.
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
        _check_size(folder / shard["file"], shard["bytes"])
    return dict(meta)


def _write_shard(folder: Path, number: int, chunks: list[Mapping[str, Ragged]]) -> dict[str, Any]:
    """Write chunks as one file; return its entry in `meta.json`."""
    arrays, rows = {}, 0
    for name in chunks[0]:
        whole = Ragged.concatenate([chunk[name] for chunk in chunks])
        offsets = pa.array(whole.offsets.astype(np.int32))
        values = whole.flat if whole.flat.dtype in _NARROW else whole.flat.astype(np.int32, copy=False)
        arrays[name] = pa.ListArray.from_arrays(offsets, pa.array(values))
        rows = len(whole)
    batch = pa.record_batch(arrays)
    path = folder / f"{number:05d}.arrow"
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return {"file": path.name, "rows": rows, "bytes": path.stat().st_size}


def _check_size(path: Path, size: int) -> None:
    must_exist(path, "shard")
    if (found := path.stat().st_size) != size:
        raise DataError(f"{path}: truncated or changed: {found} bytes, {size} were written; build the corpus again")


def _mapped(path: Path) -> dict[str, Column]:
    """Return the columns of one shard as views of the mapped file."""
    try:
        batch = pa.ipc.open_file(pa.memory_map(str(path))).get_batch(0)
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"{path}: damaged: {error}; build the corpus again") from error
    columns = zip(batch.schema.names, batch.columns, strict=True)
    return {name: (column.values.to_numpy(), column.offsets.to_numpy()) for name, column in columns}


def _why_empty(meta: Mapping[str, Any]) -> str:
    counts = {"empty": meta.get("skipped") or 0, **(meta.get("notes") or {})}
    found = [f"{count} {what}" for what, count in counts.items() if count]
    if not found:
        return "there are no lines"
    return f"all {counts['empty']} lines were empty" if len(found) == 1 and counts["empty"] else ", ".join(found)
