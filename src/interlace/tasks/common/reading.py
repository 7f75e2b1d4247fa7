"""Read the files of a task: through a reader, with rows selected, notes logged and contaminated rows removed."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from interlace.core.errors import DataError
from interlace.data import Sentences
from interlace.data.filters import on_all_sides, sides
from interlace.readers import READERS
from interlace.readers.hub import is_hub
from interlace.text import Text, TextPairs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from interlace.data.vocab import Vocab
    from interlace.readers import Reader
    from interlace.tasks.common.files import FilePart, FileQuery

T = TypeVar("T", Text, TextPairs)

ReaderSettings = dict[str, Any] | str
Chunks = list[tuple[Path, T]]
"""Text, each chunk with the file that it comes from."""

log = logging.getLogger(__name__)

_KIND_NAMES = {Text: "sentences", TextPairs: "pairs"}


def read_all(
    task: str,
    reader: Mapping[str, Any] | str,
    paths: list[Path],
    languages: list[str],
    kind: type[T],
    max_rows: int | None = None,
) -> list[T]:
    """Read all chunks of the files into memory.

    max_rows: rows that are needed; later chunks are not read. None: all.

    Raises:
        DataError: the reader returns sentences where pairs are needed, or the reverse.
    """
    chunks: list[Any] = []
    for chunk in reader_for(reader, paths, f"{task}.reader").read_chunks(paths, languages):
        chunks.append(chunk)
        if not isinstance(chunk, kind):
            found, expected = _KIND_NAMES[type(chunk)], _KIND_NAMES[kind]
            raise DataError(f"{task}: {paths[-1]}: the reader gives {found}, expected {expected}; set another 'reader'")
        if max_rows is not None and sum(map(len, chunks)) >= max_rows:
            break
    log_notes(task, paths[-1], (chunk.notes for chunk in chunks))
    return chunks


def reader_for(reader: Mapping[str, Any] | str, paths: Sequence[Path], where: str = "") -> Reader:
    """Build the reader; Hub data sets take the reader `hub`, since another one is for files."""
    name = reader if isinstance(reader, str) else reader.get("name")
    found: Reader = READERS.build("hub" if name != "hub" and any(map(is_hub, paths)) else reader, where)
    return found


def read_parts(
    task: str, reader: Mapping[str, Any] | str, parts: Sequence[FilePart], languages: list[str], kind: type[T]
) -> list[T]:
    """Read the selected rows of the files one after another.

    Raises:
        DataError: as `read_all`, or a part has no rows.
    """
    found: list[T] = []
    for part in parts:
        found += _select_rows(task, part, read_all(task, reader, [part.path], languages, kind, _max_rows(part.rows)))
    return found


def read_both_sides(
    task: str,
    reader: Mapping[str, Any] | str,
    source: Sequence[FilePart],
    target: Sequence[FilePart],
    languages: list[str],
) -> list[TextPairs]:
    """Read pairs whose sides are in separate files, or both in the same file.

    Raises:
        DataError: as `read_parts`, or the sides have different numbers of files, or different rows.
    """
    if len(source) != len(target) or any(one.rows != other.rows for one, other in zip(source, target, strict=True)):
        raise DataError(f"{task}: the sides must correspond: expected as many files of both, and the same rows of them")
    found: list[TextPairs] = []
    for one, other in zip(source, target, strict=True):
        paths = list(dict.fromkeys([one.path, other.path]))
        found += _select_rows(task, one, read_all(task, reader, paths, languages, TextPairs, _max_rows(one.rows)))
    return found


def _max_rows(rows: slice | None) -> int | None:
    """Return how many rows from the beginning contain the selected ones; None if that depends on the file's length."""
    bounds = (0, None) if rows is None else (rows.start or 0, rows.stop)
    return bounds[1] if bounds[1] is not None and min(bounds) >= 0 else None


