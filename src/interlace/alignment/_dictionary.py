"""Dictionaries as lines: source, tab or blanks, target, as in MUSE's files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from interlace.core.errors import DataError
from interlace.text.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_BLANKS = re.compile("[ \t]+")


def read_translations(path: Path | str) -> Iterator[tuple[str, str, float]]:
    """Source, target and count of each line; empty lines are passed over.

    Raises:
        DataError: a line is no translation; names file and line.
    """
    for number, line in enumerate(read_lines(path), 1):
        if line.strip(" \t"):
            yield _parsed(line, f"{path}, line {number}")


def _parsed(line: str, where: str) -> tuple[str, str, float]:
    """A translation; with tabs, blanks belong to words."""
    cells = (
        [cell.strip(" ") for cell in line.split("\t")]
        if "\t" in line.strip(" \t")
        else _BLANKS.split(line.strip(" \t"))
    )
    if len(cells) not in {2, 3 if "\t" in line else 2} or not all(cells):
        raise DataError(
            f"{where}: expected 'source<TAB>target' or two words with a blank between, found {line[:60]!r}"
            f"{'; put a tab between words that hold blanks' if len(cells) > 2 else ''}"
        )
    if len(cells) == 2:
        return cells[0], cells[1], 1.0
    try:
        count = float(cells[2])
    except ValueError:
        count = -1.0
    if not 0 <= count < float("inf"):
        raise DataError(f"{where}: the third column is a count, at least 0, found {cells[2]!r}")
    return cells[0], cells[1], count
