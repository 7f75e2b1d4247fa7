"""Lists of words in files, one word a line."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from interlace.core.errors import DataError
from interlace.text.lines import must_exist, read_lines

if TYPE_CHECKING:
    from pathlib import Path


def read_words(path: Path) -> tuple[str, ...]:
    """The first column of a file, each word once, in order.

    Raises:
        DataError: the file is missing or empty, or a line has no word; names the line.
    """
    stamp = must_exist(path).stat()
    return _read(path, stamp.st_size, stamp.st_mtime_ns)


@lru_cache(maxsize=8)
def _read(path: Path, _size: int, _changed: int) -> tuple[str, ...]:
    words: dict[str, None] = {}
    for number, line in enumerate(read_lines(path), 1):
        word = line.partition("\t")[0].strip()
        if not word:
            raise DataError(f"{path}, line {number}: no word in the first column")
        words[word] = None
    return tuple(words)