def _select_rows(task: str, part: FilePart, chunks: list[T]) -> list[T]:
    if not part.rows:
        return chunks
    mask = np.zeros(sum(map(len, chunks)), np.bool_)
    mask[part.rows] = True
    kept = [chunk for chunk in masked(chunks, mask) if len(chunk)]
    if not kept:
        bounds = ":".join("" if bound is None else str(bound) for bound in (part.rows.start, part.rows.stop))
        raise DataError(f"{task}: {part.path} has no rows [{bounds}]")
    return kept


def masked(chunks: list[T], mask: NDArray[np.bool_]) -> list[T]:
    """Return each chunk with the rows where `mask`, over the rows of all chunks, is true."""
    ends = np.cumsum([len(chunk) for chunk in chunks])
    kept: list[Any] = [chunk.where(part) for chunk, part in zip(chunks, np.split(mask, ends[:-1]), strict=True)]
    return kept


def log_notes(task: str, path: Path, notes: Iterable[Mapping[str, int]]) -> None:
    """Log the summed counts of all chunks of a file."""
    total: Counter[str] = Counter()
    for counts in notes:
        total.update(counts)
    for what, count in sorted(total.items()):
        if count:
            log.info("%s: %s: %d %s", task, path, count, what)


def encode(texts: Iterable[Text], vocab: Vocab) -> Sentences:
    """Encode all chunks into one column."""
    return Sentences.concatenate(list(vocab.encode_texts(texts)))


# ---- contamination ----


def drop_shared_texts(query: FileQuery, chunks: Chunks[T], held_out: Iterable[Text | TextPairs]) -> Chunks[T]:
    """Remove the rows of which a text occurs in held-out text, and log how many.

    Texts are compared without case and with normalized white space.

    Raises:
        DataError: no row is left.
    """
    keys = {_text_key(line) for chunk in held_out for side in sides(chunk) for line in side.lines}
    masks = [_without(chunk, keys) for _, chunk in chunks]
    kept: Any = [(path, chunk.where(mask)) for (path, chunk), mask in zip(chunks, masks, strict=True) if mask.any()]
    dropped = sum(int((~mask).sum()) for mask in masks)
    if not kept:
        raise DataError(
            f"{query.task}: each of the {dropped} {query.split} rows in {query.language!r} shares a held-out text"
        )
    if dropped:
        log.info(
            "%s: %s: removed %d of %d %s rows that share a text with held-out rows",
            query.task, chunks[0][0], dropped, sum(map(len, masks)), query.split,
        )  # fmt: skip
    return list(kept)


def _without(chunk: Text | TextPairs, keys: set[str]) -> NDArray[np.bool_]:
    """(n,) whether no text of a row is among the keys."""
    return on_all_sides(chunk, lambda side: np.array([_text_key(line) not in keys for line in side.lines], np.bool_))


def _text_key(line: str) -> str:
    return " ".join(line.casefold().split())


@dataclass(frozen=True)
class RawText:
    """The text of a task's examples, to be compared with training text.

    parts: name -> language and one text per example. The name is `text`, or `first` and `second` for pairs, or the
    language where the texts are in several languages; each sentence is then an example with one part.
    """

    parts: dict[str, tuple[str, list[str]]]


def raw_text(chunks: Sequence[Text | TextPairs]) -> RawText | None:
    """Return the text of all chunks; None if there are none."""
    if not chunks:
        return None
    alone = len({chunk.language for chunk in chunks if isinstance(chunk, Text)}) == 1
    parts: dict[str, tuple[str, list[str]]] = {}
    rows = 0
    for chunk in chunks:
        named = (
            [("first", chunk.source), ("second", chunk.target)]
            if isinstance(chunk, TextPairs)
            else [("text" if alone else chunk.language, chunk)]
        )
        for part, side in named:
            lines = parts.setdefault(part, (side.language, []))[1]
            lines.extend([""] * (rows - len(lines)))
            lines.extend(side.lines)
        rows += len(chunk)
    for _, lines in parts.values():
        lines.extend([""] * (rows - len(lines)))
    return RawText(parts)
