"""Rows of training data that share a text with held-out rows, left out where a task asks for it (`decontaminate`).

Some test sets are cut out of one file, by rows, and some texts stand in several rows: a passage with its questions, a
sentence with its paraphrases. What was learnt from one row is then scored on the other.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from interlace.core.errors import DataError
from interlace.data.filters._sides import on_all_sides, sides
from interlace.tasks._files import MissingDataError
from interlace.text import Text, TextPairs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from interlace.tasks import Task
    from interlace.tasks._files import FileQuery

T = TypeVar("T", Text, TextPairs)

log = logging.getLogger(__name__)

_HELD_OUT = {"train": ("dev", "test"), "dev": ("test",)}


def held_out_splits(task: Task, split: str) -> tuple[str, ...]:
    """The splits whose text is read too, so that rows of this one are left out."""
    return _HELD_OUT.get(split, ()) if task.decontaminate else ()


def decontaminate(task: Task, asked: FileQuery, chunks: list[tuple[Path, T]]) -> list[tuple[Path, T]]:
    """The chunks, with their files, without the rows of which a text stands in held-out rows; the log counts them.

    Training rows are kept apart from development and test rows, development rows from test rows, all of the language
    asked for. Texts are the same but for case and blanks.

    Raises:
        DataError: nothing is left.
    """
    splits = held_out_splits(task, asked.split)
    if not splits:
        return chunks
    held = {key for split in splits for key in _held_out(task, replace(asked, split=split))}
    masks = [_apart(chunk, held) for _, chunk in chunks]
    kept = [(path, chunk.where(mask)) for (path, chunk), mask in zip(chunks, masks, strict=True) if mask.any()]
    shared = sum(int((~mask).sum()) for mask in masks)
    if not kept:
        raise DataError(f"{asked.task}: each of the {shared} {asked.split} rows in {asked.of!r} shares a held-out text")
    if shared:
        log.info(
            "%s: %s: %d of %d %s rows left out: a text of theirs is held out",
            asked.task, chunks[0][0], shared, sum(map(len, masks)), asked.split,
        )  # fmt: skip
    return kept


def _held_out(task: Task, asked: FileQuery) -> Iterator[str]:
    """Each text of a held-out split; none where there is no such file."""
    try:
        chunks = task.texts(asked.split, asked.of, asked.root)
    except MissingDataError as error:
        log.info("nothing to hold apart: %s", error)
        return
    for chunk in chunks:
        for side in sides(chunk):
            yield from map(_key, side.lines)


def _apart(chunk: Text | TextPairs, held: set[str]) -> NDArray[np.bool_]:
    """(n,) where no text of a row is held out."""
    return on_all_sides(chunk, lambda side: np.array([_key(line) not in held for line in side.lines], np.bool_))


def _key(line: str) -> str:
    return " ".join(line.casefold().split())
