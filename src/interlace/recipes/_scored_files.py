"""What the files of a task held when it was scored, so that a mended test set is not answered with an old score."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from interlace.data.cache import content_key
from interlace.errors import DataError
from interlace.tasks._files import Asked, MissingDataError, find_parts, translated
from interlace.train.selection import groups_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from interlace.tasks._files import Named
    from interlace.train.cell import Cell
    from interlace.train.selection import Fit

_FIELDS = ("files", "gold")


def files_key(cell: Cell, fit: Fit) -> str:
    """A hash of the content of all files that a fine-tuning, or a probe, reads; "" where one of them is not here.

    Scores outlive their data: what is gone, or stands on the hub, is no reason to make them again.
    """
    digest = hashlib.blake2b(digest_size=8)
    try:
        wanted = list(_wanted(cell, fit))
    except DataError:  # no translation is named, which scoring tells
        return ""
    for files, split, language in wanted:
        paths = _found(cell, files, split, language)
        if not paths:
            return ""
        for path in paths:
            digest.update(content_key(path).encode())
    return digest.hexdigest()


def _wanted(cell: Cell, fit: Fit) -> Iterator[tuple[Named, str, str]]:
    """(files, split, language) of all that is read."""
    named = [files for files in (getattr(cell.task, field, None) for field in _FIELDS) if files]
    judges = (
        [judge for group in groups_of(cell.task.tuning.select, fit) for judge in group.judges] if fit.trained else []
    )
    for files in named:
        for setting, language in fit.scored:
            if setting == "translate-test":
                yield translated(files, language, cell.source), "test", cell.source
            else:
                yield files, "test", language
        for split, languages in (("dev", judges), ("train", fit.trained)):
            for language in dict.fromkeys(languages):
                yield files, split, language


def _found(cell: Cell, files: Named, split: str, language: str) -> list[Path]:
    """The files of one split, of a pair those of both sides; none where one is missing, which scoring tells."""
    source: str | None = getattr(cell.task, "source", None)  # of a probe of pairs
    asked = Asked(cell.name, split, language, cell.root, source or "")
    try:
        parts = [part for side in filter(None, (language, source)) for part in find_parts(files, asked, side)]
    except MissingDataError:
        return []
    paths = [part.path for part in parts]
    return paths if all(path.is_file() for path in paths) else []
