"""Dictionaries of tasks: MUSE's files and xling-eval's tables, a translation a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interlace.alignment.lexicon import read_translations
from interlace.core.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path


def read_entries(path: Path) -> tuple[list[str], list[str]]:
    """Words and their translations, aligned; a word may stand in several lines.

    Raises:
        DataError: a line is no translation (names it), or the file holds none.
    """
    pairs = list(dict.fromkeys((source, target) for source, target, _ in read_translations(path)))
    if not pairs:
        raise DataError(f"{path}: no entry in the dictionary")
    return [source for source, _ in pairs], [target for _, target in pairs]
