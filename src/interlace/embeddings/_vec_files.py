"""The text format of word2vec and fastText: a header `words width`, then a line a word, blanks between."""

from __future__ import annotations

import logging
import warnings
from typing import TYPE_CHECKING

import numpy as np

from interlace.core.errors import DataError
from interlace.text.lines import read_lines, write_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

log = logging.getLogger(__name__)

_BLOCK = 4096  # lines whose numbers are turned into arrays at a time


def read_vec(path: Path, most: int | None = None) -> tuple[list[str], NDArray[np.float32]]:
    """Words and (n, H) vectors, at most so many.

    Raises:
        DataError: as `WordVectors.read`.
    """
    lines = iter(read_lines(path))
    count, width = _header(path, next(lines))
    wanted = count if most is None else min(most, count)
    rows: dict[str, int] = {}
    vectors = np.zeros((wanted, width), np.float32)
    number = 1
    for number, line in enumerate(lines, 2):
        if number - 1 > count:
            if line:
                raise DataError(f"{path}, line {number}: the header says {count} words, and here is one more")
            continue
        if len(rows) == wanted:
            break
        word, values = _parsed(path, number, line, width)
        if word not in rows:
            vectors[len(rows)] = values
            rows[word] = len(rows)
    if len(rows) < wanted and number - 1 < count:
        raise DataError(f"{path}: the header says {count} words, but the file ends after {number - 1}; is it complete?")
    if len(rows) < wanted:
        log.info("%s: %d words stand in it again and were passed over", path, wanted - len(rows))
    return list(rows), vectors[: len(rows)]


def _header(path: Path, line: str) -> tuple[int, int]:
    cells = line.split()
    if len(cells) != 2 or not all(cell.isdecimal() for cell in cells) or int(cells[1]) < 1:
        raise DataError(
            f"{path}, line 1: expected the number of words and the width of their vectors, such as '200000 300', "
            f"found {line[:60]!r}"
        )
    return int(cells[0]), int(cells[1])


def _parsed(path: Path, number: int, line: str, width: int) -> tuple[str, NDArray[np.float32]]:
    """A word and its numbers. Words may hold blanks other than U+0020, so only that one parts them."""
    word, _, rest = line.partition(" ")
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # how numpy tells of text that is no number
        try:
            values = np.fromstring(rest, np.float32, sep=" ")
        except (DeprecationWarning, ValueError):
            values = np.empty(0, np.float32)
    if not word or len(values) != width or not np.isfinite(values).all():
        raise DataError(
            f"{path}, line {number}: expected a word and {width} finite numbers with single blanks between, "
            f"found {line[:60]!r}"
        )
    return word, values


def write_vec(path: Path, words: list[str], vectors: NDArray[np.float32]) -> None:
    """Write the format; numbers have as many digits as float32 needs to be read back the same.

    Raises:
        DataError: a word is empty, or holds a blank or a line feed.
    """
    for word in words:
        if not word or " " in word or "\n" in word:
            raise DataError(f"{path}: the word {word!r} cannot be written: a blank parts words from numbers")
    write_lines(path, _lines(words, vectors))


def _lines(words: list[str], vectors: NDArray[np.float32]) -> Iterator[str]:
    yield f"{len(words)} {vectors.shape[1]}"
    for start in range(0, len(words), _BLOCK):
        block = vectors[start : start + _BLOCK].tolist()
        for word, values in zip(words[start : start + _BLOCK], block, strict=True):
            yield f"{word} {' '.join(f'{value:.9g}' for value in values)}"
