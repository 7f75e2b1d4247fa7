"""A task's files through a reader: of the kind the task needs, and what the reader left out is logged."""

from __future__ import annotations

import logging
from collections import Counter
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from interlace.core.errors import DataError
from interlace.readers import READERS
from interlace.readers.hub import is_hub
from interlace.text import Text, TextPairs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from interlace.readers import Reader
    from interlace.tasks._files import Part

T = TypeVar("T", Text, TextPairs)

log = logging.getLogger(__name__)

_CALLED = {Text: "sentences", TextPairs: "pairs"}


def read_all(
    task: str,
    reader: Mapping[str, Any] | str,
    paths: list[Path],
    languages: list[str],
    kind: type[T],
    most: int | None = None,
) -> list[T]:
    """All chunks of the files, in memory.

    most: rows that are needed; what stands in chunks behind them is not read. None: all.

    Raises:
        DataError: the reader gives sentences where pairs are needed, or the other way round.
    """
    chunks: list[Any] = []
    for chunk in reader_of(reader, paths, f"{task}.reader").read_chunks(paths, languages):
        chunks.append(chunk)
        if not isinstance(chunk, kind):
            found, needed = _CALLED[type(chunk)], _CALLED[kind]
            raise DataError(f"{task}: {paths[-1]}: the reader gives {found}, {needed} are needed; set another 'reader'")
        if most is not None and sum(map(len, chunks)) >= most:
            break
    log_notes(task, paths[-1], (chunk.notes for chunk in chunks))
    return chunks


def reader_of(reader: Mapping[str, Any] | str, paths: Sequence[Path], where: str = "") -> Reader:
    """The reader; for data sets of the hub `hub`, where another one is set, which is for files."""
    named = reader if isinstance(reader, str) else reader.get("name")
    found: Reader = READERS.build("hub" if named != "hub" and any(map(is_hub, paths)) else reader, where)
    return found


def read_parts(
    task: str, reader: Mapping[str, Any] | str, parts: Sequence[Part], languages: list[str], kind: type[T]
) -> list[T]:
    """All chunks of the files one after another, of each the rows that are asked for.

    Raises:
        DataError: as `read_all`, or a part has no rows.
    """
    found: list[T] = []
    for part in parts:
        found += _asked_rows(task, part, read_all(task, reader, [part.path], languages, kind, _most(part.rows)))
    return found


def read_parts_of_both(
    task: str, reader: Mapping[str, Any] | str, sides: Sequence[Sequence[Part]], languages: list[str]
) -> list[TextPairs]:
    """The same of pairs, whose sides stand in files of their own, or both in the same ones.

    Raises:
        DataError: as `read_all`, or one side has more files than the other, or other rows of them.
    """
    first, second = sides
    if len(first) != len(second) or any(one.rows != other.rows for one, other in zip(first, second, strict=True)):
        raise DataError(f"{task}: the sides must correspond: as many files of both, and the same rows of them")
    found: list[TextPairs] = []
    for one, other in zip(first, second, strict=True):
        paths = list(dict.fromkeys([one.path, other.path]))
        found += _asked_rows(task, one, read_all(task, reader, paths, languages, TextPairs, _most(one.rows)))
    return found


def _most(rows: slice | None) -> int | None:
    """How many rows from the beginning hold those asked for; None: that hangs on how many there are."""
    bounds = (0, None) if rows is None else (rows.start or 0, rows.stop)
    return bounds[1] if bounds[1] is not None and min(bounds) >= 0 else None


def _asked_rows(task: str, part: Part, chunks: list[T]) -> list[T]:
    """What is left of a file's chunks when the rows are taken that are asked for."""
    if not part.rows:
        return chunks
    kept = _rows_of(chunks, part.rows)
    if not kept:
        bounds = ":".join("" if bound is None else str(bound) for bound in (part.rows.start, part.rows.stop))
        raise DataError(f"{task}: {part.path} has no rows [{bounds}]")
    return kept


def _rows_of(chunks: list[T], rows: slice) -> list[T]:
    """What is left of the chunks when some of all their rows are taken."""
    wanted = np.zeros(sum(map(len, chunks)), np.bool_)
    wanted[rows] = True
    return [chunk for chunk in where(chunks, wanted) if len(chunk)]


def where(chunks: list[T], wanted: NDArray[np.bool_]) -> list[T]:
    """Of each chunk the rows that are wanted, by a truth value for each row of all chunks."""
    ends = np.cumsum([len(chunk) for chunk in chunks])
    taken: list[Any] = [chunk.where(part) for chunk, part in zip(chunks, np.split(wanted, ends[:-1]), strict=True)]
    return taken


def log_notes(task: str, path: Path, notes: Iterable[Mapping[str, int]]) -> None:
    """Log the counts of all chunks of a file together."""
    total: Counter[str] = Counter()
    for counts in notes:
        total.update(counts)
    for what, count in sorted(total.items()):
        if count:
            log.info("%s: %s: %d %s", task, path, count, what)
