"""What the files of a task held when it was scored, so that a mended test set is not answered with an old score."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import TYPE_CHECKING

from interlace.data.cache import content_key
from interlace.errors import DataError
from interlace.tasks._apart import apart_from
from interlace.tasks._files import MissingDataError, translated
from interlace.train.selection import groups_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from interlace.train.cell import Cell
    from interlace.train.selection import Fit


def files_key(cell: Cell, fit: Fit) -> str:
    """A hash of the content of all files that a fine-tuning, or a probe, reads; "" where one of them is not here.

    Scores outlive their data: what is gone, or stands on the hub, is no reason to make them again.
    """
    digest = hashlib.blake2b(digest_size=8)
    try:
        for path in _read(cell, fit):
            digest.update(content_key(path).encode())
    except DataError:  # which scoring tells
        return ""
    return digest.hexdigest()


def _read(cell: Cell, fit: Fit) -> Iterator[Path]:
    """The files of all that is read: of the test sets, then of the sets that judge, then of what is learnt from."""
    task, groups = cell.task, groups_of(cell.task.tuning.select, fit) if fit.trained else []
    for setting, language in fit.scored:
        if setting == "translate-test":
            files = translated(getattr(task, "files", {}), language, cell.source)
            yield from task.model_copy(update={"files": files}).read_files("test", cell.source, cell.root)
        else:
            yield from task.read_files("test", language, cell.root)
    for split, languages in (("dev", [judge for group in groups for judge in group.judges]), ("train", fit.trained)):
        for language in dict.fromkeys(languages):
            yield from task.read_files(split, language, cell.root)
            for other in apart_from(task, split):
                with suppress(MissingDataError):  # then there is nothing to hold apart
                    yield from task.read_files(other, language, cell.root)
